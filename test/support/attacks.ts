import { gzipSync } from 'node:zlib';
import fc from 'fast-check';

/** Bytes for a socket; `pauseMs` before the last half of them, after which a sender with `leaves` is gone. */
export interface Attack {
  readonly what: string;
  readonly bytes: Buffer;
  readonly pauseMs?: number;
  readonly leaves?: boolean;
}

type Head = readonly (readonly [name: string, value: string])[];

function attack(what: string, body: string | Buffer, head: Head = [], line = 'POST /graphql'): Attack {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const names = new Set(head.map(([name]) => name.toLowerCase()));
  const all: Head = [
    ['Host', 'gateway.example'],
    ...(names.has('connection') ? [] : [['Connection', 'close'] as const]),
    ...(names.has('x-api-key') || names.has('authorization') ? [] : [['X-Api-Key', 'demo-key-subscribed'] as const]),
    ...(names.has('content-type') ? [] : [['Content-Type', 'application/json'] as const]),
    ...(names.has('content-length') || names.has('transfer-encoding')
      ? []
      : [['Content-Length', String(bytes.length)] as const]),
    ...head,
  ];
  const text = `${line} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n`;
  return { what, bytes: Buffer.concat([Buffer.from(text, 'latin1'), bytes]) };
}

const good = '{ market(id: 1) { id name } events(first: 2) { nodes { title } } }';
const ask = (query: unknown, variables?: unknown) =>
  JSON.stringify({ query, ...(variables !== undefined && { variables }) });
const times = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ');

const brokenJson = fc
  .tuple(fc.nat(200), fc.string({ unit: 'binary', maxLength: 20 }), fc.boolean())
  .map(([at, noise, cut]) => {
    const text = ask(good);
    return attack('broken JSON', text.slice(0, at) + noise + (cut ? '' : text.slice(at)));
  });
