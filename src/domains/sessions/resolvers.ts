// The fields of the client that made the request, and how sessions start and end.
import type { Credential } from '../../auth/credentials.js';
import type { Context } from '../../context.js';
import { BadUserInput, Forbidden } from '../../errors.js';
import type { Resolvers } from '../../generated/resolver-types.js';
import { plainText, wholeText } from '../../graphql/input.js';
import { timeNow } from '../../lib/clock.js';
import { iso } from '../../lib/time.js';
import { embedSessionWrite } from './client.js';

const maxEmailLength = 320;
const maxPasswordLength = 1_024;

export const sessionsResolvers: Resolvers = {
  Query: {
    viewer: (_, __, { credentialIfAny, teams }) =>
      credentialIfAny === undefined ? null : viewerOf(credentialIfAny, teams),
    capabilities: (_, __, { capabilities }) => capabilities,
  },
  Viewer: {
    usage(_, __, { identity: { usage }, metadata }) {
      metadata.forbidCaching();
      return usage === undefined ? null : { ...usage, resetAt: iso(timeNow() + usage.resetSeconds * 1_000) };
    },
  },
  Mutation: {
    async signIn(_, { input }, { identity: { session }, teams, metadata }) {
      const email = plainText(input.email.trim(), 'input.email', maxEmailLength);
      const password = wholeText(input.password, 'input.password');
      if (password === '' || password.length > maxPasswordLength) {
        throw new BadUserInput('input.password', `must be 1 to ${maxPasswordLength} characters`);
      }
      return { viewer: viewerOf(await session.begin(email, password, metadata), teams) };
    },
    async signOut(_, __, { identity: { session } }) {
      await session.end();
      return { viewer: null };
    },
    async createEmbedSession(_, __, { credential, writer }) {
      if (credential.kind !== 'apiKey') throw new Forbidden('Creating an embedded session requires an API key');
      return { session: await writer.write(embedSessionWrite) };
    },
  },
};

const authentications = {
  apiKey: 'API_KEY',
  bearer: 'BEARER',
  sessionId: 'SESSION_ID',
  cookie: 'COOKIE',
} as const;

function viewerOf(credential: Credential, teams: Context['teams']) {
  const signedIn = credential.kind === 'cookie' ? credential : undefined;
  const team = teams.teamOf(credential);
  return {
    authentication: authentications[credential.kind],
    team: team?.name ?? null,
    email: signedIn?.email ?? null,
    name: signedIn?.name ?? null,
    canExport: team !== null,
    canManageExportEndpoints: team !== null && teams.isAdmin(credential),
  };
}
