import type { Lifetime } from '../../data/cache/lookup.js';
import type { Reader } from '../../data/reader.js';
import type { MaybePromise } from '../../lib/maybe-promise.js';
import { marketRecordRead, suggestionsRead, topicsRead } from './client.js';
import type { MarketRecord, MarketTopic } from './model.js';

/** The reads of the markets domain for one request. */
export interface MarketsLoaders {
  record(id: string): MaybePromise<MarketRecord>;
  topics(id: string, sorted: boolean): MaybePromise<readonly MarketTopic[]>;
  suggestions(keyword: string): MaybePromise<readonly string[]>;
}

export function createMarketsLoaders(
  reader: Reader,
  lifetimes: { readonly record: Lifetime; readonly topics: Lifetime; readonly suggestions: Lifetime },
): MarketsLoaders {
  return {
    record: id => reader.read(marketRecordRead(id), lifetimes.record),
    topics: (id, sorted) => reader.read(topicsRead(id, sorted), lifetimes.topics),
    suggestions: keyword => reader.read(suggestionsRead(keyword), lifetimes.suggestions),
  };
}
