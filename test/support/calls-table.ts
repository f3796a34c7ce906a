import { companyListId } from '../../src/domains/companies/client.js';
import { itemCursor, type ListId, listId } from '../../src/graphql/connection.js';
import { nodeId } from '../../src/graphql/node.js';
import type { Sandbox } from '../../src/sandbox/server.js';

/** How often each call is made: `GET /v2/markets/{id}/esg` to a number. */
export type Tally = Readonly<Record<string, number>>;

/** One query and what it costs upstream. */
export interface CallsRow {
  /** What is asked, in a few words. */
  readonly what: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** How many clients send it at the same moment; 1 where it is left out. */
  readonly clients?: number;
  /** Brings the sandbox into the state that the row speaks of. */
  readonly given?: (sandbox: Sandbox) => void;
  /** The code of the error that comes back. */
  readonly code?: string;
  /** The calls of the first time. The second time, right after, makes none. */
  readonly calls: Tally;
}

/** The events that match a search; all events without one. */
export const eventsWith = (search?: string) =>
  listId('events', new URLSearchParams(search === undefined ? {} : { search }).toString());

/** The cursor of the item at a place in a list, from 0. */
export const cursorOf = (index: number, list: ListId = eventsWith()) => itemCursor(list, index);

/** One query across all six types. */
export const flagship = `{
  events(first: 5) {
    totalCount
    nodes { title affectedDatapoints { name direction } references { observation { title publishedAt } } }
  }
  market(id: 1) {
    name
    topics(orderBy: { field: LABEL }) { label groups { label } }
    companies(first: 3) { totalCount nodes { name esg events(first: 2) { totalCount nodes { title } } } }
  }
}`;

const record = 'GET /dev/markets/{id}';
const companies = 'GET /v2/markets/{id}/companies';
const esg = 'GET /v2/markets/{id}/esg';
const topics = 'POST /markets/{id}/topics';
const events = 'GET /v2/events-monitor/events';
const observation = 'GET /v2/events-monitor/observation/{id}';

const flagshipCalls = { [events]: 4, [observation]: 20, [record]: 1, [topics]: 1, [companies]: 1, [esg]: 1 };

/** 100 events, the newest there are, with 4 references each to 250 observations. */
function publishEntangledEvents({ data, publishEvent }: Sandbox): void {
  for (let index = 0; index < 100; index += 1) {
    const references = [0, 1, 2, 3].flatMap(step => data.observations[(index * 4 + step) % 250] ?? []);
    publishEvent({ references: references.map(({ _id, title }) => ({ _id, title })) });
  }
}

