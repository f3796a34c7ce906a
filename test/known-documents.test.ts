import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { type DocumentNode, parse } from 'graphql';
import { createTeams } from '../src/auth/teams.js';
import { Reloadable } from '../src/config/values.js';
import { createPlanExecutor } from '../src/graphql/executor/execute.js';
import { createDocumentChecks } from '../src/graphql/limits/document-checks.js';
import { createTrustedDocuments, type Manifest } from '../src/graphql/limits/documents.js';
import { prepareKnownDocuments } from '../src/graphql/limits/known-documents.js';
import { createSchema } from '../src/schema.js';
import { demoHeaders, startGateway } from './support/gateway.js';
import { takeLog } from './support/log.js';
import { until } from './support/until.js';

const schema = createSchema();

/** What a gateway has of known documents. */
function prepared(texts: () => readonly string[], tools: readonly DocumentNode[] = []) {
  const manifest = new Reloadable<Manifest>(() => new Map(texts().map(text => [`hash of ${text}`, text])));
  const documentText = createTrustedDocuments('only', manifest);
  const documentChecks = createDocumentChecks({
    schema,
    documentText,
    introspection: true,
    callLimit: 2_000,
    teams: { current: createTeams(undefined) },
    statisticsLimit: 2_000,
  });
  const planner = createPlanExecutor(schema);
  const lines: string[] = [];
  const warn = (line: string) => void lines.push(line);
  const parsed = jest.spyOn(documentChecks, 'parse');
  const isPrepared = prepareKnownDocuments({ manifest, tools, documentChecks, planner, warn });
  return { manifest, documentChecks, planner, lines, parsed, isPrepared };
}

/** Longer together than the store of clients' documents. */
const manyTexts = Array.from(
  { length: 300 },
  (_, number) => `query Page${number} { market(id: ${number}) { name } } # ${'x'.repeat(4_000)}`,
);

describe('documents of the operator', () => {
  test('are read, and stay known, whatever their size', async () => {
    const { documentChecks, isPrepared, parsed } = prepared(() => manyTexts);
    await until(() => isPrepared());
    expect(parsed).toHaveBeenCalledTimes(manyTexts.length);
    for (const text of manyTexts) {
      // A document that is not known would be a promise, or another object each time.
      const document = documentChecks.read('client', text);
      expect(document).toHaveProperty('kind', 'Document');
      expect(documentChecks.read('client', text)).toBe(document);
    }
    expect(parsed).toHaveBeenCalledTimes(manyTexts.length);
  });

  test('are planned with each combination of what they leave out, in one part and in several', async () => {
    const text = 'query ($a: Boolean!) { viewer { team @skip(if: $a) ... @defer { email } } }';
    const document = parse(text);
    const { planner, isPrepared } = prepared(() => [], [document]);
    await until(() => isPrepared());
    let now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => {
      now += 20;
      return now;
    });
    try {
      const run = (a: boolean, defers: boolean, of = document) =>
        planner({
          document: of,
          operationName: undefined,
          variables: { a },
          context: { credentialIfAny: undefined },
          defers,
        });
      // What is not planned waits for a later turn once a turn has had such work.
      const [first, second] = [parse(text), parse(text)].map(other => run(true, false, other));
      expect([first instanceof Promise, second instanceof Promise]).toEqual([false, true]);
      for (const a of [true, false])
        for (const defers of [true, false]) expect(run(a, defers)).not.toBeInstanceOf(Promise);
      await second;
    } finally {
      clock.mockRestore();
    }
  });

  test('are prepared in pieces, between which other work is done', async () => {
    for (const _ of [1, 2]) await new Promise(setImmediate);
    let now = performance.now();
    // Each piece seems to take more than its share of a turn.
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => {
      now += 20;
      return now;
    });
    try {
      const { isPrepared, parsed } = prepared(() => manyTexts);
      let turns = 0;
      for (; !isPrepared(); turns += 1) {
        expect(parsed.mock.calls.length).toBeLessThanOrEqual(turns + 1);
        await new Promise(setImmediate);
      }
      expect(turns).toBeGreaterThanOrEqual(manyTexts.length - 1);
    } finally {
      clock.mockRestore();
    }
  });

  test('that stay after a reload are not read again, and those that go are not kept', async () => {
    let texts = ['query A { viewer { team } }', 'query B { viewer { team } }'];
    const { manifest, documentChecks, isPrepared, parsed } = prepared(() => texts);
    await until(() => isPrepared());
    const kept = documentChecks.read('client', texts[0] ?? '');
    const gone = texts[1] ?? '';
    const goneDocument = documentChecks.read('client', gone);
    texts = [texts[0] ?? '', 'query C { viewer { team } }'];
    parsed.mockClear();
    manifest.reload();
    await until(() => parsed.mock.calls.length > 0);
    expect(parsed.mock.calls).toEqual([[texts[1]]]);
    expect(documentChecks.read('client', texts[0] ?? '')).toBe(kept);
    expect(await documentChecks.read('client', gone)).not.toBe(goneDocument);
  });
});

describe('a gateway with trusted documents', () => {
  const folder = mkdtempSync(join(tmpdir(), 'known-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

  test('is ready once they are, and says in one line which does not fit the schema', async () => {
    const texts = [...manyTexts, 'query Removed { market(id: 1) { noSuchField } }', 'query Broken {'];
    const file = join(folder, 'documents.json');
    writeFileSync(file, JSON.stringify(Object.fromEntries(texts.map(text => [hashOf(text), text]))));
    const log = takeLog();
    const gateway = await startGateway({
      env: { PERSISTED_DOCUMENTS: file, PERSISTED_DOCUMENTS_MODE: 'only', LOG_LEVEL: 'warn' },
      seams: { log },
    });
    try {
      const readyz = async () => {
        const answer = await fetch(`${gateway.url}/readyz`);
        const { status } = JSON.parse(await answer.text());
        expect([answer.status, status]).toEqual(status === 'ready' ? [200, 'ready'] : [503, 'starting']);
        return status === 'ready';
      };
      await until(readyz);
      const lines = log.lines.filter(line => line.includes('is refused'));
      expect(lines).toHaveLength(2);
      for (const name of ['Removed', 'Broken']) {
        expect(lines.filter(line => line.includes(`PERSISTED_DOCUMENTS: the operation ${name} (`))).toHaveLength(1);
      }
      const send = async (text: string) => {
        const answer = await fetch(`${gateway.url}/graphql`, {
          method: 'POST',
          headers: { ...demoHeaders, 'content-type': 'application/json' },
          body: JSON.stringify({ documentId: hashOf(text) }),
        });
        return JSON.parse(await answer.text());
      };
      for (const _ of [1, 2]) {
        expect((await send(texts.at(-2) ?? '')).errors[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
        expect((await send(texts.at(-1) ?? '')).errors[0].extensions.code).toBe('GRAPHQL_PARSE_FAILED');
      }
      expect((await send(texts[1] ?? '')).data.market.name).toEqual(expect.any(String));
    } finally {
      await gateway.close();
    }
  });
});
