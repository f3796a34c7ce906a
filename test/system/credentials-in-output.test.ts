import { afterAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startSandbox } from '../../src/sandbox/server.js';
import { addressesOn, ask, postJson } from '../support/gateway.js';
import { buildProgram } from '../support/program.js';
import { allRedisPlaces } from '../support/redis-cluster.js';

const [sandbox, program] = await Promise.all([startSandbox(), buildProgram()]);
const everyRead = `{
    events(first: 3) { nodes { title vectorIndex { embeddings } references { observation { title } } } }
    observation(id: "${sandbox.data.events[0]?.references[0]?._id}") { title content }
    suggestMarkets(keyword: "a")
    market(id: 1) {
      name topics { label } esg companies { nodes { name esg events(first: 2) { totalCount } } }
      jobs { workflowName } searchCriteria { userPrompt } searchCriteriaHistory { userPrompt }
    }
  }`;

afterAll(() => sandbox.close());

/** Every key and value, as one text. */
async function everythingIn(stores: readonly Redis[]): Promise<string> {
  const texts = stores.map(async store => {
    const keys = await store.keys('*');
    const values = await Promise.all(keys.map(key => store.getBuffer(key).catch(() => Buffer.alloc(0))));
    return [...keys, ...values.map(value => String(value))];
  });
  return (await Promise.all(texts)).flat().join('\n');
}

test.each(allRedisPlaces)(
  'no credential is ever in %s, the logs, the metrics, an error or explain',
  async (_, startPlace) => {
    const place = await startPlace();
    const stores = place.urls.map(url => new Redis(url));
    const session = (await (
      await fetch(`${sandbox.origin}/v2/auth/session`, { headers: { 'x-api-key': 'demo-key-subscribed' } })
    ).json()) as Record<'idToken' | 'accessToken', string>;
    const running = await program.start({
      ...addressesOn(sandbox.origin),
      REDIS_URL: place.url,
      EXPLAIN: 'true',
      LOG_LEVEL: 'trace',
    });
    const address = `${running.url}/graphql`;
    const signedIn = await ask(
      address,
      'mutation { signIn(input: { email: "ada@team.example", password: "sandbox-ada" }) { viewer { email } } }',
      {},
      {},
    );
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const told: string[] = [JSON.stringify(signedIn)];
    const everybody: [Record<string, string>, string][] = [
      [{ 'x-api-key': 'demo-key-subscribed' }, ''],
      [{ 'x-api-key': 'nobody-5b7e2d' }, ''],
      [{ 'x-api-key': 'nobody-5b7e2d', authorization: 'Bearer token-9c4f1a' }, ''],
      [{ authorization: 'Basic token-9c4f1a' }, ''],
      [{ authorization: `Bearer ${session.idToken}` }, ''],
      [{}, `?sessionId=${session.accessToken}`],
      [{}, '?sessionId=nobody%20session-3e8d6c'],
      [{ cookie }, ''],
      [{ cookie: 'mig_session=forged-8a2b4c' }, ''],
    ];
    const visitAll = async () => {
      for (const [headers, search] of everybody) {
        const answer = await ask(`${address}${search}`, everyRead, {}, { ...headers, 'x-explain': '1' });
        told.push(JSON.stringify(answer));
      }
    };
    await visitAll();
    // A service that repeats the credential in what it says of its failure.
    const secrets = [
      'demo-key-subscribed',
      'nobody-5b7e2d',
      'token-9c4f1a',
      'session-3e8d6c',
      'forged-8a2b4c',
      'sandbox-ada',
    ];
    const repeats = `{"success":false,"errorCode":"${secrets[0]}","message":"${secrets.join(' ')} at ${sandbox.origin}"}`;
    await Promise.all(stores.map(store => store.flushall()));
    sandbox.tell({ path: /events|esg/, status: 500, body: repeats });
    sandbox.tell({ path: /companies|suggest/, breakConnection: 'mid-body' });
    sandbox.tell({ path: /dev/, body: `<html>${secrets.join(' ')}` });
    sandbox.tell({ path: /jobs/, status: 403, body: repeats });
    await visitAll();
    for (const search of ['?sessionId=session-3e8d6c&query={', '?sessionId=session-3e8d6c']) {
      told.push(await (await fetch(`${address}${search}`)).text());
      told.push(await (await postJson(`${address}${search}`, '{', {})).text());
      told.push(await (await fetch(`${running.url}/nowhere${search}`)).text());
    }
    told.push(await (await fetch(`${running.url}/metrics`)).text());
    expect(told.join('\n')).toContain('UPSTREAM_UNAVAILABLE');
    const kept = await everythingIn(stores);
    expect(kept).toContain('mig:cache:0.');
    const { stdout, stderr, code } = await running.stop();
    expect(code).toBe(0);
    expect(stderr).toContain('"path":"/graphql"');

    const everywhere = [...told, kept, stdout, stderr].join('\n');
    const own = cookie.replace('mig_session=', '');
    for (const secret of [...secrets, session.idToken, session.accessToken, 'svc_session']) {
      expect([secret, everywhere.split(secret).length - 1]).toEqual([secret, 0]);
    }
    // The sealed cookie is for the browser that it was given to, and for no one else.
    expect([kept, stdout, stderr].join('\n')).not.toContain(own);
    expect(told.slice(1).join('\n')).not.toContain(sandbox.origin);
    for (const store of stores) store.disconnect();
    await place.stop();
  },
);
