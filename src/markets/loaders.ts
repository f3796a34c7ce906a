import type { Lifetime } from '../cache/lookup.js';
import { after, type MaybePromise } from '../maybe-promise.js';
import { contentOf, type Reader } from '../reader.js';
import { marketRecordRead, suggestionsRead, topicsRead } from './client.js';
import type { MarketRecord, Topic } from './model.js';

/** What the markets room can load for one request. */
export interface MarketsLoaders {
  record(id: string): MaybePromise<MarketRecord>;
  topics(id: string, sorted: boolean): MaybePromise<readonly Topic[]>;
  suggestions(keyword: string): MaybePromise<readonly string[]>;
}

export function createMarketsLoaders(
  reader: Reader,
  lifetimes: { readonly record: Lifetime; readonly topics: Lifetime; readonly suggestions: Lifetime },
): MarketsLoaders {
  return {
    record: id => after(reader.read(marketRecordRead(id), lifetimes.record), contentOf),
    topics: (id, sorted) => after(reader.read(topicsRead(id, sorted), lifetimes.topics), contentOf),
    suggestions: keyword => after(reader.read(suggestionsRead(keyword), lifetimes.suggestions), contentOf),
  };
}
