// The query that is measured, and its answer written by hand: what every server's answer is compared with.

/** Ten events and the observations behind them: 42 upstream calls where nothing is kept. */
export const flagship = `query Flagship {
  events(first: 10) {
    nodes {
      id
      title
      summary
      lastUpdated
      vectorIndex { anchorText }
      references { id title url observation { id title content sourceService publishedAt url } }
    }
  }
}`;

/** A hundred embeddings of 1,536 numbers. */
export const embeddings = 'query Embeddings { events(first: 100) { nodes { id vectorIndex { embeddings } } } }';

/** A hundred events with four observations of their own each. */
export const references =
  'query References { events(first: 100) { nodes { id references { id observation { id title } } } } }';

/** A write: one upstream call, nothing of which is cached. */
export const write = `mutation Write {
  createSearchCriteria(input: { searchType: "marketSearch", searchInput: "castings" }) { searchCriteria { userPrompt marketName } }
}`;

/** 41 observations by their identifiers, which are cached for longer than events. @param {string[]} ids */
export const byIds = ids =>
  `query ByIds { ${ids.map((id, at) => `o${at}: observation(id: "${id}") { id title content sourceService publishedAt url }`).join(' ')} }`;

/**
 * The answer to the flagship.
 * @param {any} page a body of the event list
 * @param {(id: string) => any} observationBy the body of one observation
 */
export function flagshipAnswer(page, observationBy) {
  const nodes = page.data.map(({ _id, title, summary, lastUpdated, vectorIndex: { anchorText }, references }) => ({
    id: _id,
    title,
    summary,
    lastUpdated,
    vectorIndex: { anchorText },
    references: references.map(reference => ({
      id: reference._id,
      title: reference.title,
      url: reference.url ?? null,
      observation: observationFields(observationBy(reference._id)),
    })),
  }));
  return { data: { events: { nodes } } };
}

/** An observation, as the flagship selects it. */
export function observationFields({ _id, title, content, sourceService, publishedAt, url }) {
  return { id: _id, title, content, sourceService, publishedAt, url: url ?? null };
}

/**
 * An answer's data as text, in which the order of members says nothing any more.
 * @param {string} body @throws Error where the answer has errors
 */
export function normalised(body) {
  const { data, errors } = JSON.parse(body);
  if (errors !== undefined) throw new Error(`The answer has errors: ${JSON.stringify(errors).slice(0, 500)}`);
  return JSON.stringify(data, (_, value) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