const bomb = fc.tuple(fc.integer({ min: 1, max: 3_000 }), fc.nat(8)).map(([size, kind]) => {
  const bombs = [
    () => '{ a '.repeat(size) + '}'.repeat(size),
    () => `{ ${times(size, i => `a${i}: market(id: ${i}) { name esg }`)} }`,
    () => `{ ${'viewer { team } '.repeat(size)} }`,
    () => `{ viewer ${'@include(if: true) '.repeat(size)} { team } }`,
    () => `{ events(filter: ${'['.repeat(size)}${']'.repeat(size)}) { totalCount } }`,
    () => `{ ...F0 } ${times(Math.min(size, 90), i => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`)}`,
    () =>
      `{ market(id: 1) { companies(first: 100) { nodes { events(first: ${size}) { nodes { references { observation { id } } } } } } } }`,
    () => times(size, i => `query Q${i} { viewer { team } }`),
    () => `query (${times(size, i => `$v${i}: Int = ${i}`)}) { viewer { team } }`,
  ];
  return attack('a bomb', ask(bombs[kind]?.() ?? ''));
});
const deepVariables = fc
  .tuple(fc.integer({ min: 1, max: 50_000 }), fc.constantFrom('[]', '{}'))
  .map(([size, [open, close]]) => {
    const nested =
      open === '[' ? `${'['.repeat(size)}${']'.repeat(size)}` : `${'{"a":'.repeat(size)}1${(close ?? '').repeat(size)}`;
    return attack(
      'deep variables',
      `{"query": ${JSON.stringify('query ($f: EventFilter) { events(filter: $f) { totalCount } }')}, "variables": {"f": ${nested}}}`,
    );
  });
const encoding = fc.constantFrom(
  attack('gzip that is announced', gzipSync(ask(good)), [['Content-Encoding', 'gzip']]),
  attack('gzip that is not', ask(good), [['Content-Encoding', 'gzip']]),
  attack('UTF-16', Buffer.from(ask(good), 'utf16le'), [['Content-Type', 'application/json; charset=utf-16']]),
  attack('a byte order mark', `\ufeff${ask(good)}`),
  attack(
    'broken UTF-8',
    Buffer.concat([Buffer.from('{"query": "'), Buffer.from([0xc3, 0x28, 0xff, 0xfe]), Buffer.from('"}')]),
  ),
  attack('broken chunks', 'ZZ\r\nabc\r\n', [['Transfer-Encoding', 'chunked']]),
  attack('two lengths', ask(good), [
    ['Content-Length', '5'],
    ['Content-Length', '7'],
  ]),
  attack('a length and chunks', `5\r\n{"a":\r\n0\r\n\r\n`, [
    ['Content-Length', '5'],
    ['Transfer-Encoding', 'chunked'],
  ]),
  attack('a length of minus one', ask(good), [['Content-Length', '-1']]),
);
const keys = fc
  .tuple(fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype'), fc.nat(4))
  .map(([key, place]) => {
    const inner = `{"${key}": {"polluted": true, "query": "{ viewer { team } }"}}`;
    const bodies = [
      inner,
      `{"query": ${JSON.stringify(good)}, "variables": ${inner}}`,
      `{"query": ${JSON.stringify(good)}, "extensions": ${inner}}`,
      `{"query": "query ($f: EventFilter) { events(filter: $f) { totalCount } }", "variables": {"f": ${inner}}}`,
      `{"query": "{ ${key} }", "operationName": "${key}", "documentId": "${key}"}`,
    ];
    return attack('a prototype key', bodies[place] ?? inner);
  });
const oddText = fc
  .tuple(
    fc.constantFrom('\\ud800', '\\udc00\\ud800', '\\u0000', '\\u202e', '\\uffff', '%00', '../..', '1,2', "'"),
    fc.nat(3),
  )
  .map(([text, place]) => {
    const field =
      [
        'observation(id: $t) { id }',
        'suggestMarkets(keyword: $t)',
        'events(filter: { search: $t }) { totalCount }',
        'events(after: $t) { totalCount }',
      ][place] ?? '';
    const type = place === 0 ? 'ID!' : place === 1 ? 'String!' : 'String';
    return attack('odd text', `{"query": "query ($t: ${type}) { ${field} }", "variables": {"t": "${text}"}}`);
  });
const hugeNumber = fc
  .tuple(
    fc.constantFrom('1e309', '-1e309', '9'.repeat(400), '-0', '1e-400', '2147483648', '0.1', 'NaN', '0x10', '1_000'),
    fc.boolean(),
  )
  .map(([number, literal]) =>
    literal
      ? attack(
          'a huge number',
          ask(
            `{ events(first: ${number}, filter: { severity: { min: ${number} } }) { totalCount } market(id: ${number}) { name } }`,
          ),
        )
      : attack(
          'a huge number',
          `{"query": "query ($n: Int) { events(first: $n) { totalCount } }", "variables": {"n": ${number}}}`,
        ),
  );
const contentType = fc
  .constantFrom(
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/json;;;',
    'application/graphql',
    '*/*',
    '',
  )
  .map(type => attack('a wrong content type', ask(good), [['Content-Type', type]]));
const headers = fc.tuple(fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 200 })).map(([count, length]) =>
  attack(
    'a flood of headers',
    ask(good),
    Array.from({ length: count }, (_, index) => [`X-Flood-${index}`, 'a'.repeat(length)] as const),
  ),
);
const oddHeader = fc
  .tuple(
    fc.constantFrom(
      'x-api-key',
      'authorization',
      'cookie',
      'accept',
      'origin',
      'x-forwarded-for',
      'host',
      'x-explain',
      'traceparent',
      'if-none-match',
    ),
    fc.string({ unit: 'binary', maxLength: 200 }),
  )
  .map(([name, value]) => attack('an odd header', ask(good), [[name, value.replace(/[\r\n]/g, '')]]));
const line = fc
  .tuple(
    fc.constantFrom('GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'POST', 'BREW'),
    fc.webPath(),
    fc.webQueryParameters(),
  )
  .map(([method, path, query]) =>
    attack('an odd request', '', [['Content-Length', '0']], `${method} ${path || '/graphql'}?${query}`),
  );
const get = fc.tuple(fc.string({ maxLength: 60 }), fc.json(), fc.json()).map(([query, variables, extensions]) => {
  const params = new URLSearchParams({ query, variables, extensions });
  return attack(
    'an odd GET',
    '',
    [
      ['Content-Length', '0'],
      ['Apollo-Require-Preflight', '1'],
    ],
    `GET /graphql?${params}`,
  );
});
const slow = fc.boolean().map(leaves => ({ ...attack('a slow body', ask(good)), pauseMs: 30, leaves }));
const anyJson = fc.json({ maxDepth: 6 }).map(json => attack('any JSON', json));
const large = fc
  .constantFrom(900_000, 1_100_000)
  .map(size => attack('a large body', ask(`{ viewer { team } } #${'a'.repeat(size)}`)));

/** A frame of a client (RFC 6455, 5.2), masked with zeros. */
function frame(text: string, opcode = 1): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.from([0x80 | opcode, 0x80 | 127, ...Array(8).fill(0), ...Array(4).fill(0)]);
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

const init = '{"type":"connection_init"}';
const subscribed = (id: string, query: string) => JSON.stringify({ id, type: 'subscribe', payload: { query } });
const message = fc.oneof(
  fc.constantFrom(init, init, subscribed('漢'.repeat(60), good), subscribed('a'.repeat(100_000), good), '{"type":', ''),
  fc
    .constantFrom('jobProgress(marketId: 1) { finished }', 'eventUpdates { event { id } }')
    .map(field => subscribed('watch', `subscription { ${field} }`)),
  fc
    .integer({ min: 1, max: 40_000 })
    .map(size => `{"type":"ping","payload":{"a":${'['.repeat(size)}${']'.repeat(size)}}}`),
  fc.integer({ min: 1, max: 3_000 }).map(size => subscribed('bomb', `${'{ a '.repeat(size)}${'}'.repeat(size)}`)),
  fc.json({ maxDepth: 4 }),
);
const upgrade: Head = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
  ['Sec-WebSocket-Protocol', 'graphql-transport-ws'],
  ['Content-Length', '0'],
];
const socket = fc
  .tuple(
    fc.array(fc.tuple(message, fc.constantFrom(1, 1, 1, 1, 2, 3, 8, 9)), { minLength: 1, maxLength: 8 }),
    fc.boolean(),
  )
  .map(([messages, introduces]) => {
    const frames = messages.map(([text, opcode]) => frame(text, opcode));
    const all = [...(introduces ? [frame(init)] : []), ...frames, frame(' '.repeat(20))];
    return { ...attack('a WebSocket', Buffer.concat(all), upgrade, 'GET /graphql'), pauseMs: 30, leaves: true };
  });

/** Requests that mean harm, or look like it: most of them small, few of them large. */
export const attacks = fc.oneof(
  {
    arbitrary: fc.oneof(
      brokenJson,
      bomb,
      encoding,
      keys,
      oddText,
      hugeNumber,
      contentType,
      oddHeader,
      line,
      get,
      slow,
      anyJson,
      socket,
    ),
    weight: 20,
  },
  { arbitrary: fc.oneof(headers, deepVariables), weight: 3 },
  { arbitrary: large, weight: 1 },
);
