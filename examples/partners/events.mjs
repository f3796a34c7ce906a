const query = `
  query Events($after: String, $filter: EventFilter) {
    events(first: 50, after: $after, filter: $filter) {
      totalCount
      unfilteredTotalCount
      nodes { id title impactedEntities { name impact { likelihood severity } } }
      pageInfo { hasNextPage endCursor }
    }
  }
`;

async function ask(variables) {
  const response = await fetch(`${process.env.GATEWAY}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': process.env.API_KEY },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors = [] } = await response.json();
  if (errors.length > 0)
    throw new Error(errors.map(({ message, extensions }) => `${extensions.code}: ${message}`).join('; '));
  return data.events;
}

// Of the last 30 days, with any score: what is left out here has a default of the service.
const from = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
const filter = { from, severity: null, likelihood: null };
let after = null;
const seen = new Map();
const totals = new Set();
let unfiltered;
do {
  const { totalCount, unfilteredTotalCount, nodes, pageInfo } = await ask({ after, filter });
  for (const event of nodes) seen.set(event.id, event.title);
  totals.add(totalCount);
  unfiltered = unfilteredTotalCount;
  after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
} while (after !== null);
// While the list changes, pages may repeat or skip an event. Each says how many there are: they must agree.
const [total, ...others] = totals;
console.error(
  `${total} events match ${JSON.stringify(filter)}, of ${unfiltered ?? 'an unknown number'} without a filter`,
);
const isComplete = others.length === 0 && seen.size === total;
console.log(isComplete ? 'all events read' : 'the list has changed: read it again in half a minute');
process.exitCode = isComplete ? 0 : 1;
