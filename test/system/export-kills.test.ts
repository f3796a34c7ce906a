import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { lastCleanups } from '../support/cleanups.js';
import { ask } from '../support/gateway.js';
import { buildProgram, type Program } from '../support/program.js';
import { allRedisPlaces } from '../support/redis-cluster.js';

/** How many kills for each storage: `npm run test:kills` makes it 100. */
const kills = Number(process.env.KILLS ?? 2);
const maxLifeMs = 400;
jest.setTimeout(180_000 + kills * 12_000);

let program: Program;
beforeAll(async () => {
  program = await buildProgram();
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  lastCleanups.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The service, as far as exports need it; every key is good. */
const startService = () =>
  serve((request, response) => {
    const isRecord = request.url?.includes('/dev/') ?? false;
    const companies = [1, 2, 3].map(score => ({ domain: `c${score}.example`, name: 'C', score }));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isRecord ? { id: 1, name: 'M', review_status: 'published' } : { data: companies }));
  });

/** A client's endpoint that counts what arrives by Idempotency-Key, and fails or rejects now and then. */
async function startEndpoint() {
  const received = new Map<string, number>();
  /** The last call. */
  const last = { headers: {} as Record<string, string>, body: '' };
  const url = await serve(async (request, response) => {
    const key = String(request.headers['idempotency-key']);
    received.set(key, (received.get(key) ?? 0) + 1);
    const body = await text(request).catch(() => '');
    Object.assign(last, { headers: request.headers, body });
    const chance = Math.random();
    const status = chance < 0.2 ? 503 : chance > 0.8 ? 400 : 200;
    const answer = () => response.writeHead(status).end('{"title":"T","message":"M","redirectUrl":null}');
    if (chance < 0.3) setTimeout(answer, 30);
    else answer();
  });
  return { url, received, last };
}

const registerMutation = `mutation ($name: String!, $url: String!) {
  registerExportEndpoint(input: { name: $name, url: $url, description: "D", headers: [{ name: "X-Token", value: "t" }] }) { endpoint { name } } }`;
const rotateMutation = 'mutation { rotateExportEndpointSecret(input: { endpoint: "target" }) { signingSecret } }';
const deleteMutation =
  'mutation ($name: String!) { deleteExportEndpoint(input: { endpoint: $name }) { endpoint { name } } }';
const exportMutation = `mutation ($key: String!) {
  exportMarketToEndpoint(input: { marketId: 1, endpoint: "target", companies: { matching: {} }, idempotencyKey: $key }) {
    __typename ... on ExportEnding { exportId } } }`;
const retryMutation = `mutation ($key: String!, $id: ID!) {
  retryExport(input: { exportId: $id, idempotencyKey: $key }) { __typename ... on ExportEnding { exportId } } }`;
const testMutation = `mutation {
  testExportEndpoint(input: { endpoint: "target" }) { __typename ... on ExportEnding { exportId } } }`;
const stateQuery = `{ exportEndpoints { name } exports(first: 100) { totalCount
  nodes { id idempotencyKey isTest retryOf { id } outcome attempts { status } } } }`;

interface ShownExport {
  readonly id: string;
  readonly idempotencyKey: string | null;
  readonly isTest: boolean;
  readonly retryOf: { readonly id: string } | null;
  readonly outcome: string;
  readonly attempts: readonly unknown[];
}

/** What a gateway confirmed to its clients before it was killed. */
interface Confirmed {
  readonly registered: Set<string>;
  readonly deleted: Set<string>;
  /** Export ids by idempotency key. */
  readonly exported: Map<string, string>;
  /** Exports and retries that were sent, confirmed or not, by their idempotency keys. */
  readonly asked: Map<string, Mutation>;
  /** Export ids of tests. */
  readonly tested: string[];
  /** The signing secret of the endpoint. */
  secret: string | undefined;
}

interface Mutation {
  readonly document: string;
  readonly variables: Record<string, string>;
}

/** The result of a mutation that sends an export. */
const resultIn = (data: Record<string, { __typename: string; exportId: string } | null>) => Object.values(data)[0];