/** What queries cost upstream, at the sandbox as it is at noon of a day. docs/cost.md shows it. */
export const callsTable: readonly CallsRow[] = [
  { what: 'Who am I: `viewer`', query: '{ viewer { authentication team } }', calls: {} },
  { what: 'What this gateway can do: `capabilities`', query: '{ capabilities { exports } }', calls: {} },
  { what: 'The watches of a client: `watches`', query: '{ watches { id until cursor } }', calls: {} },
  { what: 'A market alone: `market(id: 1) { id }`', query: '{ market(id: 1) { id } }', calls: {} },
  {
    what: 'All fields of its record',
    query:
      '{ market(id: 1) { name subtitle description dateCreated companyCount headerImageUrl reviewStatus } again: market(id: 1) { name } }',
    calls: { [record]: 1 },
  },
  {
    what: 'The records of three markets: `markets(ids:)`',
    query: '{ markets(ids: [1, 2, 3]) { name } again: market(id: 1) { name } }',
    calls: { [record]: 3 },
  },
  {
    what: 'Markets by their node ids: `nodes(nodeIds:)`',
    query: 'query ($ids: [ID!]!) { nodes(nodeIds: $ids) { nodeId ... on Market { name reviewStatus } } }',
    variables: { ids: ['1', '2', '1'].map(id => nodeId('Market', [id])) },
    calls: { [record]: 2 },
  },
  {
    what: 'Two pages of its companies, a filtered one, and one company by its domain',
    query: `{ market(id: 1) {
      companies(first: 20) { totalCount nodes { name } }
      second: companies(first: 20, after: "${cursorOf(19, companyListId('1', {}))}") { nodes { name } }
      found: companies(filter: { search: "energy" }) { totalCount }
      company(domain: "lorpex-automation.example.org") { name naics { code } }
    } }`,
    calls: { [companies]: 1 },
  },
  {
    what: 'A sorted, filtered page of its companies, the last page, and facets',
    query: `{ market(id: 1) {
      companies(first: 20, filter: { actualRevenue: { min: 1000000 } }, orderBy: { field: SCORE, direction: DESC }) {
        totalCount nodes { id score market { id } }
      }
      end: companies(last: 20, orderBy: { field: NAME }) { nodes { name } }
      companyFacets { operatesIn { value count } naics { code name count } score { min max buckets { start end count } } }
    } }`,
    calls: { [companies]: 1 },
  },
  {
    what: 'ESG of the market',
    query: '{ market(id: 1) { esg } }',
    calls: { [esg]: 1 },
  },
  {
    what: 'ESG of the market and of 100 of its companies',
    query: '{ market(id: 1) { esg companies(first: 100) { nodes { name esg } } } }',
    calls: { [companies]: 1, [esg]: 1 },
  },
  {
    what: 'Topics and their groups',
    query: '{ market(id: 1) { topics(orderBy: { field: LABEL }) { label groups { label } } } }',
    calls: { [topics]: 1 },
  },
  {
    what: 'Jobs of both phases',
    query: '{ market(id: 1) { jobs { completion finished } publish: jobs(phase: PUBLISH) { progress completion } } }',
    calls: { 'GET /v2/discovery/{id}/jobs': 1, 'GET /v2/markets/{id}/jobs': 1 },
  },
  {
    what: 'Search criteria and their history',
    query: '{ market(id: 1) { searchCriteria { userPrompt } searchCriteriaHistory { userPrompt } } }',
    calls: { 'GET /v2/discovery/{id}/search-criteria': 1, 'GET /v2/discovery/{id}/search-criteria/history': 1 },
  },
  {
    what: 'Names of markets for a keyword',
    query: '{ suggestMarkets(keyword: "industrial") }',
    calls: { 'POST /markets/suggest': 1 },
  },
  {
    what: 'Ten events: `events(first: 10)`',
    query: '{ events(first: 10) { totalCount nodes { title } } }',
    calls: { [events]: 1 },
  },
  {
    what: 'Ten events, and the cursor behind which their updates begin: `updatesCursor`',
    query: '{ events(first: 10) { totalCount updatesCursor nodes { title } } }',
    calls: { [events]: 2 },
  },
  {
    what: 'Ten events after the seventh: one larger page holds them',
    query: `{ events(first: 10, after: "${cursorOf(6)}") { nodes { title } } }`,
    calls: { [events]: 1 },
  },
  {
    what: 'Sixty events after the fiftieth: no page holds them',
    query: `{ events(first: 60, after: "${cursorOf(49)}") { nodes { title } } }`,
    calls: { [events]: 2 },
  },
  {
    what: 'The fourth page of ten events: `events(first: 10, page: 4)`',
    query: '{ events(first: 10, page: 4) { nodes { title } } }',
    calls: { [events]: 1 },
  },
  {
    what: 'The last ten events: the length of the list first',
    query: '{ events(last: 10) { nodes { title } } }',
    calls: { [events]: 2 },
  },
  {
    what: 'Ten events before the fiftieth',
    query: `{ events(last: 10, before: "${cursorOf(49)}") { nodes { title } } }`,
    calls: { [events]: 1 },
  },
  {
    what: 'Statistics of the events of two days: 100 events to a call',
    query: '{ eventStatistics { total buckets { start count } } }',
    calls: { [events]: 2 },
  },
  {
    what: 'The same events under two aliases',
    query: '{ a: events(first: 10) { totalCount } b: events(first: 10) { nodes { title } } }',
    calls: { [events]: 1 },
  },
  {
    what: 'Events under two filters',
    query:
      '{ up: events(filter: { severity: { min: 3 } }) { totalCount } all: events(filter: { severity: null }) { totalCount } }',
    calls: { [events]: 2 },
  },
  {
    what: 'An observation that does not exist',
    query: '{ observation(id: "nobody") { title } }',
    code: 'NOT_FOUND',
    calls: { [observation]: 1 },
  },
  {
    what: '100 events with 400 references to 250 observations',
    query: '{ events(first: 100) { nodes { title references { observation { title } } } } }',
    given: publishEntangledEvents,
    calls: { [events]: 1, [observation]: 250 },
  },
  {
    what: 'The events of 100 companies',
    query:
      '{ market(id: 1) { companies(first: 100, filter: { search: "GmbH" }) { nodes { name events(first: 5) { totalCount nodes { title } } } } } }',
    calls: { [companies]: 1, [events]: 2 },
  },
  { what: 'One query across all six types', query: flagship, calls: flagshipCalls },
  { what: 'The same from 64 clients at once', query: flagship, clients: 64, calls: flagshipCalls },
];

/** The table as Markdown, for docs/cost.md. */
export function callsTableAsMarkdown(): string {
  const cell = (counts: Tally) =>
    Object.entries(counts)
      .map(([call, times]) => (times === 1 ? `\`${call}\`` : `${times} × \`${call}\``))
      .join('<br>') || 'none';
  return [
    '| Query | Upstream calls |',
    '|---|---|',
    ...callsTable.map(({ what, calls }) => `| ${what} | ${cell(calls)} |`),
  ].join('\n');
}
