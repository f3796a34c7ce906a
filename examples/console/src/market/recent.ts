const KEY = 'recent-markets';
/** Those of the sandbox. */
const FIRST = ['1', '2', '3', '4', '5', '6'];

/** Numbers of the markets that this browser opened last, newest first. */
export function recentMarkets(): string[] {
  const stored = localStorage.getItem(KEY)?.split(' ') ?? FIRST;
  return stored.filter(id => /^\d+$/.test(id));
}

export function rememberMarket(id: string): void {
  const ids = [id, ...recentMarkets().filter(other => other !== id)];
  localStorage.setItem(KEY, ids.slice(0, 20).join(' '));
}