const unavailable = 'UPSTREAM_UNAVAILABLE';

/** Asks until the gateway has found its registry: on a busy machine, Redis may come later than the first request. */
async function askPatiently(...question: Parameters<typeof ask>) {
  for (;;) {
    const answer = await ask(...question);
    if (answer.errors?.[0].extensions.code !== unavailable) return answer;
    await pause(50);
  }
}

/** Registers, deletes, exports, retries, tests and rotates, the first four without a pause, until no one answers any more; notes what is confirmed. */
async function work(
  address: string,
  headers: Record<string, string>,
  endpointUrl: string,
  confirmed: Confirmed,
): Promise<void> {
  const send = async (document: string, variables: Record<string, string>) => {
    const { data, errors } = await ask(address, document, variables, headers);
    const code = errors?.[0].extensions.code;
    if (code !== undefined && code !== unavailable) throw new Error(JSON.stringify(errors));
    return code === undefined ? data : undefined;
  };

  async function registering() {
    for (let index = 1; ; index++) {
      const name = `endpoint ${index}`;
      if (!(await send(registerMutation, { name, url: endpointUrl }))) continue;
      confirmed.registered.add(name);
      if (index % 3 > 0) continue;
      // What is being deleted when the gateway dies may be there or not.
      confirmed.registered.delete(name);
      if (await send(deleteMutation, { name })) confirmed.deleted.add(name);
    }
  }
  async function exporting(worker: number) {
    const sendExport = async (document: string, variables: Record<string, string> & { readonly key: string }) => {
      confirmed.asked.set(variables.key, { document, variables });
      const data = await send(document, variables);
      const result = data && resultIn(data);
      if (result) confirmed.exported.set(variables.key, result.exportId);
      return result;
    };
    for (let index = 1; ; index++) {
      const key = `export ${worker}.${index}`;
      const result = await sendExport(exportMutation, { key });
      if (result?.__typename !== 'ExportRejected') continue;
      await sendExport(retryMutation, { key: `retry of ${key}`, id: result.exportId });
    }
  }
  async function testing() {
    for (;;) {
      const data = await send(testMutation, {});
      const result = data && resultIn(data);
      if (result) confirmed.tested.push(result.exportId);
      await pause(20);
    }
  }
  async function rotating() {
    for (;;) {
      const data = await send(rotateMutation, {});
      if (data) confirmed.secret = data.rotateExportEndpointSecret.signingSecret;
      await pause(20);
    }
  }
  const ends = await Promise.allSettled([registering(), exporting(1), exporting(2), testing(), rotating()]);
  const refusals = ends.map(end => (end.status === 'rejected' ? String(end.reason) : ''));
  expect(refusals.filter(text => text.includes('"code"'))).toEqual([]);
}

const storages: Record<string, () => Promise<Record<string, string>>> = {
  'one file': async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kills-'));
    lastCleanups.push(() => rm(folder, { recursive: true, force: true }));
    return { DATA_DIR: folder };
  },
  ...Object.fromEntries(
    allRedisPlaces.map(([name, startPlace]) => [
      name,
      async () => {
        const place = await startPlace();
        lastCleanups.push(() => place.stop());
        return { REDIS_URL: place.url };
      },
    ]),
  ),
};

