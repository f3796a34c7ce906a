import type { Read } from '../../data/reader.js';
import { type MarketRecord, marketRecord, suggestions, type Topic, topics } from './model.js';

/** GET {dev_url}/dev/markets/{id}. */
export function marketRecordRead(id: string): Read<MarketRecord> {
  return {
    request: {
      family: 'market',
      address: 'dev',
      method: 'GET',
      path: `/dev/markets/${id}`,
      argument: 'id',
      safe: true,
    },
    market: id,
    parse: body => ({ value: marketRecord.parse(body) }),
  };
}

/** POST {api_url}/markets/{id}/topics, which reads. @param sorted whether by label, ascending. */
export function topicsRead(id: string, sorted: boolean): Read<readonly Topic[]> {
  return {
    request: {
      family: 'topics',
      address: 'api',
      method: 'POST',
      path: `/markets/${id}/topics`,
      body: sorted ? { sorts: { label: 'asc' } } : {},
      argument: 'id',
      safe: true,
    },
    market: id,
    parse: body => ({ value: topics.parse(body) }),
  };
}

/** POST {api_url}/markets/suggest, which reads. */
export function suggestionsRead(keyword: string): Read<readonly string[]> {
  return {
    request: {
      family: 'suggest',
      address: 'api',
      method: 'POST',
      path: '/markets/suggest',
      body: { keyword },
      argument: 'keyword',
      safe: true,
    },
    parse: body => ({ value: suggestions.parse(body) }),
  };
}
