import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { follow, type Step } from './support/guide.js';

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

/** Node as a browser in one regard: what a site sets as a cookie, `fetch` sends it. */
const cookieJar = `data:text/javascript,${encodeURIComponent(`
  const { fetch } = globalThis;
  let jar = '';
  globalThis.fetch = async (url, options = {}) => {
    const headers = new Headers(options.headers);
    if (jar && options.credentials === 'include') headers.set('cookie', jar);
    const response = await fetch(url, { ...options, headers });
    for (const cookie of response.headers.getSetCookie()) jar = /^[^=]+=(;|$)/.test(cookie) ? '' : cookie.split(';')[0];
    return response;
  };
`)}`;

function asPromised({ code, stdout, stderr, promised, command }: Step) {
  if (code !== 0) throw new Error(`${command}\nended with ${code}:\n${stdout}${stderr}`);
  if (promised === undefined) return;
  if (promised.startsWith('{ "')) expect(JSON.parse(stdout)).toEqual(JSON.parse(promised));
  else expect(stdout).toBe(promised);
}

test.each(['frontends', 'partners'])(
  'docs/%s.md does what it says, from its first line to its last',
  async guide => {
    const [user] = sandbox.demo.users;
    const steps = await follow(`docs/${guide}.md`, gateway.url, {
      API_KEY: demoHeaders['x-api-key'],
      EMAIL: user?.email ?? '',
      PASSWORD: user?.password ?? '',
      NODE_OPTIONS: `--import=${cookieJar}`,
    });
    expect(steps.length).toBeGreaterThan(1);
    for (const step of steps) asPromised(step);
  },
  120_000,
);
