import { mapPresent } from '../../data/parsing.js';
import { marketRead, type Reader } from '../../data/reader.js';
import { marketRecord, suggestions, topics } from './model.js';

/** How the markets interface is read. */
const post = { address: 'api', method: 'POST' } as const;

/** The reads of the markets domain for one request. */
export const createMarketsLoaders = ({ read }: Reader) => ({
  /** GET {dev_url}/dev/markets/{id}. */
  record: (id: string) =>
    read(
      marketRead(
        id,
        { family: 'market', address: 'dev', path: `/dev/markets/${id}`, record: { id, member: 'id' } },
        marketRecord,
      ),
    ),

  /** POST {api_url}/markets/{id}/topics. @param sorted whether to sort by label, ascending. */
  topics: (id: string, sorted: boolean) => {
    const body = sorted ? { sorts: { label: 'asc' } } : {};
    return read({
      ...marketRead(id, { family: 'topics', ...post, path: `/markets/${id}/topics`, body }, topicsOf(id)),
      onlyPublished: true,
    });
  },

  /** POST {api_url}/markets/suggest. */
  suggestions: (keyword: string) =>
    read({
      request: {
        ...{ family: 'suggest', ...post, path: '/markets/suggest', body: { keyword } },
        ...{ argument: 'keyword', record: undefined, safe: true },
      },
      parse: body => ({ value: suggestions.parse(body) }),
    }),
});

const topicsOf = (marketId: string) =>
  topics.transform(list =>
    mapPresent(list, topic => ({
      ...topic,
      marketId,
      groups: mapPresent(topic.groups, group => ({ ...group, marketId })),
    })),
  );
