// The fields of endpoints and exports, which belong to the client's team.
import { OperationTypeNode } from 'graphql';
import { memberName, requiredTeamOf, type TeamKey } from '../../auth/teams.js';
import type { Context } from '../../context.js';
import { modelJson } from '../../data/parsing.js';
import type { Snapshot } from '../../data/polling/state-message.js';
import { BadUserInput, Conflict, Forbidden, UpstreamInvalidResponse } from '../../errors.js';
import type { Resolvers, ResolversTypes } from '../../generated/resolver-types.js';
import type { CompanySelection, ExportFilter, ExportMarketToEndpointInput } from '../../generated/schema-types.js';
import { connectionPage, listId, pageRequest } from '../../graphql/connection.js';
import { checkedName, endpointName, marketId, namedIfRejected, plainText } from '../../graphql/input.js';
import type { NodeTypes } from '../../graphql/node.js';
import { oncePerValue } from '../../lib/run.js';
import { checkedHeaders, type ExportUser, sessionUser } from './endpoint.js';
import { browserUrl } from './endpoint-response.js';
import { exportProgress } from './feed.js';
import { type Endpoint, type ExportRecord, statusOf } from './model.js';
import type { Payload } from './sender.js';
import { type ExportKey, exportWith, recentExports, retryOfExport } from './team-state.js';

const maxDescriptionLength = 1_024;
const maxEmailLength = 320;

