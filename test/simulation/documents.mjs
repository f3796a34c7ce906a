// What clients read, and what the service would have them get: a plain model of the whole answer, from what the service has at a time.
import { names } from './service.mjs';

const titles = events => events.map(({ title }) => ({ title }));
const textOf = (account, { id, version }) => `${account.name} m${id} v${version}`;
const titleOf = account => `${account.name} observation`;
const isoTime = time => new Date(time).toISOString();

/** How many events have each value, the most frequent first. */
const countsOf = (events, valuesOf) => {
  const counts = new Map();
  for (const value of events.flatMap(event => [...new Set(valuesOf(event))]))
    counts.set(value, (counts.get(value) ?? 0) + 1);
  const sorted = [...counts].sort(([one, ofOne], [other, ofOther]) => ofOther - ofOne || (one < other ? -1 : 1));
  return sorted.map(([value, count]) => ({ value, count }));
};
const highest = (event, score) => {
  const scores = event.taxonomicMatches.impactedEntities.flatMap(({ impact }) => impact?.[score] ?? []);
  return scores.length === 0 ? null : Math.max(...scores);
};

/** A filter of a client as the service selects by it. */
const selectionOf = ({ from, to, impactedEntities, alertTypes, affectedDatapoints, ...scores } = {}) => {
  const rangeOf = range => (range === undefined ? [2, 3] : [range?.min ?? 0, range?.max ?? 3]);
  const isDay = text => text?.length === 10;
  return {
    from: from && Date.parse(isDay(from) ? `${from}T00:00:00Z` : from),
    to: to && Date.parse(isDay(to) ? `${to}T23:59:59.999Z` : to),
    entities: impactedEntities?.length ? impactedEntities : undefined,
    alerts: alertTypes?.length ? alertTypes : undefined,
    datapoints: affectedDatapoints?.length ? affectedDatapoints : undefined,
    severity: rangeOf(scores.severity),
    likelihood: rangeOf(scores.likelihood),
  };
};
const selected = (account, filter, at) => account.select(selectionOf(filter), at);

function drawFilter({ pick, below }, others = true) {
  const maybe = values => (below(3) === 0 ? pick(values) : undefined);
  const range = () => maybe([null, { min: 0, max: 3 }, { min: 1 }, { max: 2 }, { min: 3, max: 3 }, { min: 2, max: 3 }]);
  return {
    ...(others && { from: maybe(['2026-05-31', '2026-05-02', '2026-04-01', '2026-06-01T08:30:00Z']) }),
    ...(others && { to: maybe(['2026-06-01', '2026-06-02', '2026-06-01T11:00:00+02:00']) }),
    ...(others && { impactedEntities: maybe([['steel'], ['coal', 'Steel'], ['STEEL WORKS'], ['none'], []]) }),
    alertTypes: maybe([['strike'], ['flood', 'strike'], []]),
    affectedDatapoints: maybe([['price'], ['output', 'none']]),
    severity: range(),
    likelihood: range(),
  };
}

/** The impact on those names that counts, whatever their case. */
function impactOn({ taxonomicMatches: { impactedEntities } }, names = []) {
  const wanted = names.map(name => name.toLowerCase());
  const found = impactedEntities.filter(({ name, impact }) => impact && wanted.includes(name.toLowerCase()));
  const rank = ({ severity, likelihood }) => 4 * (severity ?? -1) + (likelihood ?? -1);
  const [first] = found.map(({ impact }) => impact).sort((one, other) => rank(other) - rank(one));
  return first ? { severity: first.severity, likelihood: first.likelihood } : null;
}

const eventFields = `id title lastUpdated severity likelihood references { url } alertTypes { name similarity }
  impactedEntities { name impact { severity likelihood rationale } } vectorIndex { embeddings }`;
