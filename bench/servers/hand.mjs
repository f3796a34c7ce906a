// What one would write for this one query, with nothing else in mind. `--cut` drops the embeddings before they are parsed.
import { createServer } from 'node:http';
import { flagshipAnswer } from '../lib/answer.mjs';
import { bytesOf, eventsPath, observationPath } from './client.mjs';
import { announce } from './listen.mjs';

const cuts = process.argv.includes('--cut');

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    answer(String(request.headers['x-api-key'])).then(
      body => {
        response.writeHead(200, {
          'content-type': 'application/json; charset=utf-8',
          'content-length': Buffer.byteLength(body),
        });
        response.end(body);
      },
      error => response.writeHead(502).end(error.message),
    );
  });
});
server.listen(0, '127.0.0.1', () => announce(server.address()));

async function answer(key) {
  const page = parsed(await bytesOf(eventsPath(10), key), '"embeddings":[');
  const ids = [...new Set(page.data.flatMap(event => event.references.map(({ _id }) => _id)))];
  const found = await Promise.all(
    ids.map(async id => parsed(await bytesOf(observationPath(id), key), '"textEmbedding":[')),
  );
  const byId = new Map(found.map(observation => [observation._id, observation]));
  return JSON.stringify(flagshipAnswer(page, id => byId.get(id)));
}

function parsed(bytes, member) {
  return JSON.parse((cuts ? cut(bytes, member) : bytes).toString());
}

/** Knows how the service writes its JSON, which a gateway must not. */
function cut(bytes, member) {
  const pieces = [];
  let kept = 0;
  for (let at = bytes.indexOf(member); at !== -1; at = bytes.indexOf(member, kept)) {
    pieces.push(bytes.subarray(kept, at + member.length));
    kept = bytes.indexOf(']', at);
  }
  return kept === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(kept)]);
}
