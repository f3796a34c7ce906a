// A client that sends good requests, in a process of its own, so that its times do not include the work of the test: `good-client.mjs <url>`.
// It sends one request after another over one connection. Every other one is executed, since the response cache does not answer `x-explain`.
// To each message it answers with the times since the last one, in milliseconds, and the number of wrong answers, as soon as there is one.
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 5;
const [url] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const headers = { 'content-type': 'application/json', 'x-api-key': 'demo-key-subscribed' };
const pages = '{ totalCount nodes { title references { observation { title } } } }';

function ask(query, more) {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/graphql`, { method: 'POST', agent, headers: { ...headers, ...more } }, response => {
      text(response).then(body => resolve({ status: response.statusCode, body }), reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ query }));
  });
}

let times = [];
let wrong = 0;
let isAsked = false;
process.on('message', () => {
  isAsked = true;
});
for (let number = 0; ; number += 1) {
  const query = `{ events(first: ${1 + (Math.floor(number / 2) % 10)}) ${pages} }`;
  const startedAt = performance.now();
  const { status, body } = await ask(query, number % 2 === 1 && { 'x-explain': '1' });
  times.push(performance.now() - startedAt);
  if (status !== 200 || JSON.parse(body).errors !== undefined) wrong += 1;
  if (isAsked) {
    process.send({ times, wrong });
    [times, wrong, isAsked] = [[], 0, false];
  }
  await sleep(pauseMs);
}
