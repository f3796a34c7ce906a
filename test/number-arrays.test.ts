import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import type { Dispatcher } from 'undici';
import { vector } from '../src/data/parsing.js';
import { ByteBudget, Exchange } from '../src/data/upstream/exchange.js';
import { parseReply, replyText } from '../src/data/upstream/reply.js';
import type { Reply, UpstreamRequest } from '../src/data/upstream/request.js';
import { companiesEndpoint, esgEndpoint } from '../src/domains/companies/client.js';
import { eventsEndpoint } from '../src/domains/events/client.js';
import { UpstreamInvalidResponse } from '../src/errors.js';
import { releaseArrayBuffers } from '../src/lib/body.js';
import { cutNumberArrays, flatArrays, quoteNumberArrays } from '../src/lib/json.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { cleanups } from './support/cleanups.js';
import { expectCpuTime } from './support/cpu-time.js';
import { startGateway, type TestGateway } from './support/gateway.js';

const member = 'embeddings';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });
const joined = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map(texts => texts.join(''));

/** Text that looks like the member, or like the ends of arrays and strings, at a quick look. */
const trap = fc.constantFrom(
  member,
  `"${member}"`,
  `"${member}`,
  `\\"${member}`,
  `\\"${member}\\": [1, 2]`,
  `"${member}":[`,
  `${member}": [1]`,
  '[',
  ']',
  '[1,2]',
  '{',
  '}',
  '"',
  '\\',
  '\\\\',
  '\\"',
  ':',
  ',',
  '\u2028',
  '😀',
  'é',
  '\u0000',
);
const content = fc
  .array(fc.oneof(trap, fc.string({ unit: 'grapheme', maxLength: 6 })), { maxLength: 4 })
  .map(parts => parts.join(''));

/** A string, either as JSON.stringify writes it or with all of its characters escaped. */
const string = fc
  .tuple(content, fc.boolean())
  .map(([text, escapes]) => (escapes ? `"${text.replace(/[\s\S]/g, escaped)}"` : JSON.stringify(text)));

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map(value => JSON.stringify(value)),
  fc.constantFrom('0', '-0', '1e5', '-1.5E-7', '0.1e+3', '123456789012345678901234567890'),
);
const list = (item: fc.Arbitrary<string>, maxLength = 5) =>
  fc
    .tuple(fc.array(joined(space, item, space), { maxLength }), space)
    .map(([items, inside]) => (items.length === 0 ? `[${inside}]` : `[${items.join(',')}]`));
const numbers = list(number, 8);

const name = fc.oneof(
  fc.constant(JSON.stringify(member)),
  fc.constant(JSON.stringify(`${member}ModelName`)),
  content.map(text => JSON.stringify(text)),
);
const { value } = fc.letrec<{ value: string; object: string; array: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    string,
    fc.constantFrom('null', 'true', 'false', `"${member}"`),
    numbers,
    tie('array'),
    tie('object'),
  ),
  array: list(tie('value'), 4),
  object: fc
    .tuple(fc.array(joined(space, name, space, fc.constant(':'), space, tie('value'), space), { maxLength: 5 }), space)
    .map(([members, inside]) => (members.length === 0 ? `{${inside}}` : `{${members.join(',')}}`)),
}));
/** A document as its text, put together so that spaces and escapes stand wherever JSON allows them. */
const document = joined(space, value, space);

/** Whether an array is one that the cut and the quoting are for: no string, array or object in it. */
const isFlat = (items: Json[]) =>
  items.every(item => item === null || typeof item === 'number' || typeof item === 'boolean');

/** The document with each flat array under the member replaced, by the way of JSON.parse. */
function replaced(text: string, replacement: (items: Json[]) => Json): Json {
  return JSON.parse(text, (key, item: Json) =>
    key === member && Array.isArray(item) && isFlat(item) ? replacement(item) : item,
  );
}

/** A string that stands for the numbers in it: their text, which a comparison must not depend on in its spaces. */
function numbersIn(json: Json, key = ''): Json {
  if (Array.isArray(json)) return json.map(item => numbersIn(item));
  if (json !== null && typeof json === 'object') {
    return Object.fromEntries(Object.entries(json).map(([name, item]) => [name, numbersIn(item, name)]));
  }
  return key === member && typeof json === 'string' ? asArray(json) : json;
}

