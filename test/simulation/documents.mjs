// What clients read, and what the service would have them get: `expected` is the right answer when nothing has changed for a while.

const eventsOf = ({ events, order }) =>
  order([...events.values()].sort((one, other) => (one.lastUpdated < other.lastUpdated ? -1 : 1)));
const titles = events => events.map(({ title }) => ({ title }));
const textOf = (account, { id, version }) => `${account.name} m${id} v${version}`;

/** The query; its variables by a step; whether it is about a market; and the answer. */
export const documents = {
  name: {
    query: 'query ($market: ID!) { market(id: $market) { name } }',
    isCached: true,
    expected: (account, market) => ({ market: { name: textOf(account, market) } }),
  },
  all: {
    query:
      'query ($market: ID!) { market(id: $market) { name companies(first: 1) { nodes { description } } topics { label } jobs { workflowName } } }',
    expected: (account, market) => ({
      market: {
        name: textOf(account, market),
        companies: { nodes: [{ description: textOf(account, market) }] },
        topics: [{ label: textOf(account, market) }],
        jobs: market.jobs.discovery.map(({ name }) => ({ workflowName: name })),
      },
    }),
  },
  deferred: {
    query:
      'query ($market: ID!) { market(id: $market) { name ... @defer { topics { label } companies(first: 1) { nodes { description } } } } }',
    accept: 'multipart/mixed; incrementalSpec=v0.2',
  },
  criteria: {
    query:
      'query ($market: ID!) { market(id: $market) { esg searchCriteria { userPrompt } searchCriteriaHistory { userPrompt } } }',
    isCached: true,
    expected: (account, market) => ({
      market: {
        esg: { note: textOf(account, market) },
        searchCriteria: { userPrompt: textOf(account, market) },
        searchCriteriaHistory: [{ userPrompt: textOf(account, market) }],
      },
    }),
  },
  events: {
    query:
      'query ($size: Int!, $page: Int!) { events(first: $size, page: $page) { totalCount unfilteredTotalCount nodes { title references { observation { title } } } } }',
    expected: (account, _, { size, page }) => ({
      events: {
        totalCount: account.events.size,
        unfilteredTotalCount: account.updates.length,
        nodes: eventsOf(account)
          .slice(size * (page - 1), size * page)
          .map(({ title }) => ({ title, references: [{ observation: { title: `${account.name} observation` } }] })),
      },
    }),
  },
  filtered: {
    query:
      'query ($size: Int!) { events(first: $size, filter: { impactedEntities: ["coal"], alertTypes: [] }) { totalCount nodes { title } } }',
    expected: (account, _, { size }) => ({
      events: { totalCount: ofEntity(account, 'coal').length, nodes: titles(ofEntity(account, 'coal').slice(0, size)) },
    }),
  },
  lastEvents: {
    query: 'query ($size: Int!) { events(last: $size) { nodes { title vectorIndex { embeddings } } } }',
    expected: (account, _, { size }) => ({
      events: {
        nodes: eventsOf(account)
          .slice(-size)
          .map(({ title, vectorIndex }) => ({ title, vectorIndex: { embeddings: vectorIndex.embeddings } })),
      },
    }),
  },
  statistics: {
    query:
      '{ eventStatistics(interval: MONTH) { total counted buckets { count bySeverity { severity count } } scores { severity likelihood count } impactedEntities { value count } } }',
    expected(account) {
      const total = account.events.size;
      // Above the lower limit, the newest are counted.
      if (total > 100) return undefined;
      const entities = ['steel', 'coal'].map(value => ({ value, count: ofEntity(account, value).length }));
      const sorted = entities.sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
      return {
        eventStatistics: {
          total,
          counted: total,
          buckets: total === 0 ? [] : [{ count: total, bySeverity: [{ severity: 3, count: total }] }],
          scores: total === 0 ? [] : [{ severity: 3, likelihood: 2, count: total }],
          impactedEntities: sorted.filter(({ count }) => count > 0),
        },
      };
    },
  },
  observations: {
    query: '{ observations(ids: ["o-1", "o-2", "o-1"]) { id title textEmbedding } observation(id: "o-3") { title } }',
    isCached: true,
    expected: account => {
      const title = `${account.name} observation`;
      const observations = ['o-1', 'o-2', 'o-1'].map(id => ({ id, title, textEmbedding: [1.5, id.length] }));
      return { observations, observation: { title } };
    },
  },
  companyEvents: {
    query:
      'query ($market: ID!) { market(id: $market) { companies(first: 2) { totalCount nodes { name events(first: 3) { totalCount nodes { title } } } } } }',
    expected: account => ({
      market: {
        companies: {
          totalCount: 2,
          nodes: ['steel', 'coal'].map(name => ({
            name,
            events: { totalCount: ofEntity(account, name).length, nodes: titles(ofEntity(account, name).slice(0, 3)) },
          })),
        },
      },
    }),
  },
};

const ofEntity = (account, name) =>
  eventsOf(account).filter(event => event.taxonomicMatches.impactedEntities.some(entity => entity.name === name));
