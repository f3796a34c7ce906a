import type { Lifetime } from '../../data/cache/lookup.js';
import type { Reader } from '../../data/reader.js';
import { marketRecordRead, suggestionsRead, topicsRead } from './client.js';

/** The reads of the markets domain for one request. */
export function createMarketsLoaders(
  reader: Reader,
  lifetimes: Readonly<Record<'record' | 'topics' | 'suggestions', Lifetime>>,
) {
  return {
    record: (id: string) => reader.read(marketRecordRead(id), lifetimes.record),
    topics: (id: string, sorted: boolean) => reader.read(topicsRead(id, sorted), lifetimes.topics),
    suggestions: (keyword: string) => reader.read(suggestionsRead(keyword), lifetimes.suggestions),
  };
}