function asArray(text: string): Json {
  try {
    return JSON.parse(`[${text}]`);
  } catch {
    return text;
  }
}

const runs = { numRuns: 2_000 };

const cut = (text: string) => cutNumberArrays(Buffer.from(text), flatArrays(Buffer.from(text), member)).toString();
const quote = (text: string) => quoteNumberArrays(Buffer.from(text), flatArrays(Buffer.from(text), member)).toString();

test('a cut body is what JSON.parse gives, with null for each flat array under the member', () => {
  fc.assert(
    fc.property(document, text => {
      expect(JSON.parse(cut(text))).toEqual(replaced(text, () => null));
    }),
    runs,
  );
});

test('a cut leaves the body given to it as it was', () => {
  fc.assert(
    fc.property(document, text => {
      const body = Buffer.from(text);
      cutNumberArrays(body, flatArrays(body, member));
      expect(body.toString()).toBe(text);
    }),
  );
});

test('a quoted body is what JSON.parse gives, with the text of each flat array under the member', () => {
  fc.assert(
    fc.property(document, text => {
      const quoted: Json = JSON.parse(quote(text));
      expect(numbersIn(quoted)).toEqual(numbersIn(JSON.parse(text)));
      const again = JSON.stringify(quoted);
      expect(JSON.stringify(replaced(again, () => 'left over'))).toBe(again);
    }),
    runs,
  );
});

test('a quoted vector is its own text between the brackets, with line breaks as spaces, and read as numbers', () => {
  fc.assert(
    fc.property(numbers, text => {
      const body = Buffer.from(`{"a":1, "${member}" :\n${text}}`);
      const { [member]: quoted } = JSON.parse(quoteNumberArrays(body, flatArrays(body, member)).toString());
      expect(quoted).toBe(text.slice(1, -1).replace(/\s/g, ' '));
      expect(vector.parse(quoted)?.toJSON()).toBe(quoted);
    }),
    runs,
  );
});

describe('what the service was not to send', () => {
  test.each([
    ['no array', '{"embeddings":"[1,2]"}'],
    ['an object', '{"embeddings":{"a":[1,2]}}'],
    ['nested arrays', '{"embeddings":[[1],[2]]}'],
    ['strings', '{"embeddings":["1","]"]}'],
    ['empty objects in the array', '{"embeddings":[{}]}'],
    ['a name that ends with a quote and the member', '{"a\\"embeddings":[1,2]}'],
    ['objects in the array', '{"embeddings":[{"a":1}]}'],
    ['a name that only ends with the member', '{"textembeddings":[1,2]}'],
    ['a name that only begins with the member', '{"embeddingsModelName":[1,2]}'],
    ['the member as a value', '{"a":"embeddings","b":[1,2]}'],
    ['the member in a list', '["embeddings",[1,2]]'],
    ['the member in a text', '{"a":"\\"embeddings\\":[1,2]"}'],
    ['the member with a letter escaped', '{"\\u0065mbeddings":[1,2]}'],
    ['another member', '{"textEmbedding":[1,2]}'],
  ])('stays as it is: %s', (_, text) => {
    expect(cut(text)).toBe(text);
    expect(quote(text)).toBe(text);
  });

  test.each([
    '',
    '{',
    '"embeddings"',
    '{"embeddings"',
    '{"embeddings":',
    '{"embeddings":[',
    '{"embeddings":[1,',
    '<html>',
    'null',
  ])('and is no whole JSON breaks nothing: %j', text => {
    expect(cut(text)).toBe(text);
    expect(quote(text)).toBe(text);
  });

  test('does not hide the vectors that follow it', () => {
    const text = '[{"embeddings":[[1]]},{"embeddings":["]"]},{"embeddings":[1, 2]}]';
    expect(cut(text)).toBe('[{"embeddings":[[1]]},{"embeddings":["]"]},{"embeddings":null}]');
    expect(quote(text)).toBe('[{"embeddings":[[1]]},{"embeddings":["]"]},{"embeddings":"1, 2"}]');
  });

  test.each(['null', 'true', '1,null', '1,,2', '1 2', ',1', '1,', '01', '1.', 'NaN', '+1', '--1'])(
    'is no vector once it was quoted: [%s]',
    text => {
      expect(vector.safeParse(text).success).toBe(false);
    },
  );
});

