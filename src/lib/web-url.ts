/** What stands before the path: user and host. A host name has at most 253 characters, and the time to parse one grows with the square of its length. */
const shortAuthority = /^\s*https?:[/\\]*[^/\\?#]{1,512}(?:[/\\?#]|$)/i;

/** A URL; undefined for any other text. Not with `URL.canParse`: once V8 has optimized the call, that of Node 20 refuses letters such as é. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** A URL of HTTP or HTTPS that was written by someone outside of the gateway; undefined for any other text. Its path may be of any length. */
export function parseWebUrl(text: string): URL | undefined {
  return shortAuthority.test(text) ? parseUrl(text) : undefined;
}
