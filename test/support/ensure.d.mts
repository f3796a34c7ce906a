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

/**
 * Checks that every tool the tests run is installed, and returns the path of each by its command's name. Says in one line which tools are
 * missing, and installs them with apt-get where `mayInstall` allows it (by default: on Debian, as root). With SKIP_SYSTEM_INSTALL=1 it installs
 * nothing, and a missing tool has no path.
 * @throws Error whose message is one line: what to install, or which variable to set.
 */
export function ensureTools(env?: Environment, mayInstall?: boolean): Record<Tool, string>;

/**
 * The test files that can run: all of them, or, with SKIP_SYSTEM_INSTALL=1, those that need no missing tool. One line names the others.
 * @param say by default writes the line to stderr.
 */
export function runnableTests(files: readonly string[], env?: Environment, say?: (line: string) => unknown): string[];