test('a vector has at most 16,384 numbers', () => {
  const numbers = (length: number) => Array.from({ length }, () => '-1.5e-3').join(', ');
  expect(vector.safeParse(numbers(16_384)).success).toBe(true);
  expect(vector.safeParse(numbers(16_385)).success).toBe(false);
});

describe('the JSON of a reply', () => {
  const reply = (text: string | Buffer) => ({ status: 200, headers: {}, body: Buffer.from(text) });
  const request = { family: 'f', address: 'base', method: 'GET', path: '/', safe: true } as const;
  /** In bytes. */
  const megabyte = 1024 * 1024;
  const [longText, longNumber] = [4 * megabyte, 1_024];
  const list = (length: number, value = '0') => `[${Array.from({ length }, () => value).join()}]`;
  const membersOf = (length: number, value = '0') =>
    `{${Array.from({ length }, (_, index) => `"m${index}":${value}`).join()}}`;
  const read = (reply: Reply, asked: UpstreamRequest) => parseReply(replyText(reply, asked));

  test('has vectors as text where they are wanted, null where not, and numbers where no one said what they are', () => {
    const long = 'x'.repeat(1_024);
    const text = `{"embeddings":[1,2],"long":"${long}"}`;
    expect(read(reply(text), { ...request, vectors: { member, wanted: true } })).toEqual({ embeddings: '1,2', long });
    expect(read(reply(text), { ...request, vectors: { member, wanted: false } })).toEqual({ embeddings: null, long });
    expect(read(reply(text), request)).toEqual({ embeddings: [1, 2], long });
  });

  test.each(['[]', '[1,2]', '[null,true]'])(
    'of up to 1 KB has an unwanted vector, which the model reads as null: %s',
    list => {
      const found = read(reply(`{"embeddings":${list}}`), { ...request, vectors: { member, wanted: false } });
      expect(found).toEqual({ embeddings: JSON.parse(list) });
      expect(vector.parse((found as { embeddings: unknown }).embeddings)).toBeNull();
      expect(vector.safeParse(['1']).success || vector.safeParse([[1]]).success).toBe(false);
    },
  );

  const inChunks = (...chunks: Buffer[]) =>
    ({
      dispatch(_: unknown, handler: Dispatcher.DispatchHandler) {
        const controller = {} as Dispatcher.DispatchController;
        handler.onRequestStart?.(controller, {});
        handler.onResponseStart?.(controller, 200, {});
        for (const chunk of chunks) handler.onResponseData?.(controller, chunk);
        handler.onResponseEnd?.(controller, {});
        return true;
      },
    }) as unknown as Dispatcher;

  test('is the same wherever the wire split the body', async () => {
    const text =
      '{ "a\\"embeddings": "\\\\", "embeddings" : [ 1.5e-3, 2 ], "t": "\\"embeddings\\":[3]", "ü€": [{ "embeddings": [] }] }';
    for (const wanted of [true, false]) {
      const asked = { ...request, vectors: { member, wanted } };
      const json = read(reply(text), asked);
      for (let at = 0; at <= Buffer.byteLength(text); at += 1) {
        const body = Buffer.from(text);
        const wire = inChunks(body.subarray(0, at), body.subarray(at));
        const limits = { bodyBytes: 1_000, budget: new ByteBudget(1_000) };
        const whole = await new Promise<Reply>((onReply, onBroken) => {
          wire.dispatch({ method: 'GET', path: '/' }, new Exchange(limits, { onReply, onBroken }));
        });
        expect(read(whole, asked)).toEqual(json);
      }
    }
  });

  test('is looked through in a time that grows with its length, whatever it holds', () => {
    const readingOf = (members: number) => {
      const text = `${`{"${member}":[`.repeat(members)}]`;
      const asked = { ...request, vectors: { member, wanted: false } };
      return () => expect(() => read(reply(text), asked)).toThrow(UpstreamInvalidResponse);
    };
    // Ten times the length. A time that grows with its square would be a hundred times as long.
    expectCpuTime(readingOf(200_000), 40, readingOf(20_000));
  });

  test.each([
    ['as many members', undefined, membersOf(10, membersOf(999))],
    ['as many values', undefined, list(10_000)],
    ['as many members of one object', undefined, membersOf(1_000)],
    ['as many values of a list in a list', companiesEndpoint, `[{"a":${list(10_000)}}]`],
    [
      'more companies than a list in them may have values',
      companiesEndpoint,
      `{"data":{"companies":${list(10_001, '{}')}}}`,
    ],
    ['one list after another', companiesEndpoint, `{"a":${list(10_001)},"b":${list(10_001)}}`],
    ['as many companies in one object', esgEndpoint, `{"data":${membersOf(10_000)}}`],
  ])('may have %s as there may be at most', (_, endpoint, text) => {
    expect(read(reply(text), { ...request, ...endpoint })).toEqual(JSON.parse(text));
  });

  test.each([
    ['a list in a list', companiesEndpoint, `[{"a":${list(10_001)}}]`],
    ['a list in a list in an object', esgEndpoint, `{"data":[{"a":{"b":${list(10_001)}}}]}`],
    ['a list in a list of events', eventsEndpoint, `{"data":[{"a":${list(10_001)}}]}`],
    ['one company', companiesEndpoint, `[${membersOf(1_001)}]`],
    ['one object', esgEndpoint, membersOf(10_001)],
  ])('that has one value too many in %s is refused', (_, endpoint, text) => {
    expect(() => read(reply(text), { ...request, ...endpoint })).toThrow(UpstreamInvalidResponse);
  });

  test('has at most 8 MB besides the vectors of a page of events, whether they are wanted or not', () => {
    const vector = list(10_000);
    const text = (filling: string) =>
      `{"data":[${list(8, `"${'x'.repeat(megabyte - 100)}"`)},"${filling}",{"embeddings":${vector}}]}`;
    const rest = 8 * megabyte - (text('').length - vector.length);
    for (const wanted of [true, false]) {
      const asked = { ...request, ...eventsEndpoint, vectors: { member, wanted } };
      expect(read(reply(text('x'.repeat(rest))), asked)).toHaveProperty('data');
      expect(() => read(reply(text('x'.repeat(rest + 1))), asked)).toThrow(UpstreamInvalidResponse);
    }
  });

  test.each([
    ['nested too deep', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
    ['nested far too deep', '['.repeat(1_000_000)],
    ['of too many members', membersOf(10, membersOf(1_000))],
    ['of too many values', list(10_001)],
    ['a record of too many members', membersOf(1_001)],
    ['an object deep in a record of too many members', `[{"a":[${membersOf(1_001)}]}]`],
    ['two objects, the second of too many members', `[${membersOf(1)},${membersOf(1_001)}]`],
    ['one long text', `["${'x'.repeat(longText + 1)}"]`],
    ['one long text without an end', `["${'x'.repeat(longText + 1)}`],
    ['one long text of escaped quotes', `["${'\\"'.repeat(longText / 2)}\\""]`],
    ['one long name', `{"${'x'.repeat(longText + 1)}":1}`],
    ['one long number', `[${'1'.repeat(longNumber + 1)}]`],
    ['one long fraction', `[0.${'0'.repeat(longNumber)}]`],
    ['one long number and nothing else', '0'.repeat(longNumber + 1)],
    ['nothing but bytes of zero', '\0'.repeat(longNumber + 1)],
    ['nothing but white space', ' '.repeat(longNumber + 1)],
  ])('that is %s is UPSTREAM_INVALID_RESPONSE, and never parsed', (_, text) => {
    const parse = jest.spyOn(JSON, 'parse');
    cleanups.push(() => parse.mockRestore());
    expect(() => read(reply(text), request)).toThrow(UpstreamInvalidResponse);
    expect(parse).not.toHaveBeenCalled();
  });

  test('is parsed with a text and a number that are as long as they may be', () => {
    const value = { a: `${'\\'.repeat(longText / 2 - 1)}é`, b: 10 ** (longNumber / 4) };
    const text = `{"a":${JSON.stringify(value.a)}, "b":1${'0'.repeat(longNumber / 4)}.${'0'.repeat(longNumber / 2)} }`;
    expect(read(reply(text), request)).toEqual(value);
  });

  test('has a vector that is as long as it may be where it is wanted, and any where it is not', () => {
    const vector = '0,'.repeat(longText / 2).slice(0, -1);
    const text = (numbers: string) => `[{"embeddings":[${numbers}]}]`;
    const wanted = { ...request, vectors: { member, wanted: true } };
    expect(read(reply(text(vector)), wanted)).toEqual([{ embeddings: vector }]);
    expect(() => read(reply(text(`${vector},0`)), wanted)).toThrow(UpstreamInvalidResponse);
    const unwanted = { ...request, vectors: { member, wanted: false } };
    expect(read(reply(text(`${vector},0`)), unwanted)).toEqual([{ embeddings: null }]);
  });

  test('may be nested 64 deep, and hold brackets and quotes in its strings', () => {
    const deep = `${'['.repeat(64)}${']'.repeat(64)}`;
    expect(read(reply(deep), request)).toEqual(JSON.parse(deep));
    const text = JSON.stringify({ a: ['['.repeat(100), '\\', '"{', '\\\\"[{'.repeat(100)] });
    expect(read(reply(text), request)).toEqual(JSON.parse(text));
  });
});

test('the memory of a large body is given back, also with that of one from the pool of Node', async () => {
  const [pooled, large] = [24, 64].map(kib => Buffer.concat([Buffer.alloc(1_024 * kib)])) as [Buffer, Buffer];
  releaseArrayBuffers([pooled, large]);
  await nextTurn();
  expect(large.length).toBe(0);
});

describe('vectors over a gateway', () => {
  let sandbox: Sandbox;
  let gateway: TestGateway;

  beforeAll(async () => {
    sandbox = await startSandbox();
    gateway = await startGateway({ sandbox });
  });

  afterAll(async () => {
    await gateway.close();
    await sandbox.close();
  });

  const upstream = async (path: string) =>
    (
      await fetch(`${sandbox.addresses.base}${path}`, { headers: { 'x-api-key': 'demo-key-subscribed' } })
    ).json() as Promise<{
      textEmbedding: number[];
      data: { _id: string; vectorIndex: { embeddings: number[] } }[];
    }>;

  test('are arrays of the very numbers that the service sent, now and when they are kept', async () => {
    const [first] = sandbox.data.observations;
    const document = `{
      observation(id: "${first?._id}") { textEmbedding title }
      events(first: 5) { nodes { id vectorIndex { embeddings anchorText } } }
    }`;
    const { textEmbedding } = await upstream(`/v2/events-monitor/observation/${first?._id}`);
    const { data: events } = await upstream('/v2/events-monitor/events?pageSize=5');
    expect(textEmbedding).toHaveLength(1536);
    for (const time of ['first', 'second']) {
      const { data, errors } = await gateway.query(document);
      expect([time, errors]).toEqual([time, undefined]);
      expect(data.observation.textEmbedding).toEqual(textEmbedding);
      for (const { _id, vectorIndex } of events) {
        const node = data.events.nodes.find(({ id }: { id: string }) => id === _id);
        expect(node.vectorIndex.embeddings).toEqual(vectorIndex.embeddings);
      }
    }
  });

  test('what was kept without them is fetched again for them, and what was kept with them serves without', async () => {
    const second = sandbox.data.observations[1]?._id;
    const path = `/v2/events-monitor/observation/${second}`;
    await gateway.query(`{ observation(id: "${second}") { title } }`);
    await gateway.query(`{ observation(id: "${second}") { title textEmbedding } }`);
    expect(sandbox.calls.count(path)).toBe(2);
    await gateway.query(`{ observation(id: "${second}") { title } }`);
    const kept = await gateway.query(`{ observation(id: "${second}") { textEmbedding } }`);
    expect(kept.data.observation.textEmbedding).toHaveLength(1536);
    expect(sandbox.calls.count(path)).toBe(2);
  });
});
