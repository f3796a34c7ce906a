/** The path of a request's address as the server routes it: decoded, and without the query, which may hold a credential. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  const path = end === -1 ? url : url.slice(0, end);
  return path.startsWith('/') && !path.includes('%') ? path : decoded(path);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(URL.canParse(path) ? new URL(path).pathname : path);
  } catch {
    return path;
  }
}
