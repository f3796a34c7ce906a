/** The market whose discovery is shown, as it stands in the address. */
export interface DiscoverSearch {
  readonly market?: number;
}

export function discoverSearch({ market }: Record<string, unknown>): DiscoverSearch {
  return Number.isSafeInteger(market) ? { market: Number(market) } : {};
}