const eventShown = event => {
  const { _id: id, title, lastUpdated, references, vectorIndex, taxonomicMatches } = event;
  const scores = { severity: highest(event, 'severity'), likelihood: highest(event, 'likelihood') };
  return {
    ...{ id, title, lastUpdated, ...scores },
    references: references.map(({ url }) => ({ url: url?.startsWith('http') ? url : null })),
    alertTypes: taxonomicMatches.alertTypes,
    impactedEntities: taxonomicMatches.impactedEntities,
    vectorIndex: vectorIndex && { embeddings: vectorIndex.embeddings },
  };
};

/** An event found by its identifier among those of a range; null if it is not there; undefined if there are too many to read them all. */
function eventIn(account, from, { id, limit }, at) {
  const all = account.select({ from: Date.parse(from), severity: [0, 3], likelihood: [0, 3] }, at);
  return all.length > limit ? undefined : (all.find(({ _id }) => _id === id) ?? null);
}
/** Thirty days before today. */
const searchedFrom = '2026-05-02';

const dayMs = 86_400_000;
const lengths = { HOUR: dayMs / 24, DAY: dayMs, WEEK: 7 * dayMs, MONTH: 31 * dayMs };
const startOf = {
  HOUR: time => time - (time % lengths.HOUR),
  DAY: time => time - (time % dayMs),
  WEEK: time => time - ((time - 4 * dayMs) % lengths.WEEK),
  MONTH: time => Date.parse(`${isoTime(time).slice(0, 7)}-01T00:00:00Z`),
};

function statisticsOf(events, interval, total) {
  const facet = member =>
    countsOf(events, event => (event.taxonomicMatches[member] ?? event[member]).map(({ name }) => name));
  const scores = countsOf(events, ({ taxonomicMatches: { impactedEntities } }) =>
    impactedEntities.flatMap(({ impact }) =>
      typeof impact?.severity === 'number' && impact.likelihood !== null ? 4 * impact.severity + impact.likelihood : [],
    ),
  );
  const startOfEvent = ({ lastUpdated }) => startOf[interval](Date.parse(lastUpdated));
  const all = events.map(startOfEvent);
  const buckets = [];
  for (let start = Math.min(...all); start <= Math.max(...all); start = startOf[interval](start + lengths[interval])) {
    const within = events.filter(event => startOfEvent(event) === start);
    const counts = countsOf(within, event => [highest(event, 'severity')]);
    const bySeverity = counts.sort((one, other) => (other.value ?? -1) - (one.value ?? -1));
    buckets.push({
      start: isoTime(start),
      count: within.length,
      bySeverity: bySeverity.map(({ value, count }) => ({ severity: value, count })),
    });
  }
  return {
    total,
    counted: events.length,
    buckets,
    scores: scores
      .sort((one, other) => other.value - one.value)
      .map(({ value, count }) => ({ severity: Math.floor(value / 4), likelihood: value % 4, count })),
    alertTypes: facet('alertTypes'),
    affectedDatapoints: facet('affectedDatapoints'),
    impactedEntities: facet('impactedEntities'),
    relevantEntities: facet('relevantEntities'),
  };
}

/** The query; its variables by chance, perhaps with what is known of the service when it is asked; and the answer by what the service had at a time. It
 * may be of several calls, which may be of several times, or of the market as it is now. */
