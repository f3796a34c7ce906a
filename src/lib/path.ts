/** The path of a request's URL as the client wrote it: without scheme and host, and without the query, which may hold a credential. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  const path = end === -1 ? url : url.slice(0, end);
  return path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, '');
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
