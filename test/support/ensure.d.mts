type Tool =
  | 'redis-server'
  | 'chromium'
  | 'haproxy'
  | 'docker-compose'
  | 'prometheus'
  | 'prometheus-alertmanager'
  | 'openssl'
  | 'curl'
  | 'jq'
  | 'python3';
type Environment = Readonly<Record<string, string | undefined>>;

/** All tools: `npm run test:system` needs each. */
export const systemTools: readonly Tool[];

/**
 * Checks that the tools are installed, and returns the path of each by its command's name. Says in one line which are missing, and installs
 * them with apt-get where `mayInstall` allows it (by default: on Debian, as root) and SKIP_SYSTEM_INSTALL is not 1. Elsewhere a missing tool has
 * no path, but with CI it is an error.
 * @throws Error whose message is one line: what to install, or which variable to set.
 */
export function ensureTools(
  commands: readonly Tool[],
  env?: Environment,
  mayInstall?: boolean,
): Partial<Record<Tool, string | undefined>>;

/** The test files that can run, the names of those that need a missing tool that `ensureTools` will not install, and what to install for them. */
export function runnableTests(
  files: readonly string[],
  env?: Environment,
  mayInstall?: boolean,
): { files: string[]; skipped: string[]; needs: string[] };
