// The part of docs/upstream-api.md that the bench asks for, as an OpenAPI document, which is what Hive's handler reads.

const text = { type: 'string' };
const number = { type: 'number' };
const list = items => ({ type: 'array', items });
const named = name => ({ $ref: `#/components/schemas/${name}` });
const object = (properties, required = []) => ({ type: 'object', properties, required });
const answer = name => ({ 200: { description: name, content: { 'application/json': { schema: named(name) } } } });

export const openapi = {
  openapi: '3.0.3',
  info: { title: 'Market research', version: '1.0.0' },
  paths: {
    '/v2/events-monitor/events': {
      get: {
        operationId: 'getEvents',
        parameters: ['pageSize', 'page'].map(name => ({ name, in: 'query', schema: { type: 'integer' } })),
        responses: answer('EventPage'),
      },
    },
    '/v2/events-monitor/observation/{observationId}': {
      get: {
        operationId: 'getObservation',
        parameters: [{ name: 'observationId', in: 'path', required: true, schema: text }],
        responses: answer('Observation'),
      },
    },
    '/v2/discovery/search-criteria': {
      post: {
        operationId: 'createSearchCriteria',
        requestBody: { content: { 'application/json': { schema: named('SearchInput') } } },
        responses: answer('SearchCriteriaPayload'),
      },
    },
  },
  components: {
    schemas: {
      EventPage: object({ meta: named('Meta'), data: list(named('Event')) }, ['meta', 'data']),
      Meta: object({ totalItems: number, totalPages: number, currentPage: number, pageSize: number }),
      Event: object(
        {
          _id: text,
          title: text,
          summary: text,
          vectorIndex: named('VectorIndex'),
          references: list(named('EventReference')),
          lastUpdated: text,
        },
        ['_id', 'references'],
      ),
      VectorIndex: object({ anchorText: text, embeddings: list(number), embeddingsModelName: text }),
      EventReference: object({ _id: text, title: text, url: text }, ['_id', 'title']),
      SearchInput: object({ searchType: text, searchInput: text }, ['searchInput']),
      SearchCriteriaPayload: object({ searchCriteria: named('SearchCriteria') }, ['searchCriteria']),
      SearchCriteria: object({ userPrompt: text, marketName: text }),
      Observation: object(
        {
          _id: text,
          dedupeId: text,
          sourceService: text,
          title: text,
          content: list(text),
          textEmbedding: list(number),
          publishedAt: text,
          addedAt: text,
          url: text,
        },
        ['_id', 'content'],
      ),
    },
  },
};
