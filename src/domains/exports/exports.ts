// The endpoints of teams, and the exports to them: each is recorded before it is sent.
import { hash, randomUUID } from 'node:crypto';
import { ConstantBackoff, ExponentialBackoff, handleAll, retry } from 'cockatiel';
import type { Sealer } from '../../auth/seal.js';
import type { TeamKey } from '../../auth/teams.js';
import { BadUserInput, Conflict, UpstreamUnavailable } from '../../errors.js';
import type { ExportHeaderInput, UpdateExportEndpointInput } from '../../generated/schema-types.js';
import { timeNow } from '../../lib/clock.js';
import type { MaybePromise } from '../../lib/run.js';
import { iso } from '../../lib/time.js';
import type { Span } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { AddressGuard, AddressRefused } from './address-guard.js';
import {
  attemptMs,
  deliver,
  endpointChanged,
  maxDeliveryMs,
  newAttempt,
  type OutboundCall,
  type StartTimer,
} from './delivery.js';
import { type ExportUser, resolvedUrl, templateUrl } from './endpoint.js';
import {
  type Endpoint,
  type ExportAttempt,
  type ExportOutcome,
  type ExportRecord,
  statusOf,
  type TeamState,
} from './model.js';
import { type Payload, testPayload } from './payload.js';
import { createEndpointSeals, newSigningSecret, revealed, rotatedSecrets, signatureHeaders } from './signing.js';
import {
  earlierExport,
  endpointNamed,
  exportToRetry,
  sameEndpoint,
  withChanged,
  withEndpoint,
  withExport,
  withoutEndpoint,
  withProgress,
} from './team-state.js';
import type { TeamStore } from './team-store.js';

/** An export to start: what is recorded of it, its user, and the span of the operation, below which its attempts are. */
type ExportOrder = Pick<
  ExportRecord,
  'endpoint' | 'marketId' | 'by' | 'idempotencyKey' | 'inputDigest' | 'retryOf' | 'repeatable'
> & { readonly user: ExportUser; readonly span: Span | undefined };

/** Lives as long as the process. */
export type Exports = ReturnType<typeof createExports>;

interface ExportsDeps {
  readonly store: TeamStore;
  readonly sealer: Sealer;
  readonly guard: AddressGuard;
  readonly startTimer: StartTimer;
  readonly httpsOnly: boolean;
  readonly telemetry: Pick<Telemetry, 'exported'>;
  /** Reports an outcome that could not be recorded. */
  readonly report: (error: unknown) => void;
}

/** How much longer than all its attempts an export may take before it counts as abandoned. */
const slackMs = 10_000;

/** Keeps trying to record what was sent while Redis is briefly unavailable: five seconds in all, less than the slack. */
const recordRetry = retry(handleAll, {
  maxAttempts: 7,
  backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 1_000 }),
});

/** Keeps trying for about six minutes more to record how an export ended, after its client has the outcome. Until then, it reads as RUNNING or UNKNOWN. */
const recordLater = retry(handleAll, { maxAttempts: 60, backoff: new ConstantBackoff(1_000) }).dangerouslyUnref();