export const exportsResolvers: Resolvers = {
  Query: {
    exportEndpoints: async (_, __, context) => (await stateOf(context)).endpoints,
    async exports(_, { filter, ...pageArguments }, context) {
      const wanted = wantedBy(filter ?? {});
      const page = pageRequest(pageArguments, listId('exports', JSON.stringify(Object.values(wanted))));
      const found = recentExports(await stateOf(context)).filter(
        record =>
          [null, record.endpoint].includes(wanted.endpoint) &&
          [null, statusOf(record)].includes(wanted.outcome) &&
          [null, record.marketId].includes(wanted.marketId),
      );
      return connectionPage(page, found, record => record);
    },
    export(_, { by }, context) {
      const key =
        by.id === undefined ? { idempotencyKey: checkedName(by.idempotencyKey, 'by.idempotencyKey') } : { id: by.id };
      return exportBy(key, context);
    },
  },
  Subscription: {
    exportProgress: {
      subscribe: (_, { exportId }, context) =>
        context.watch(exportProgress(teamOf(context), checkedName(exportId, 'exportId'))),
      resolve: ({ state }: Snapshot<ExportRecord>) => state,
    },
  },
  Mutation: {
    async registerExportEndpoint(_, { input }, context) {
      const team = administeredTeam(context);
      // Without a list of teams, anyone can make up a key that is one.
      if (context.teams.list === undefined) await context.checkCredential();
      const { endpoint, signingSecret } = await context.exports.registry.register(team, {
        name: endpointName(input.name, 'input.name'),
        url: input.url,
        description: plainText(input.description, 'input.description', maxDescriptionLength),
        headers: checkedHeaders('RegisterExportEndpointInput.headers', input.headers ?? []),
      });
      return { endpoint, signingSecret: signingSecret.reveal() };
    },
    async updateExportEndpoint(_, { input }, context) {
      const team = administeredTeam(context);
      const { description, headers } = input;
      const endpoint = endpointName(input.endpoint);
      if (description != null) plainText(description, 'input.description', maxDescriptionLength);
      const checked = headers && checkedHeaders('UpdateExportEndpointInput.headers', headers);
      return {
        endpoint: await context.exports.registry.update(team, { ...input, endpoint, headers: checked ?? null }),
      };
    },
    async rotateExportEndpointSecret(_, { input }, context) {
      const team = administeredTeam(context);
      const name = endpointName(input.endpoint);
      const { endpoint, signingSecret } = await context.exports.registry.rotateSecret(team, name);
      return { endpoint, signingSecret: signingSecret.reveal() };
    },
    async deleteExportEndpoint(_, { input }, context) {
      const team = administeredTeam(context);
      return { endpoint: await context.exports.registry.remove(team, endpointName(input.endpoint)) };
    },
    async exportMarketToEndpoint(_, { input }, context) {
      const team = teamOf(context);
      const id = marketId(input.marketId, 'input.marketId');
      const request = {
        endpoint: endpointName(input.endpoint),
        marketId: id,
        companies: input.companies,
        user: userOf(context, input.onBehalfOf),
        idempotencyKey: idempotencyKeyOf(input),
        ...requestedBy(context),
      };
      const read = () => namedIfRejected('input.marketId', payload(context, id, input.companies));
      return endingOf(await context.exports.sender.send(team, request, read));
    },
    async testExportEndpoint(_, { input }, context) {
      const team = teamOf(context);
      const endpoint = endpointName(input.endpoint);
      const unrepeatable = { marketId: null, companies: null, idempotencyKey: null };
      const request = { endpoint, user: testUser(context), ...unrepeatable, ...requestedBy(context) };
      return endingOf(await context.exports.sender.send(team, request, () => testPayload));
    },
    async retryExport(_, { input }, context) {
      const team = teamOf(context);
      const exportId = checkedName(input.exportId, 'input.exportId');
      const request = { exportId, idempotencyKey: idempotencyKeyOf(input), ...requestedBy(context) };
      const repeat = (id: string, companies: unknown) =>
        namedIfRejected('input.exportId', payload(context, id, companies as CompanySelection)).catch(error => {
          if (error instanceof BadUserInput) throw new BadUserInput('input.exportId', error.reason);
          throw error;
        });
      return endingOf(await context.exports.sender.retry(team, request, repeat));
    },
  },
  ExportEndpoint: {
    id: ({ name }) => name,
  },
  Export: {
    endpoint: ({ endpoint }, _, context) => endpointBy(endpoint, context),
    endpointName: ({ endpoint }) => endpoint,
    retryOf: ({ retryOf }, _, context) => (retryOf === null ? null : exportBy({ id: retryOf }, context)),
    retriedBy: async ({ id }, _, context) => retryOfExport(await stateOf(context), id) ?? null,
    isTest: ({ marketId }) => marketId === null,
    market: ({ marketId }) => (marketId === null ? null : { id: marketId }),
    sent: record => sentOf(record),
    outcome: record => statusOf(record),
    result: record => (statusOf(record) === 'RUNNING' ? null : endingOf(record)),
  },
  Watch: {
    async endpoint({ endpoint }, _, context, { operation }) {
      // An earlier mutation of the same operation may have changed it.
      const isMutation = operation.operation === OperationTypeNode.MUTATION;
      const { endpoints } = await (isMutation ? context.exports.stateOf(teamOf(context)) : stateOf(context));
      return endpoints.find(({ registration }) => registration === endpoint) ?? null;
    },
  },
  ExportDelivered: { redirectUrl: ({ redirectUrl }) => browserUrl.parse(redirectUrl) },
  ExportReference: { url: ({ url }) => browserUrl.parse(url) },
};

/** How endpoints and exports are identified: a client finds only those of its own team. */
export const exportsNodes = {
  ExportEndpoint: {
    parts: ({ name }: Endpoint) => [name],
    calls: () => 0,
    find: ([name = ''], context) => endpointBy(name, context),
  },
  Export: {
    parts: ({ id }: ExportRecord) => [id],
    calls: () => 0,
    find: ([id = ''], context) => exportBy({ id }, context),
  },
} satisfies NodeTypes<Context>;

/** What is stored for the client's team, read once for each operation. */
const stateOf = oncePerValue((context: Context) => context.exports.stateOf(teamOf(context)));

const exportBy = async (key: ExportKey, context: Context) => exportWith(await stateOf(context), key) ?? null;

const endpointBy = async (wanted: string, context: Context) =>
  (await stateOf(context)).endpoints.find(({ name }) => name === wanted) ?? null;

const requestedBy = ({ credential, metadata }: Context) => ({
  by: memberName(credential),
  operation: metadata.operation,
});

const idempotencyKeyOf = ({ idempotencyKey }: { readonly idempotencyKey?: string | null }) =>
  idempotencyKey == null ? null : checkedName(idempotencyKey, 'input.idempotencyKey');

