const query = `
  query Events($after: String, $filter: EventFilter) {
    events(first: 50, after: $after, filter: $filter) {
      totalCount
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

let after = null;
const seen = new Map();
let total;
do {
  const { totalCount, nodes, pageInfo } = await ask({ after, filter: { minSeverity: 2 } });
  for (const event of nodes) seen.set(event.id, event.title);
  total = totalCount;
  after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
} while (after !== null);
console.log(seen.size === total ? 'all events read' : `${seen.size} of ${total}`);
