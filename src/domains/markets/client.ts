import { marketTag } from '../../data/cache/keys.js';
import { mapPresent } from '../../data/parsing.js';
import { marketRead, type Reader, type ReadFamily } from '../../data/reader.js';
import { marketRecord, suggestions, topics } from './model.js';

/** A POST that reads, at the markets interface. */
const post = (family: ReadFamily, path: string, body: object, argument: string) =>
  ({ family, address: 'api', method: 'POST', path, body, argument, safe: true }) as const;

/** The reads of the markets domain for one request. */
export const createMarketsLoaders = ({ read }: Reader) => ({
  /** GET {dev_url}/dev/markets/{id}. */
  record: (id: string) =>
    read(marketRead(id, { family: 'market', address: 'dev', path: `/dev/markets/${id}` }, marketRecord)),

  /** POST {api_url}/markets/{id}/topics. @param sorted whether to sort by label, ascending. */
  topics: (id: string, sorted: boolean) =>
    read({
      request: post('topics', `/markets/${id}/topics`, sorted ? { sorts: { label: 'asc' } } : {}, 'id'),
      tag: () => marketTag(id),
      onlyPublished: true,
      parse: body => ({
        value: mapPresent(topics.parse(body), topic => ({
          ...topic,
          marketId: id,
          groups: mapPresent(topic.groups, group => ({ ...group, marketId: id })),
        })),
      }),
    }),

  /** POST {api_url}/markets/suggest. */
  suggestions: (keyword: string) =>
    read({
      request: post('suggest', '/markets/suggest', { keyword }, 'keyword'),
      parse: body => ({ value: suggestions.parse(body) }),
    }),
});
