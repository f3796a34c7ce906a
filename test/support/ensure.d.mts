/**
 * Makes sure that every tool the tests run is there, and returns each one's path by its command's name. What is
 * missing is installed with apt-get where `mayInstall` says so (by default: on Debian, as root).
 * Throws an Error whose message is one line: what to install, or which variable to set.
 */
export function ensureTools(
  env?: Record<string, string | undefined>,
  mayInstall?: boolean,
): Record<'redis-server' | 'chromium' | 'haproxy' | 'docker-compose' | 'curl' | 'python3', string>;