/**
 * The body of an export (docs/upstream-api.md: Outbound request body), from the market and the companies as they are now: what is cached may be from
 * before a publication. @throws Conflict for a market that is not published
 */
async function payload({ loaders }: Context, id: string, selection: CompanySelection): Promise<Payload> {
  const { companies, markets } = loaders.newest;
  // The companies first, so that an invalid selection is refused before the first upstream call. The service has none of a market that is not published.
  const [exported, market] = await Promise.allSettled([companies.exported(id, selection), markets.record(id)]);
  if (market.status === 'rejected') throw market.reason;
  const { name, reviewStatus } = market.value;
  if (reviewStatus !== null && reviewStatus !== 'PUBLISHED')
    throw new Conflict('Only a published market can be exported');
  if (exported.status === 'rejected') throw exported.reason;
  if (name === null)
    throw new UpstreamInvalidResponse('The service sent no name of the market, which an export must have');
  const { selected, data } = exported.value;
  const body = { meta: { totalItems: selected }, market: { id: Number(id), name }, data };
  return { body: modelJson(body), selected, sent: data.length };
}

/** The body of a test: an export of no companies of a market that does not exist. */
const testPayload: Payload = {
  body: JSON.stringify({ meta: { totalItems: 0, isTest: true }, market: { id: 0, name: 'Test' }, data: [] }),
  selected: 0,
  sent: 0,
};

/** The user of the session. For other credentials, an example. */
function testUser(context: Context): ExportUser {
  const user = userOf(context, undefined);
  return { ...user, name: user.name ?? 'Test User', email: user.email ?? 'test@example.com' };
}

/** What an export must have to match a filter; null: anything. @throws BadUserInput */
const wantedBy = ({ endpoint, outcome, marketId: market }: ExportFilter) => ({
  endpoint: endpoint == null ? null : endpointName(endpoint, 'filter.endpoint'),
  outcome: outcome ?? null,
  marketId: market == null ? null : marketId(market, 'filter.marketId'),
});

/** The client's team. Its data changes without an upstream call, so a response that contains it must not be cached. @throws Forbidden */
function teamOf({ credential, teams, metadata }: Context): TeamKey {
  metadata.forbidCaching();
  return requiredTeamOf(teams, credential);
}

function administeredTeam(context: Context): TeamKey {
  const team = teamOf(context);
  if (context.teams.isAdmin(context.credential)) return team;
  throw new Forbidden('Only an admin of the team can register, delete and change endpoints');
}

/** The user of the session. For other credentials, the user that the client names. */
function userOf({ credential }: Context, given: ExportMarketToEndpointInput['onBehalfOf']): ExportUser {
  if (credential.kind === 'cookie') return sessionUser(credential);
  const argument = 'input.onBehalfOf';
  return {
    name: given?.name == null ? null : checkedName(given.name, `${argument}.name`),
    email: given?.email == null ? null : plainText(given.email, `${argument}.email`, maxEmailLength),
    argument,
  };
}

/** How many companies went out: none if no call did. */
const sentOf = ({ attempts, sent }: ExportRecord) =>
  attempts.every(({ isConnected }) => isConnected === false) ? 0 : sent;

/** The result of an export that is no longer running. */
function endingOf(record: ExportRecord): ResolversTypes['ExportResult'] {
  const { id: exportId, attempts, outcome, selected } = record;
  const ending = { exportId, attempts, delivered: sentOf(record), matching: selected };
  if (outcome === null) return { __typename: 'ExportFailed', ...ending, message: unknownMessage, outcome: 'UNKNOWN' };
  if (outcome.kind === 'DELIVERED') return { __typename: 'ExportDelivered', ...ending, ...outcome };
  if (outcome.kind === 'REJECTED') return { __typename: 'ExportRejected', ...ending, ...outcome };
  return { __typename: 'ExportFailed', ...ending, message: outcome.message, outcome: outcome.kind };
}

const unknownMessage =
  'It is not known whether this export arrived, because the gateway stopped while sending it. Please ask the operator of the endpoint. ' +
  'To send the export again, retry it.';