export function createExports({ store, sealer, guard, startTimer, httpsOnly, telemetry, report }: ExportsDeps) {
  const running = new Set<Promise<unknown>>();
  const { seal, open, sealAll, openAll } = createEndpointSeals(sealer);

  /** @throws BadUserInput for a URL that exports may not use. */
  async function checkUrl(url: string): Promise<void> {
    await guard.check(templateUrl(url, 'input.url', httpsOnly)).catch((refused: AddressRefused) => {
      throw new BadUserInput('input.url', refused.message);
    });
  }

  /** Stores the changes of an endpoint. @throws Conflict if it was changed at the same time. */
  const storeChange = (team: TeamKey, before: Endpoint, after: Partial<Endpoint>) =>
    store.change(team, state => {
      const value = withChanged(state, before, after);
      if (value === undefined) throw new Conflict('The endpoint was changed at the same time; try again');
      return { value, result: undefined };
    });

  /** @param first the endpoint as it was when the first attempt was recorded. */
  async function run(team: TeamKey, record: ExportRecord, call: OutboundCall, first: Endpoint): Promise<ExportRecord> {
    const stop = (error: unknown): never => {
      report(error);
      const words = 'The export could not be recorded in time, and was stopped; read `exports` to see what is known';
      throw new UpstreamUnavailable(words, undefined, false);
    };
    /** Records another attempt. @returns the endpoint, if it is as it was. */
    const recordAttempt = (attempts: ExportAttempt[]) => {
      const change = (state: TeamState) => {
        const same = sameEndpoint(state, first);
        return { value: same && withProgress(state, call.id, { attempts }), result: same };
      };
      return recordRetry.execute(() => store.change(team, change)).catch(stop);
    };
    const begin = async (attempts: ExportAttempt[]) => {
      // The record began with the first attempt.
      const endpoint = attempts.length === 1 ? first : await recordAttempt(attempts);
      if (endpoint === undefined) return undefined;
      // Its signing secret may have been replaced.
      const { headers, secrets } = await openAll(team, endpoint);
      // The store took its time, or this process was paused: once the record says UNKNOWN, the export may be retried.
      if (statusOf(record, timeNow() + attemptMs) !== 'RUNNING') {
        stop(
          new Error(`The export ${record.id} was stopped: no further call could end before its record says UNKNOWN`),
        );
      }
      return { ...headers, ...signatureHeaders(secrets, call, new Date(timeNow())) };
    };
    let known: ExportOutcome['kind'] | 'UNKNOWN' = 'UNKNOWN';
    try {
      const { attempts, outcome } = await deliver(call, { guard, startTimer }, begin);
      const end = { attempts, outcome, finishedAt: iso(timeNow()) };
      const stored = { ...end, outcome: storedOutcome(outcome) };
      const change = (state: TeamState) => ({ value: withProgress(state, call.id, stored), result: outcome.kind });
      const recordEnd = () => recordRetry.execute(() => store.change(team, change));
      try {
        known = await recordEnd();
      } catch (error) {
        report(error);
        recordLater.execute(recordEnd).catch(report);
      }
      return { ...record, ...end };
    } finally {
      telemetry.exported(known);
    }
  }

  return {
    /** What is stored for a team now. */
    stateOf: store.read,
    /** How many headers and signing secrets of endpoints are sealed with a secret other than the first. */
    outdated: async () => (await store.seals()).filter(seal => sealer.isOutdated(seal)).length,
    /** Resolves when no export is running. */
    idle: () => Promise.allSettled(running),

    /**
     * Adds an endpoint. Everything except its URL has been checked. Its signing secret is shown only now.
     * @throws BadUserInput for a URL that exports may not use; Conflict if the name is taken.
     */
    async register(
      team: TeamKey,
      { headers, ...named }: Pick<Endpoint, 'name' | 'url' | 'description'> & { headers: readonly ExportHeaderInput[] },
    ) {
      await checkUrl(named.url);
      const signingSecret = newSigningSecret();
      const secrets = rotatedSecrets([], signingSecret, 0);
      const endpoint: Endpoint = {
        ...named,
        revision: randomUUID(),
        headerNames: headers.map(header => header.name),
        ...(await sealAll(team, named, valuesOf(headers), secrets)),
      };
      await store.change(team, state => ({ value: withEndpoint(state, endpoint), result: undefined }));
      return { endpoint, signingSecret };
    },

    /**
     * Changes an endpoint; null changes nothing. Its signing secret stays. Everything except the URL has been checked.
     * @throws BadUserInput for a URL that exports may not use, or one to whose server the values of headers would go that were registered for another;
     *   NotFound; Conflict if no secret opens what it has sealed, or if it is changed twice at once.
     */
    async update(team: TeamKey, { endpoint: name, url, description, headers }: UpdateExportEndpointInput) {
      if (url != null) await checkUrl(url);
      const before = endpointNamed(await store.read(team), name);
      const named = { name, url: url ?? before.url, description: description ?? before.description };
      const isElsewhere = new URL(named.url).origin !== new URL(before.url).origin;
      if (headers == null && before.headerNames.length > 0 && isElsewhere) {
        throw new BadUserInput('input.headers', 'must be given again, because the URL leads to another server');
      }
      // Headers that are replaced need not be opened.
      const kept = await openAll(team, headers == null ? before : { ...before, headerNames: [] });
      const endpoint: Endpoint = {
        ...named,
        // An export goes on if it is sent where it was, with the same headers.
        revision: headers == null && named.url === before.url ? before.revision : randomUUID(),
        headerNames: headers?.map(header => header.name) ?? before.headerNames,
        ...(await sealAll(team, named, headers == null ? kept.headers : valuesOf(headers), kept.secrets)),
      };
      await storeChange(team, before, endpoint);
      return endpoint;
    },

    /**
     * Replaces the signing secret of an endpoint by one that is shown only now. The old one signs for 24 more hours.
     * @throws NotFound; Conflict if it is replaced twice at once.
     */
    async rotateSecret(team: TeamKey, name: string) {
      const endpoint = endpointNamed(await store.read(team), name);
      // A secret that cannot be decrypted any more can still be replaced.
      const current = await open('signing', team, endpoint, endpoint.sealedSigningSecrets);
      const signingSecret = newSigningSecret();
      const secrets = rotatedSecrets(current?.value ?? [], signingSecret, timeNow());
      const sealedSigningSecrets = await seal('signing', team, endpoint, revealed(secrets));
      await storeChange(team, endpoint, { sealedSigningSecrets });
      return { endpoint, signingSecret };
    },

    /** @returns the endpoint that is no more. @throws NotFound */
    remove: (team: TeamKey, name: string) =>
      store.change(team, state => ({ value: withoutEndpoint(state, name), result: endpointNamed(state, name) })),

    /**
     * Sends an export, or returns the earlier one with the same idempotency key. Goes on if the client disconnects.
     * @param companies the choice of companies as the client gave it.
     * @param prepare creates the payload; called only if something is to be sent.
     * @throws NotFound, Conflict, RateLimited or BadUserInput if nothing was sent; UpstreamUnavailable that is not `retryable` if something was.
     */
    async send(
      team: TeamKey,
      {
        companies,
        ...request
      }: Omit<ExportOrder, 'inputDigest' | 'retryOf' | 'repeatable'> & { readonly companies: unknown },
      prepare: () => MaybePromise<Payload>,
    ) {
      const { endpoint, marketId, user } = request;
      const inputDigest = digestOf([endpoint, marketId, companies, user.name, user.email]);
      const order = { ...request, inputDigest, retryOf: null, repeatable: repeatableOf(companies, user) };
      const state = await store.read(team);
      return earlierExport(state, order) ?? start(team, state, order, prepare);
    },

    /** Sends an export of no companies, so that a client can try its endpoint. @throws as `send` */
    async test(team: TeamKey, request: Pick<ExportOrder, 'endpoint' | 'user' | 'by' | 'span'>) {
      const unrepeatable = { marketId: null, idempotencyKey: null, inputDigest: '', retryOf: null, repeatable: null };
      return start(team, await store.read(team), { ...request, ...unrepeatable }, () => testPayload);
    },

    /**
     * Makes the call of an export that failed again, as an export of its own. An export can be retried once; after that, its retry can be.
     * @param prepare creates the payload from the market and the choice of companies of the first export.
     * @throws Conflict if it did not fail, was retried already, or cannot be repeated; otherwise as `send`.
     */
    async retry(
      team: TeamKey,
      { exportId, ...request }: Pick<ExportOrder, 'by' | 'idempotencyKey' | 'span'> & { readonly exportId: string },
      prepare: (marketId: string, companies: unknown) => Promise<Payload>,
    ) {
      const repeat = { ...request, inputDigest: digestOf(['retry', exportId]), retryOf: exportId };
      const state = await store.read(team);
      const earlier = earlierExport(state, repeat);
      if (earlier !== undefined) return earlier;
      const { endpoint, marketId, repeatable } = exportToRetry(state, exportId);
      if (marketId === null || repeatable === null) {
        throw new Conflict('This export cannot be retried, because its selection was not stored; send a new export');
      }
      const user = { ...repeatable.user, argument: 'input.exportId' };
      const order = { ...repeat, endpoint, marketId, user, repeatable };
      return start(team, state, order, () => prepare(marketId, repeatable.companies));
    },
  };

  /** Records an export and sends it, or returns the earlier one with the same idempotency key. @param state of the team, as just read. */
  async function start(
    team: TeamKey,
    state: TeamState,
    order: ExportOrder,
    prepare: () => MaybePromise<Payload>,
  ): Promise<ExportRecord> {
    const { user, span: parent, ...recorded } = order;
    const endpoint = endpointNamed(state, order.endpoint);
    const url = resolvedUrl(endpoint.url, user, httpsOnly);
    const { resealed } = await openAll(team, endpoint);
    const { body, selected, sent } = await prepare();

    const id = randomUUID();
    const startsAt = timeNow();
    const record: ExportRecord = {
      ...recorded,
      id,
      endpointUrl: endpoint.url,
      startedAt: iso(startsAt),
      expiresAt: iso(startsAt + maxDeliveryMs + slackMs),
      finishedAt: null,
      user: user.email ?? user.name,
      selected,
      sent,
      attempts: [newAttempt(startsAt)],
      outcome: null,
    };
    const unsent: ExportRecord = { ...record, attempts: [], outcome: endpointChanged, finishedAt: record.startedAt };
    // Record the export before anything is sent.
    const begun = await store.change<{ ended: ExportRecord } | { same: Endpoint }>(team, latest => {
      const first = earlierExport(latest, record);
      if (first !== undefined) return { result: { ended: first } };
      if (order.retryOf !== null) exportToRetry(latest, order.retryOf);
      const found = sameEndpoint(latest, endpoint);
      if (found === undefined) return { value: withExport(latest, unsent), result: { ended: unsent } };
      const current = withChanged(latest, endpoint, resealed) ?? latest;
      return { value: withExport(current, record), result: { same: found } };
    });
    if ('ended' in begun) {
      if (begun.ended === unsent) telemetry.exported('FAILED');
      return begun.ended;
    }
    const delivery = run(team, record, { url, body, id, startsAt, parent }, begun.same);
    running.add(delivery);
    return delivery.finally(() => running.delete(delivery));
  }
}

/** In characters of JSON text. Every change of a team writes its whole state, so what is longer is not stored. */
const maxSelectionLength = 32 * 1024;
const maxOutcomeLength = 64 * 1024;

function repeatableOf(companies: unknown, { name, email }: ExportUser): ExportRecord['repeatable'] {
  return JSON.stringify(companies).length > maxSelectionLength ? null : { companies, user: { name, email } };
}

/** The outcome as it is stored: without its URLs if it is too long. The client that waits gets them at any length. */
function storedOutcome(outcome: ExportOutcome): ExportOutcome {
  if (outcome.kind === 'FAILED' || JSON.stringify(outcome).length <= maxOutcomeLength) return outcome;
  if (outcome.kind === 'DELIVERED') return { ...outcome, redirectUrl: null };
  return { ...outcome, references: outcome.references.map(reference => ({ ...reference, url: null })) };
}

const valuesOf = (headers: readonly ExportHeaderInput[]) =>
  Object.fromEntries(headers.map(({ name, value }) => [name, value]));

const digestOf = (input: readonly unknown[]) => hash('sha256', JSON.stringify(input), 'base64url');
