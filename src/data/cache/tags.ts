/** What changes with every write to a market: all that is kept about it. */
export const marketTag = (marketId: string): string => `market:${marketId}`;

/** What changes with every write that begins jobs of a market. Their end, which changes the market too, leaves it as it is. */
export const jobsTag = (marketId: string): string => `jobs:${marketId}`;
