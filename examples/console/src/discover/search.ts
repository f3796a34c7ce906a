/** What the screen begins with, as it stands in the address. */
export interface DiscoverSearch {
  /** The market whose discovery is shown, or that the next one is for. */
  readonly market?: number;
  readonly question?: string;
}

export function discoverSearch({ market, question }: Record<string, unknown>): DiscoverSearch {
  return {
    ...(Number.isSafeInteger(market) && { market: Number(market) }),
    ...(question ? { question: String(question) } : {}),
  };
}
