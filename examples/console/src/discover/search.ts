/** The market whose discovery is shown, as it stands in the address. */
export interface DiscoverSearch {
  readonly market?: string;
}

export function discoverSearch({ market }: Record<string, unknown>): DiscoverSearch {
  return market === undefined ? {} : { market: String(market) };
}
