import type { Resolvers } from '../generated/schema-types.js';

const authentications = {
  apiKey: 'API_KEY',
  bearer: 'BEARER',
  sessionId: 'SESSION_ID',
  cookie: 'COOKIE',
} as const;

/** Who is asking. */
export const sessionsResolvers: Resolvers = {
  Query: {
    viewer: (_, __, { credential, teams }) => ({
      authentication: authentications[credential.kind],
      team: teams.teamOf(credential),
      email: credential.kind === 'cookie' ? credential.email : null,
      name: credential.kind === 'cookie' ? credential.name : null,
    }),
  },
};
