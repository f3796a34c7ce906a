import type { GraphiqlTab } from './graphiql.js';

/** The queries in the first tabs of GraphiQL. They read market 1 of the sandbox; for another service, change the number. */
export const examples: readonly GraphiqlTab[] = [
  {
    query: `# One query for events with their observations, and a market with its topics, jobs, companies and ESG data.
# Send the header "x-explain: 1" to see in "extensions.explain" which upstream calls it made.
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
    query: `# Events of the highest severity, with any likelihood. The filter is in the variables below.
query Events($filter: EventFilter) {
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
    query: `# A table of companies as a market explorer shows it: a filter, an order, and what the filter menus offer.
query Companies($filter: CompanyFilter, $orderBy: CompanyOrder) {
  market(id: 1) {
    companies(first: 20, filter: $filter, orderBy: $orderBy) {
      totalCount
      nodes { name domain score actualRevenue operatesIn naics { code name } }
      pageInfo { hasNextPage endCursor }
    }
    companyFacets(filter: $filter) {
      operatesIn { value count }
      naics { code name count }
    }
  }
}
`,
    variables:
      '{ "filter": { "actualRevenue": { "min": 1000000 } }, "orderBy": { "field": "SCORE", "direction": "DESC" } }',
  },
  {
    query: `# Turns a question into search criteria for a discovery.
mutation Criteria {
  createSearchCriteria(input: { searchInput: "Who recycles battery metals in Europe?" }) {
    searchCriteria {
      userPrompt marketName marketType marketRole keywords { features user synonyms irrelevant attributes } seedDomains projectKind
      locations { countryCode countryName attributes } count performSearch attributes
    }
  }
}
`,
  },
  {
    query: `# Starts a discovery in market 5, with the criteria in the variables
# below. The tab "Criteria" makes other ones.
mutation Discover($criteria: SearchCriteriaInput!) {
  startDiscovery(input: { marketId: 5, searchCriteria: $criteria }) {
    __typename
    ... on DiscoveryStarted { jobs { workflowName status } }
    ... on DiscoveryAlreadyRunning { jobs { workflowName status progress } }
  }
}
`,
    variables: `{
  "criteria": {
    "userPrompt": "Who recycles battery metals in Europe?",
    "marketName": "Battery Metal Recyclers",
    "marketType": "service",
    "marketRole": "serviceProvider",
    "keywords": { "features": ["battery recycling"], "user": [], "synonyms": [], "irrelevant": [] },
    "seedDomains": [],
    "projectKind": "first_pass",
    "locations": [{ "countryCode": "DE", "countryName": "Germany" }],
    "count": 20,
    "performSearch": true
  }
}`,
  },
  {
    query: `# The progress of the discovery in market 5, until it has ended. The
# tab "Discover" starts one.
subscription Progress {
  jobProgress(marketId: 5) { overallProgress estimatedEndAt finished jobs { workflowName status progress } }
}
`,
  },
  {
    query: `# New and updated events. Copy the cursor of the last message into the variables to continue behind it.
subscription Updates($after: String) {
  eventUpdates(after: $after) { kind cursor gap event { id title lastUpdated severity likelihood } }
}
`,
    variables: '{ "after": null }',
  },
  {
    query: `# Exports the page of companies that the table shows to an endpoint of your team, and waits for the result. Register the endpoint first:
# docs/exports.md has the mutation. "{ exports { nodes { outcome } } }" lists what was sent.
mutation Export($input: ExportMarketToEndpointInput!) {
  exportMarketToEndpoint(input: $input) {
    __typename
    ... on ExportEnding { exportId attempts { status fault milliseconds } }
    ... on ExportDelivered { title messageText redirectUrl }
    ... on ExportRejected { title messageText references { title message type url } }
    ... on ExportFailed { message outcome }
  }
}
`,
    variables: `{
  "input": {
    "marketId": "1",
    "endpoint": "receiver",
    "companies": {
      "visible": {
        "first": 20,
        "filter": { "actualRevenue": { "min": 1000000 } },
        "orderBy": { "field": "SCORE", "direction": "DESC" }
      }
    },
    "onBehalfOf": { "email": "ada@team.example" }
  }
}`,
  },
  {
    query: `# The client that made the request, and what it may do with this gateway.
query Viewer {
  viewer { authentication team email canExport canManageExportEndpoints }
  capabilities { eventSearch keywordSuggestion marketRecords marketData exports }
}
`,
  },
];