export const documents = {
  name: {
    query: 'query ($market: ID!) { market(id: $market) { name } }',
    isCached: true,
    isOfMarket: true,
    expected: (account, _, __, market) => ({ market: { name: textOf(account, market) } }),
  },
  all: {
    query:
      'query ($market: ID!) { market(id: $market) { name companies(first: 1) { nodes { description } } topics { label } jobs { workflowName } } }',
    isOfMarket: true,
    expected: (account, _, __, market) => ({
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
    isOfMarket: true,
    expected: (account, _, __, market) => ({
      market: {
        esg: { note: textOf(account, market) },
        searchCriteria: { userPrompt: textOf(account, market) },
        searchCriteriaHistory: [{ userPrompt: textOf(account, market) }],
      },
    }),
  },
  events: {
    query: `query ($size: Int!, $page: Int!, $filter: EventFilter) { events(first: $size, page: $page, filter: $filter) { totalCount unfilteredTotalCount
      edges { impact { severity likelihood } node { title references { observation { title } } } } } }`,
    draw: chance => ({ size: chance.pick([1, 3, 100]), page: 1 + chance.below(3), filter: drawFilter(chance) }),
    expected(account, { size, page, filter }, at) {
      const events = selected(account, filter, at);
      const edges = events.slice(size * (page - 1), size * page).map(event => ({
        impact: impactOn(event, filter.impactedEntities),
        node: { title: event.title, references: [{ observation: { title: titleOf(account) } }] },
      }));
      const unfilteredTotalCount = account.updates.filter(update => update.at <= at).length;
      return { events: { totalCount: events.length, unfilteredTotalCount, edges } };
    },
  },
  /** The client goes on with the cursor that it got, in either direction. */
  pages: {
    query: `query ($first: Int, $after: String, $last: Int, $before: String) { events(first: $first, after: $after, last: $last, before: $before) {
      totalCount nodes { title } pageInfo { hasNextPage hasPreviousPage } edges { cursor } } }`,
    draw: ({ pick }) => ({ [pick(['first', 'last'])]: pick([1, 7, 40, 70, 100]) }),
    isMixed: true,
    next({ first, last, start = 0, end }, { edges, totalCount }) {
      if (edges.length === 0) return undefined;
      return last
        ? { last, before: edges[0].cursor, end: (end ?? totalCount) - edges.length }
        : { first, after: edges.at(-1).cursor, start: start + first };
    },
    expected(account, { first, last, start = 0, end }, at, _, body) {
      const events = selected(account, {}, at);
      const total = events.length;
      const to = Math.min(end ?? total, last ? total : start + first, total);
      const from = Math.min(last ? Math.max(0, to - last) : start, to);
      const pageInfo = { hasNextPage: from < to && to < total, hasPreviousPage: from > 0 && !(last && from === to) };
      const nodes = titles(events.slice(from, to));
      return { events: { totalCount: total, nodes, pageInfo, edges: body?.data?.events?.edges } };
    },
  },
  eventFields: {
    query: `query ($size: Int!) { events(first: $size, filter: { severity: null, likelihood: { min: 0 } }) { nodes { ${eventFields} } } }`,
    draw: ({ pick }) => ({ size: pick([1, 10]) }),
    expected: (account, { size }, at) => ({
      events: { nodes: selected(account, { severity: null, likelihood: null }, at).slice(0, size).map(eventShown) },
    }),
  },
  lastEvents: {
    query:
      'query ($size: Int!, $filter: EventFilter) { events(last: $size, filter: $filter) { nodes { title vectorIndex { embeddings } } } }',
    draw: chance => ({ size: chance.pick([1, 3, 100]), filter: drawFilter(chance) }),
    isMixed: true,
    expected: (account, { size, filter }, at) => ({
      events: {
        nodes: selected(account, filter, at)
          .slice(-size)
          .map(({ title, vectorIndex }) => ({
            title,
            vectorIndex: vectorIndex && { embeddings: vectorIndex.embeddings },
          })),
      },
    }),
  },
  event: {
    query: `query ($id: ID!) { event(id: $id) { ${eventFields} } }`,
    draw: ({ below }) => ({ number: below(1_000) }),
    known: ({ number }, { events }) => ({ id: [...events.keys()][number % (events.size + 1)] ?? 'none' }),
    isMixed: true,
    refused: (account, variables, at) =>
      eventIn(account, searchedFrom, variables, at) === null && [['event', 'NOT_FOUND']],
    expected(account, variables, at) {
      const event = eventIn(account, searchedFrom, variables, at);
      return event === undefined ? undefined : { event: event && eventShown(event) };
    },
  },
  /** An event as an earlier list has named it, which may have changed since. */
  node: {
    query: 'query ($nodeId: ID!) { node(nodeId: $nodeId) { ... on Event { title } } }',
    draw: ({ below }) => ({ number: below(1_000) }),
    known({ number }, { updates }) {
      const { id = 'none', lastUpdated: since = '2026-06-01T00:00:00.000Z' } = updates[number % updates.length] ?? {};
      return { id, since, nodeId: Buffer.from(JSON.stringify(['Event', id, since])).toString('base64url') };
    },
    isMixed: true,
    refused: (account, variables, at) =>
      eventIn(account, variables.since, variables, at) === null && [['node', 'NOT_FOUND']],
    expected(account, variables, at) {
      const event = eventIn(account, variables.since, variables, at);
      return event === undefined ? undefined : { node: event && { title: event.title } };
    },
  },
  statistics: {
    query: `query ($filter: EventFilter, $interval: EventInterval!) { eventStatistics(filter: $filter, interval: $interval) { total counted
      buckets { start count bySeverity { severity count } } scores { severity likelihood count } alertTypes { value count }
      affectedDatapoints { value count } impactedEntities { value count } relevantEntities { value count } } }`,
    draw: chance => ({ filter: drawFilter(chance), interval: chance.pick(['HOUR', 'DAY', 'WEEK', 'MONTH']) }),
    isMixed: true,
    refused: (_, variables) => isTooLong(variables) && [['eventStatistics', 'BAD_USER_INPUT', 'interval']],
    expected(account, { filter, interval, limit }, at, _, body) {
      if (isTooLong({ filter, interval })) return { eventStatistics: null };
      const events = selected(account, filter, at).sort((one, other) => (one.lastUpdated < other.lastUpdated ? 1 : -1));
      const counted = body?.data?.eventStatistics?.counted;
      // Of too many, the newest are counted.
      const timeOf = index => Date.parse(events[index].lastUpdated);
      // Unless very many have the same time.
      const isMost = () => counted > limit / 2 || timeOf(counted) - timeOf(limit) < 1_000;
      const isEnough = events.length > limit && counted <= limit && isMost();
      return { eventStatistics: statisticsOf(isEnough ? events.slice(0, counted) : events, interval, events.length) };
    },
  },
  viewer: {
    query: '{ viewer { authentication email canExport canManageExportEndpoints } }',
    expected: () => ({
      viewer: { authentication: 'API_KEY', email: null, canExport: true, canManageExportEndpoints: true },
    }),
  },
  embed: {
    query: 'mutation { createEmbedSession { session { idToken accessToken refreshToken checksum expiresIn } } }',
    refused: ({ name }) => name === 'u' && [['createEmbedSession', 'FORBIDDEN']],
    expected: ({ name }) => {
      const session = { idToken: 'i', accessToken: `${name}-session`, refreshToken: 'r', checksum: 'c', expiresIn: 60 };
      return { createEmbedSession: { session } };
    },
  },
  observations: {
    query: '{ observations(ids: ["o-1", "o-2", "o-1"]) { id title textEmbedding } observation(id: "o-3") { title } }',
    isCached: true,
    expected: account => {
      const title = titleOf(account);
      const observations = ['o-1', 'o-2', 'o-1'].map(id => ({ id, title, textEmbedding: [1.5, id.length] }));
      return { observations, observation: { title } };
    },
  },
  /** Of several companies in one request, for one of which the service cannot search. */
  companyEvents: {
    query: `query ($market: ID!, $count: Int!, $size: Int!, $filter: EventFilter) { market(id: $market) { companies(first: $count) { totalCount
      nodes { name events(first: $size, filter: $filter) { totalCount edges { impact { severity likelihood } node { title } } } } } } }`,
    draw: ({ below, pick }) => {
      return { count: 1 + below(names.length), size: pick([1, 3, 30]), filter: drawFilter({ below, pick }, false) };
    },
    isMixed: true,
    refused: (_, { count }) =>
      count === names.length && [[`market.companies.nodes.${count - 1}.events`, 'NOT_QUERYABLE']],
    expected(account, { count, size, filter }, at) {
      const eventsOf = name => {
        const events = selected(account, { ...filter, impactedEntities: [name] }, at);
        const edges = events
          .slice(0, size)
          .map(event => ({ impact: impactOn(event, [name]), node: { title: event.title } }));
        return { totalCount: events.length, edges };
      };
      const nodes = names.map(name => ({ name, events: name.includes(',') ? null : eventsOf(name) }));
      return { market: { companies: { totalCount: names.length, nodes: nodes.slice(0, count) } } };
    },
  },
};

/** Two months have more than a thousand hours. */
const isTooLong = ({ filter, interval }) => interval === 'HOUR' && filter.from === '2026-04-01';

/** What is refused, each field alone: by what its error names, an argument that is invalid or a code. The text of a field lacks what it selects. */
const a = length => `"${'a'.repeat(length)}"`;
const refusals = {
  query: `
    first: events(first: 0); events(first: 101); eventChanges(first: 1001); exports(first: 101)
    last: events(first: 1, last: 1)
    page: events(page: 0); events(page: 1, last: 1); events(page: 1, after: "x"); events(page: 1, before: "x"); events(page: 10000001, first: 100)
    after: events(after: "x"); eventChanges(after: "x"); exports(after: "x")
    id: event(id: ""); event(id: ${a(256)}); observation(id: "")
    nodeId: node(nodeId: "x")
    interval: eventStatistics(filter: { from: "2020-01-01" })
    filter: events(filter: { affectedDatapoints: [${`${a(250)}, `.repeat(30)}] })
    filter.from: events(filter: { from: "2026-02-30" }); events(filter: { from: "2026-06-02", to: "2026-06-01" }); eventChanges(filter: { from: "2026-06-01" })
    filter.to: events(filter: { to: "yesterday" }); eventChanges(filter: { to: "2026-06-01" })
    filter.severity.min: events(filter: { severity: { min: 4 } })
    filter.severity.max: events(filter: { severity: { max: -1 } })
    filter.likelihood.min: events(filter: { likelihood: { min: 3, max: 2 } })
    filter.alertTypes.1: events(filter: { alertTypes: ["a", "b,c"] })
    filter.impactedEntities.0: events(filter: { impactedEntities: [""] }); events(filter: { impactedEntities: [${a(256)}] })
    filter.search: events(filter: { search: "a\\nb" })
    filter.endpoint: exports(filter: { endpoint: "" })
    filter.marketId: exports(filter: { marketId: "x" })
    by.idempotencyKey: export(by: { idempotencyKey: "" })
    NOT_CONFIGURED: events(filter: { search: "a" })
    NOT_FOUND: event(id: "none")`,
  mutation: `
    input.email: signIn(email: "", password: "p")
    input.password: signIn(email: "u@b.test", password: ""); signIn(email: "u@b.test", password: ${a(1_025)})
    input.endpoint: rotateExportEndpointSecret(endpoint: ""); deleteExportEndpoint(endpoint: ""); testExportEndpoint(endpoint: ""); updateExportEndpoint(endpoint: "")
    NOT_FOUND/input.endpoint: rotateExportEndpointSecret(endpoint: "n"); deleteExportEndpoint(endpoint: "n"); testExportEndpoint(endpoint: "n"); updateExportEndpoint(endpoint: "n")
    input.description: updateExportEndpoint(endpoint: "n", description: "a\\nb"); registerExportEndpoint(url: "http://a.test", name: "n", description: "")
    input.name: registerExportEndpoint(url: "http://a.test", description: "d", name: "")
    NOT_FOUND/input.exportId: retryExport(exportId: "none")
    NOT_FOUND/input.endpoint: exportMarketToEndpoint(endpoint: "none", companies: { matching: {} }, marketId: 1)
    input.exportId: retryExport(exportId: "")
    input.idempotencyKey: retryExport(exportId: "x", idempotencyKey: ""); exportMarketToEndpoint(endpoint: "crm", companies: { matching: {} }, marketId: 1, idempotencyKey: "")
    input.marketId: exportMarketToEndpoint(endpoint: "crm", companies: { matching: {} }, marketId: "x")
    input.endpoint: exportMarketToEndpoint(endpoint: "", companies: { matching: {} }, marketId: 1)
    input.onBehalfOf.name: exportMarketToEndpoint(endpoint: "crm", companies: { matching: {} }, marketId: 1, onBehalfOf: { name: "" })
    input.onBehalfOf.email: exportMarketToEndpoint(endpoint: "crm", companies: { matching: {} }, marketId: 1, onBehalfOf: { email: "" })
    input.url: ${['ftp://a.test', 'http://u:p@a.test', 'http://a.test/#f', 'http://{user.name}.test', 'http://a.test/{x}'].map(withUrl).join('; ')}
    input.url: ${['localhost', '127.0.0.1', '[::1]', '169.254.169.254', '[64:ff9b::a00:1]', 'inside.test'].map(host => withUrl(`http://${host}/`)).join('; ')}
    input.headers.0.name: ${['', 'webhook-id', 'a b', 'a'.repeat(256)].map(name => withHeaders(`{ name: "${name}", value: "v" }`)).join('; ')}
    input.headers.0.value: ${withHeaders('{ name: "a", value: "" }')}
    input.headers.1.name: ${withHeaders('{ name: "a", value: "v" }, { name: "A", value: "v" }')}
    input.headers: ${withHeaders(`{ name: "a", value: ${a(4_000)} }, `.repeat(9))}`,
};
function withUrl(url) {
  return `registerExportEndpoint(name: "n", description: "d", url: "${url}")`;
}
function withHeaders(headers) {
  return `registerExportEndpoint(name: "n", description: "d", url: "http://a.test", headers: [${headers}])`;
}
const selects = {
  eventStatistics: 'total',
  eventChanges: 'cursor',
  signIn: 'viewer { email }',
  rotateExportEndpointSecret: 'signingSecret',
};
const selectionOfField = field =>
  selects[field] ??
  (/^(events|exports)$/.test(field)
    ? 'totalCount'
    : /^(register|update|delete)/.test(field)
      ? 'endpoint { name }'
      : '__typename');
for (const [kind, text] of Object.entries(refusals)) {
  const all = text
    .trim()
    .split('\n')
    .flatMap(line => {
      const [, what, fields] = /^\s*(\S+): (.*)$/.exec(line);
      return fields.split('; ').map(field => ({ what, field }));
    });
  const some = ({ from }) =>
    Array.from({ length: 8 }, (_, index) => ({ name: `r${index}`, ...all[(from + index) % all.length] }));
  const textOfField = ({ name, field }) => {
    const [, called, args] = /^(\w+)\((.*)\)$/.exec(field);
    return `${name}: ${called}(${kind === 'mutation' ? `input: { ${args} }` : args}) { ${selectionOfField(called)} }`;
  };
  documents[`refused ${kind}`] = {
    query: variables => `${kind} { ${some(variables).map(textOfField).join(' ')} }`,
    draw: ({ below }) => ({ from: below(all.length) }),
    refused: (_, variables) =>
      some(variables).map(({ name, what }) =>
        /^[A-Z]/.test(what) ? [name, ...what.split('/')] : [name, 'BAD_USER_INPUT', what],
      ),
    expected: (_, variables) => Object.fromEntries(some(variables).map(({ name }) => [name, null])),
  };
}
