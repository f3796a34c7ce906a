// The part of the schema that the bench asks for, as the peers serve it.

export const typeDefs = `
  type Query { events(first: Int = 10): EventConnection observation(id: ID!): Observation }
  type Mutation { createSearchCriteria(input: SearchInput!): SearchCriteriaPayload }
  input SearchInput { searchType: String searchInput: String! }
  type SearchCriteriaPayload { searchCriteria: SearchCriteria! }
  type SearchCriteria { userPrompt: String marketName: String }
  type EventConnection { nodes: [Event!]! totalCount: Int! }
  type Event {
    id: ID!
    title: String
    summary: String
    vectorIndex: VectorIndex
    references: [EventReference!]!
    lastUpdated: String
  }
  type VectorIndex { anchorText: String embeddings: [Float!] embeddingsModelName: String }
  type EventReference { id: ID! title: String! url: String observation: Observation }
  type Observation {
    id: ID!
    dedupeId: String
    sourceService: String
    title: String
    content: [String!]!
    textEmbedding: [Float!]
    publishedAt: String
    addedAt: String
    url: String
  }
`;

/** Resolvers over whatever the context calls the service with: `{ client: { events(first), observation(id), createSearchCriteria(input) } }`. */
export const resolvers = {
  Query: {
    events: (_, { first }, { client }) => client.events(first),
    observation: (_, { id }, { client }) => client.observation(id),
  },
  Mutation: {
    createSearchCriteria: (_, { input }, { client }) => client.createSearchCriteria(input),
  },
  EventReference: {
    observation: ({ id }, _, { client }) => client.observation(id),
  },
};
