import type { Lifetime } from '../cache/lookup.js';
import type { Reader } from '../reader.js';
import { marketRecordRead, suggestionsRead, topicsRead } from './client.js';
import type { MarketRecord, Topic } from './model.js';

/** What the markets room can load for one request. */
export interface MarketsLoaders {
  record(id: string): Promise<MarketRecord>;
  topics(id: string, sorted: boolean): Promise<readonly Topic[]>;
  suggestions(keyword: string): Promise<readonly string[]>;
}

export function createMarketsLoaders(
  reader: Reader,
  lifetimes: { readonly record: Lifetime; readonly topics: Lifetime; readonly suggestions: Lifetime },
): MarketsLoaders {
  return {
    record: async id => (await reader.read(marketRecordRead(id), lifetimes.record)).value,
    topics: async (id, sorted) => (await reader.read(topicsRead(id, sorted), lifetimes.topics)).value,
    suggestions: async keyword => (await reader.read(suggestionsRead(keyword), lifetimes.suggestions)).value,
  };
}
