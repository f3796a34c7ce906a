/** Whole gateways for tests. No response of theirs may make more upstream calls than its estimate: the test that has one fails. */

import type { AddressInfo } from 'node:net';
import { afterEach } from '@jest/globals';
import type { Dispatcher } from 'undici';
import { buildApp, type Seams } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { ResponseMetadata } from '../../src/observability/response-metadata.js';
import type { SandboxOptions } from '../../src/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { ofTheRun } from './of-the-run.js';

/** What a GraphQL request came back with. */
export interface GraphqlAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's body is what the test is about to find out
  readonly data: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly errors: any[] | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly extensions: any;
}

/** A whole gateway that listens on a port of its own. */
export interface TestGateway {
  /** `http://127.0.0.1:PORT`, without `/graphql`. */
  readonly url: string;
  /** The embedded sandbox, where the gateway was started without a service. */
  readonly sandbox: Sandbox | undefined;
  /** Sends a query over HTTP; without `headers` as the sandbox's demo key, with them as they say. */
  query(
    document: string,
    variables?: Record<string, unknown>,
    headers?: Record<string, string>,
  ): Promise<GraphqlAnswer>;
  /** Sends any body as a request by POST. */
  send(body: unknown, headers?: Record<string, string>): Promise<GraphqlAnswer>;
  /** Reads the teams file and the trusted documents again, as SIGHUP does. */
  reload(): void;
  close(): Promise<void>;
}

/** The responses with more calls than their estimate. */
const aboveEstimate = new Map<ResponseMetadata, string>();
const { noteCall } = ResponseMetadata.prototype;
ResponseMetadata.prototype.noteCall = function (this: ResponseMetadata, ...given: Parameters<typeof noteCall>) {
  noteCall.apply(this, given);
  const { estimatedCalls, name, document } = this.operation;
  const failed = new Set<string>();
  // What has failed may be sent once more, which is in no estimate.
  const calls = this.upstreamCalls.filter(({ source, method, path, status }) => {
    if (source !== 'network') return false;
    const isRetry = failed.delete(`${method} ${path}`);
    if (status !== 200) failed.add(`${method} ${path}`);
    return !isRetry;
  });
  if (estimatedCalls === undefined || calls.length <= estimatedCalls) return;
  aboveEstimate.set(this, `${calls.length} calls, estimated ${estimatedCalls}: ${document ?? name}`);
};
afterEach(() => {
  const found = [...aboveEstimate.values()];
  aboveEstimate.clear();
  // No `expect`, which would count where a test says how many there are.
  if (found.length > 0) throw new Error(found.join('\n'));
});

/** Where a fake wire is spoken to: the three addresses lie on one origin under paths of their own. */
export const wireOrigin = 'http://service.test';

/** The key of the sandbox that may read everything. */
export const demoHeaders = { 'x-api-key': 'demo-key-subscribed' };

/** The three addresses of a service, in the environment of a gateway. */
export const addressesOn = (origin: string) => ({
  UPSTREAM_BASE_URL: origin,
  UPSTREAM_API_URL: `${origin}/api`,
  UPSTREAM_DEV_URL: `${origin}/stage`,
});

const serviceOn = (origin: string) => ({
  ...addressesOn(origin),
  EVENTS_SEARCH_PARAM: 'search',
  KEYWORD_SUGGESTION_PATH: '/v2/discovery/search-criteria/keywords',
  EXPLAIN: 'true',
});

/**
 * Starts a whole gateway on a free loopback port. It asks the `sandbox` given, which stays the test's to close, or `wire` at `wireOrigin`, or
 * without either the sandbox that it embeds. `env` and `seams` override.
 */
export async function startGateway(
  options: {
    sandbox?: Sandbox;
    wire?: Dispatcher;
    redisUrl?: string;
    env?: Record<string, string>;
    seams?: Omit<Seams, 'wire'>;
  } = {},
): Promise<TestGateway> {
  const { sandbox, wire, redisUrl, env, seams } = options;
  const origin = sandbox?.origin ?? (wire && wireOrigin);
  const config = readConfig({
    // Not warn: most of these gateways embed the sandbox, and each would say so.
    LOG_LEVEL: 'error',
    ...ofTheRun,
    ...(origin !== undefined && serviceOn(origin)),
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    ...env,
  });
  const gateway = await buildApp(config, { ...(wire && { wire }), ...seams });
  await gateway.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = gateway.app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    sandbox: gateway.sandbox,
    query: (query, variables = {}, headers) => send(`${url}/graphql`, { query, variables }, headers),
    send: (body, headers) => send(`${url}/graphql`, body, headers),
    reload: gateway.reload,
    close: () => gateway.app.close(),
  };
}

/** Starts a gateway over a sandbox of its own, which is closed with it. Unlike the one that a gateway embeds, it is no demo. */
export async function startOverSandbox(
  options: { service?: SandboxOptions; env?: Record<string, string> } = {},
): Promise<{ sandbox: Sandbox; gateway: TestGateway }> {
  const sandbox = await startSandbox(options.service);
  const gateway = await startGateway({ sandbox, env: options.env ?? {} });
  const close = async () => {
    await gateway.close();
    await sandbox.close();
  };
  return { sandbox, gateway: { ...gateway, close } };
}

/** Sends a GraphQL request to an address, which may have a query of its own. */
export const ask = (
  address: string,
  query: string,
  variables: Record<string, unknown> = {},
  headers?: Record<string, string>,
): Promise<GraphqlAnswer> => send(address, { query, variables }, headers);

/** Signs a user of the sandbox in. @returns the headers of the session */
export async function signedIn(
  { url }: { readonly url: string },
  { email, password } = { email: 'ada@team.example', password: 'sandbox-ada' },
) {
  const document = 'mutation ($input: SignInInput!) { signIn(input: $input) { viewer { email } } }';
  const { headers, errors } = await ask(`${url}/graphql`, document, { input: { email, password } }, {});
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
  const cookies = headers.getSetCookie().map(line => line.split(';')[0]);
  return { cookie: cookies.join('; ') };
}

async function send(address: string, body: unknown, headers?: Record<string, string>): Promise<GraphqlAnswer> {
  const response = await postJson(address, body, headers);
  const { data, errors, extensions } = JSON.parse(await response.text());
  return { status: response.status, headers: response.headers, data, errors, extensions };
}

/** Sends a body of JSON by POST: a text as it is, without `headers` as the sandbox's demo key. */
export const postJson = (address: string, body: unknown, headers: object = demoHeaders, signal?: AbortSignal) =>
  fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
