import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { SandboxOptions } from './options.js';
import { contentOf, startSandbox } from './server.js';

/** A sandbox within the process of a gateway for which no service is configured. */
export type EmbeddedSandbox = Awaited<ReturnType<typeof embedSandbox>>;

/** The operations that agents can call where the sandbox runs. */
const operations = fileURLToPath(new URL('../../operations/', import.meta.url));

/** Those of a gateway's settings of which the sandbox says something. */
interface Settings {
  readonly upstream: object;
  readonly eventsSearchParam: string | undefined;
  readonly keywordSuggestionPath: string | undefined;
  readonly explain: boolean | undefined;
  readonly mcp: { readonly operations: string | undefined };
  readonly exports: { readonly allowPrivateAddresses: boolean | undefined };
}

/** Starts the sandbox, and says what a gateway needs to serve it. */
export async function embedSandbox<S extends Settings>(config: S, options?: SandboxOptions) {
  const sandbox = await startSandbox(options);
  const { keys, team } = sandbox.demo;
  /** As a teams file names it. */
  const member = (name: string) => (team.keys.includes(name) ? `sha256:${hash('sha256', name)}` : name);
  return {
    ...sandbox,
    /** The configuration with the addresses of the sandbox, and with its defaults for everything that is not set. */
    config: {
      ...config,
      upstream: { ...config.upstream, ...sandbox.addresses },
      eventsSearchParam: config.eventsSearchParam ?? sandbox.eventsSearchParam,
      keywordSuggestionPath: config.keywordSuggestionPath ?? sandbox.keywordSuggestionPath,
      explain: config.explain ?? true,
      mcp: { ...config.mcp, operations: config.mcp.operations ?? operations },
      exports: { ...config.exports, allowPrivateAddresses: config.exports.allowPrivateAddresses ?? true },
    },
    teams: [{ ...team, keys: team.keys.map(member), admins: team.admins.map(member) }],
    /** The key with every permission. Requests without a credential use it. */
    demoKey: keys.find(({ eventsMonitor }) => eventsMonitor)?.key,
    warning:
      'The embedded sandbox runs: all data is invented, and a request to localhost without a credential uses its demo key',
    /** What is printed below the addresses of the gateway. @param markets as `contentOf` says. */
    greeting: (address: string, markets: string): readonly string[] => [
      '',
      'UPSTREAM_BASE_URL is not set: a sandbox of the service is running. Requests without a credential use its first key.',
      ...contentOf(sandbox, markets),
      '',
      'Try:',
      `  curl -s ${address}/graphql -H 'content-type: application/json' -d '{"query":"{ events(first: 2) { totalCount nodes { title references { observation { title } } } } }"}'`,
    ],
  };
}