test.each(Object.entries(storages))(
  'with %s, a gateway that is killed at any moment has lost nothing that it confirmed, and sent nothing twice unrecorded',
  async (storage, prepare) => {
    const [service, endpoint] = [await startService(), await startEndpoint()];
    const env = {
      ...(await prepare()),
      PATH: process.env.PATH ?? '',
      UPSTREAM_BASE_URL: service,
      UPSTREAM_DEV_URL: service,
      EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true',
      SESSION_SECRET: 's'.repeat(32),
    };
    const totals = { registered: 0, exported: 0, retried: 0, tested: 0, rotated: 0, cutOff: 0 };
    let gateway = await program.start(env);
    try {
      for (let round = 1; round <= kills; round++) {
        const headers = { 'x-api-key': `key-of-round-${round}` };
        const setUp = await askPatiently(
          `${gateway.url}/graphql`,
          registerMutation,
          { name: 'target', url: endpoint.url },
          headers,
        );
        expect(setUp.errors?.[0].extensions.code ?? 'CONFLICT').toBe('CONFLICT');

        const confirmed: Confirmed = {
          registered: new Set(),
          deleted: new Set(),
          exported: new Map(),
          asked: new Map(),
          tested: [],
          secret: undefined,
        };
        const working = work(`${gateway.url}/graphql`, headers, endpoint.url, confirmed);
        await pause(Math.random() * maxLifeMs);
        // On a busy machine nothing may be confirmed yet. The last gateway lives until something is.
        while (round === kills && totals.registered + confirmed.registered.size === 0) await pause(5);
        await gateway.kill();
        await working;
        const { registered, deleted, exported, asked, tested, secret } = confirmed;
        gateway = await program.start(env);
        const address = `${gateway.url}/graphql`;
        const state = async () => (await askPatiently(address, stateQuery, {}, headers)).data;

        const { exportEndpoints, exports } = await state();
        const names = exportEndpoints.map(({ name }: { name: string }) => name);
        expect(names).toEqual(expect.arrayContaining(['target', ...registered]));
        expect(names.filter((name: string) => deleted.has(name))).toEqual([]);

        expect(exports.totalCount).toBeLessThan(100);
        const nodes: readonly ShownExport[] = exports.nodes;
        const records = new Map(nodes.flatMap(node => (node.isTest ? [] : [[node.idempotencyKey, node] as const])));
        const ended = expect.stringMatching(/DELIVERED|FAILED|REJECTED/);
        for (const [key, id] of exported) {
          const first = asked.get(key)?.variables.id;
          const retryOf = first === undefined ? null : { id: first };
          expect(records.get(key)).toMatchObject({ id, outcome: ended, retryOf });
        }
        for (const id of tested) {
          expect(nodes.find(node => node.id === id)).toMatchObject({ isTest: true, outcome: ended });
        }
        for (const [id, calls] of endpoint.received) {
          const record = nodes.find(node => node.id === id);
          expect(record?.attempts.length).toBeGreaterThanOrEqual(calls);
        }
        const sent = new Map(endpoint.received);

        // A repeated request with the same key gets the first outcome, or learns that it is unknown.
        for (const [key, { document, variables }] of asked) {
          if (exported.has(key)) continue;
          const record = records.get(key);
          const { data, errors } = await askPatiently(address, document, variables, headers);
          if (record === undefined) {
            expect(resultIn(data)?.__typename ?? errors?.[0].extensions.code).toMatch(
              /Export(Delivered|Failed|Rejected)|CONFLICT/,
            );
            continue;
          }
          totals.cutOff++;
          expect(endpoint.received.get(record.id)).toBe(sent.get(record.id));
          if (record.outcome === 'RUNNING') expect(errors?.[0].extensions.code).toBe('CONFLICT');
          else expect(resultIn(data)?.exportId).toBe(record.id);
        }
        const after: readonly ShownExport[] = (await state()).exports.nodes;
        for (const keyOf of [(node: ShownExport) => node.idempotencyKey, (node: ShownExport) => node.retryOf?.id]) {
          const values = after.flatMap(node => keyOf(node) ?? []);
          expect(new Set(values).size).toBe(values.length);
        }
        // A rotation that was stored and not confirmed leaves the confirmed secret valid.
        if (secret !== undefined) {
          await askPatiently(address, testMutation, {}, headers);
          new Webhook(secret).verify(endpoint.last.body, endpoint.last.headers);
        }
        totals.retried += [...exported.keys()].filter(key => key.startsWith('retry')).length;
        totals.tested += tested.length;
        totals.rotated += secret === undefined ? 0 : 1;
        totals.registered += registered.size;
        totals.exported += exported.size;
        endpoint.received.clear();
      }
    } finally {
      await gateway.kill();
    }
    if (process.env.KILLS) process.stderr.write(`${storage}: ${kills} kills, ${JSON.stringify(totals)}\n`);
    expect(totals.registered).toBeGreaterThan(0);
  },
);
