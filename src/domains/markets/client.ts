import { marketTag } from '../../data/cache/keys.js';
import { marketRead, type Read } from '../../data/reader.js';
import { type MarketRecord, type MarketTopic, marketRecord, suggestions, topics } from './model.js';

/** GET {dev_url}/dev/markets/{id}. */
export const marketRecordRead = (id: string): Read<MarketRecord> =>
  marketRead(id, { family: 'market', address: 'dev', path: `/dev/markets/${id}` }, marketRecord);

/** POST {api_url}/markets/{id}/topics, a read. @param sorted whether to sort by label, ascending. */
export function topicsRead(id: string, sorted: boolean): Read<readonly MarketTopic[]> {
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
    tag: () => marketTag(id),
    onlyPublished: true,
    parse: body => ({
      value: topics.parse(body).map(topic => ({
        ...topic,
        marketId: id,
        groups: topic.groups.map(group => ({ ...group, marketId: id })),
      })),
    }),
  };
}

/** POST {api_url}/markets/suggest, a read. */
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
