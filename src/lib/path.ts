/** A request's URL in the one spelling of its path: without scheme and host, and with no escape that it does not need (RFC 3986, 6.2.2.2). */
export function normalizedUrl(url: string): string {
  if (url.startsWith('/') && !url.includes('%')) return url;
  const [head = '', path = ''] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)/i.exec(url) ?? [];
  const unescaped = path.replace(/%([\da-f]{2})/gi, (escaped, code) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return /[\w.~-]/.test(character) ? character : escaped;
  });
  return (unescaped || '/') + url.slice(head.length);
}

/** The path of a normalized URL, without the query, which may hold a credential. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** The same for a log, up to the first character that no path of the gateway has: what comes behind it may be meant as a query. */
export function loggedPathOf(url: string): string {
  return /^[\w/.~@+-]*/.exec(pathOf(url))?.[0] ?? '';
}

/** The session ids in the query of a request's URL, decoded. Each is a credential. */
export function sessionIdsIn(url: string): readonly string[] {
  const start = url.indexOf('?');
  return start === -1 ? [] : new URLSearchParams(url.slice(start)).getAll('sessionId');
}

/** A request's URL without the parameters that `sessionIdsIn` reads. All other parameters stay unchanged. */
export function withoutSessionIds(url: string): string {
  const start = url.indexOf('?');
  if (start === -1) return url;
  const others = url
    .slice(start + 1)
    .split('&')
    // With the question mark, since URLSearchParams drops one at the beginning.
    .filter(parameter => sessionIdsIn(`?${parameter}`).length === 0);
  return `${url.slice(0, start)}?${others.join('&')}`;
}
