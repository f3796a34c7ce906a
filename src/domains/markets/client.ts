// The reads of the markets domain.
import { mapPresent } from '../../data/parsing.js';
import { cachedFor, marketRead, ofMarket, type Reader, requestTo, type ServiceEndpoint } from '../../data/reader.js';
import { marketRecord, suggestions, topics } from './model.js';

const recordEndpoint: ServiceEndpoint = {
  ...ofMarket,
  family: 'market',
  version: 1,
  lifetime: cachedFor(60),
  address: 'dev',
  idMember: 'id',
};
const topicsEndpoint: ServiceEndpoint = {
  ...ofMarket,
  family: 'topics',
  version: 1,
  lifetime: cachedFor(300),
  onlyPublished: true,
  address: 'api',
  method: 'POST',
};
const suggestEndpoint: ServiceEndpoint = {
  family: 'suggest',
  version: 1,
  lifetime: cachedFor(60),
  address: 'api',
  method: 'POST',
  argument: 'keyword',
  idMember: undefined,
};

/** The reads of the markets domain for one request. */
export const createMarketsLoaders = (reader: Reader) => ({
  /** GET {dev_url}/dev/markets/{id}. */
  record: (id: string) => reader.read(marketRead(id, recordEndpoint, `/dev/markets/${id}`, marketRecord)),

  /** POST {api_url}/markets/{id}/topics. @param sorted whether to sort by label, ascending. */
  topics: (id: string, sorted: boolean) => {
    const { request, ...rest } = marketRead(id, topicsEndpoint, `/markets/${id}/topics`, topicsOf(id));
    const body = sorted ? { sorts: { label: 'asc' } } : {};
    return reader.read({ ...rest, request: { ...request, body } });
  },

  /** POST {api_url}/markets/suggest. */
  suggestions: (keyword: string) =>
    reader.read({
      request: { ...requestTo(suggestEndpoint, '/markets/suggest'), body: { keyword } },
      parse: body => suggestions.parse(body),
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
