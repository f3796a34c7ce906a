import type { GraphiqlTab } from './graphiql.js';

/** The queries that stand ready in GraphiQL. They read the sandbox's market 1; with another service, change the number. */
export const examples: readonly GraphiqlTab[] = [
  {
    query: `# Events, the observations behind them, a market, its companies, ESG and topics, in one query.
# The answer's "extensions.explain" lists what it cost upstream (header x-explain).
query Everything {
  events(first: 5) {
    totalCount
    nodes {
      title
      lastUpdated
      impactedEntities { name impact { likelihood severity } }
      references { observation { title publishedAt url } }
    }
    pageInfo { hasNextPage endCursor }
  }
  market(id: 1) {
    name
    reviewStatus
    topics(sort: LABEL_ASC) { label groups { label } }
    jobs(phase: PUBLISH) { workflowName progress finished }
    companies(first: 3) {
      totalCount
      nodes { name domain operatesIn esg events(first: 2) { totalCount nodes { title } } }
    }
  }
}
`,
  },
  {
    query: `query EventsByFilter($filter: EventFilter) {
  events(first: 20, filter: $filter) {
    totalCount
    unfilteredTotalCount
    nodes { id title summary affectedDatapoints { name direction quantity { operator values unit } } }
  }
}
`,
    variables: '{ "filter": { "minSeverity": 3, "minLikelihood": null } }',
  },
  {
    query: `query WhoAmI {
  viewer { authentication team email }
}
`,
  },
];
