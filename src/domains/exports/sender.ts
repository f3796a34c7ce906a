// Sends exports: each is recorded before its first call, before each further call, and when it has ended.
import { hash, randomUUID } from 'node:crypto';
import { ConstantBackoff, ExponentialBackoff, handleAll, retry } from 'cockatiel';
import type { Credential } from '../../auth/credentials.js';
import { loggedTeam, type TeamKey } from '../../auth/teams.js';
import { Conflict, UpstreamUnavailable } from '../../errors.js';
import { timeNow } from '../../lib/clock.js';
import type { MaybePromise } from '../../lib/run.js';
import { iso } from '../../lib/time.js';
import type { OperationInfo } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { AddressGuard } from './address-guard.js';
import {
  attemptMs,
  attemptOnce,
  deliver,
  endpointChanged,
  maxDeliveryMs,
  newAttempt,
  type OutboundCall,
} from './delivery.js';
import { type ExportUser, resolvedUrl, sessionUser } from './endpoint.js';
import {
  type Endpoint,
  type ExportAttempt,
  type ExportOutcome,
  type ExportRecord,
  statusOf,
  type TeamState,
} from './model.js';
import { type EndpointSeals, type OpenedEndpoint, signatureHeaders } from './signing.js';
import {
  begun,
  earlierExport,
  endpointNamed,
  exportToRetry,
  retriedArgument,
  sameEndpoint,
  withProgress,
  withTaken,
} from './team-state.js';
import type { TeamStore } from './team-store.js';

/** An export to start: what is recorded of it, its user, and the operation. */
type ExportOrder = Pick<
  ExportRecord,
  'endpoint' | 'marketId' | 'by' | 'idempotencyKey' | 'inputDigest' | 'retryOf' | 'repeatable'
> & { readonly user: ExportUser; readonly operation: Pick<OperationInfo, 'span' | 'executedAt'> };

export interface Payload {
  readonly body: string;
  readonly selected: number;
  readonly sent: number;
}

export interface SenderDeps {
  readonly store: TeamStore;
  readonly seals: EndpointSeals;
  readonly guard: AddressGuard;
  readonly httpsOnly: boolean;
  readonly telemetry: Pick<Telemetry, 'exported' | 'endpointFails' | 'endpointWorks'>;
  readonly report: (error: unknown) => void;
}

/** How much longer than all its attempts an export may take before it counts as abandoned. */
const slackMs = 10_000;
/** In characters of JSON text. Every change of a team writes its whole state, so what is longer is not stored. */
const maxLength = { selection: 32 * 1024, outcome: 64 * 1024 };

/** Keeps trying to record what was sent while Redis is briefly unavailable: five seconds in all, less than the slack of a record's expiry. */
const recordRetry = retry(handleAll, {
  maxAttempts: 7,
  backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 1_000 }),
});

/** Keeps trying for about six minutes more to record how an export ended, after its client has the outcome. Until then, it reads as RUNNING or UNKNOWN. */
const recordLater = retry(handleAll, { maxAttempts: 60, backoff: new ConstantBackoff(1_000) }).dangerouslyUnref();

export class Sender {
  readonly #deps: SenderDeps;
  readonly #running = new Set<Promise<unknown>>();

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  idle(): Promise<unknown> {
    return Promise.allSettled(this.#running);
  }

  /**
   * Sends an export, or returns the earlier one with the same idempotency key. Goes on if the client disconnects.
   * @param companies the choice of companies as the client gave it; null, as the market, for a test of the endpoint.
   * @param prepare creates the payload; called only if something is to be sent.
   * @throws NotFound, Conflict, RateLimited or BadUserInput if nothing was sent; UpstreamUnavailable that is not `retryable` if something was.
   */
  async send(
    team: TeamKey,
    { companies, ...request }: Omit<ExportOrder, 'inputDigest' | 'retryOf' | 'repeatable'> & { companies: unknown },
    prepare: () => MaybePromise<Payload>,
  ): Promise<ExportRecord> {
    const { endpoint, marketId, user } = request;
    const inputDigest = digestOf([endpoint, marketId, companies, user.name, user.email]);
    const order = { ...request, inputDigest, retryOf: null, repeatable: repeatableOf(companies, user) };
    const state = await this.#deps.store.read(team);
    return earlierExport(state, order) ?? this.#start(team, state, order, prepare);
  }

  /**
   * Makes the call of an export that failed again, as an export of its own. An export can be retried once; after that, its retry can be.
   * @param prepare creates the payload from the market and the choice of companies of the first export.
   * @throws Conflict if it did not fail, was retried already, or cannot be repeated; otherwise as `send`.
   */
  async retry(
    team: TeamKey,
    { exportId, ...request }: Pick<ExportOrder, 'by' | 'idempotencyKey' | 'operation'> & { readonly exportId: string },
    prepare: (marketId: string, companies: unknown) => Promise<Payload>,
  ): Promise<ExportRecord> {
    const repeat = { ...request, inputDigest: digestOf(['retry', exportId]), retryOf: exportId };
    const state = await this.#deps.store.read(team);
    const earlier = earlierExport(state, repeat);
    if (earlier !== undefined) return earlier;
    const { endpoint, marketId, repeatable } = exportToRetry(state, exportId);
    const refuse = (message: string) => new Conflict(message, undefined, retriedArgument);
    if (marketId === null) throw refuse('A test is not retried; call testExportEndpoint again');
    if (repeatable === null)
      throw refuse('This export cannot be retried, because its selection was not stored; send a new export');
    const user = { ...repeatable.user, argument: retriedArgument };
    const order = { ...repeat, endpoint, marketId, user, repeatable };
    return this.#start(team, state, order, () => prepare(marketId, repeatable.companies));
  }

  /**
   * Prepares to send something else than an export to an endpoint of a team, as it is now, for the user of a session.
   * @returns its registration, and what makes one call, signed and guarded as those of exports, and returns its status, null if there was no answer, and
   *   whether it is 2xx.
   * @throws NotFound, Conflict or BadUserInput if nothing can be sent; UpstreamUnavailable.
   */
  async prepare(team: TeamKey, name: string, by: 'name' | 'registration', credential: Credential) {
    const { store, guard } = this.#deps;
    const found = endpointNamed(await store.read(team), name, by);
    const { url, opened } = await this.#opened(team, found, sessionUser(credential));
    const { endpoint, headers, secrets } = opened;
    const send = async (call: Pick<OutboundCall, 'id' | 'body'>) => {
      const signed = { ...headers, ...signatureHeaders(secrets, call, new Date(timeNow())) };
      const { status, fault } = await attemptOnce({ ...call, url }, signed, guard);
      const isTaken = status !== null && status >= 200 && status <= 299;
      const failedAt = isTaken ? null : iso(timeNow());
      const isNew = isTaken !== (endpoint.failingSince === null);
      // The log has the fault of a store that does not take it.
      const isSame = await store
        .change(team, state => ({
          value: isNew ? withTaken(state, endpoint, failedAt) : undefined,
          result: sameEndpoint(state, endpoint) !== undefined,
        }))
        .catch(() => true);
      if (isSame) this.#tell(team, endpoint, url, failedAt, [{ status, fault }]);
      return { status, isTaken };
    };
    return { registration: endpoint.registration, send };
  }

  /** Tells operators whether an endpoint took a call. @param failedAt null: it did. */
  #tell(
    team: TeamKey,
    { name, failingSince }: Endpoint,
    { host }: URL,
    failedAt: string | null,
    attempts: readonly Pick<ExportAttempt, 'status' | 'fault'>[],
  ): void {
    const { telemetry } = this.#deps;
    const { status, fault } = attempts.at(-1) ?? {};
    const words = `${host} does not take what is sent (attempts: ${attempts.length}, ${fault ?? `HTTP ${status}`})`;
    const endpoint = loggedEndpoint(team, name);
    if (failedAt === null) telemetry.endpointWorks(endpoint, failingSince !== null);
    else telemetry.endpointFails(endpoint, failingSince ?? failedAt, words);
  }

  /** An endpoint, with what it seals, and its URL for a user. @throws Conflict or BadUserInput. */
  async #opened(team: TeamKey, endpoint: Endpoint, user: ExportUser) {
    const url = resolvedUrl(endpoint.url, user, this.#deps.httpsOnly);
    return { url, opened: await this.#deps.seals.openAll(team, endpoint) };
  }

  /** Records an export and sends it, or returns the earlier one with the same idempotency key. @param state of the team, as just read. */
  async #start(
    team: TeamKey,
    state: TeamState,
    { user, operation, ...recorded }: ExportOrder,
    prepare: () => MaybePromise<Payload>,
  ): Promise<ExportRecord> {
    const { store, telemetry } = this.#deps;
    const argument = recorded.retryOf === null ? 'input.endpoint' : retriedArgument;
    const endpoint = endpointNamed(state, recorded.endpoint, 'name', argument);
    const { url, opened } = await this.#opened(team, endpoint, user);
    const { body, ...counts } = await prepare();
    const startsAt = timeNow();
    const ordered = {
      ...recorded,
      id: randomUUID(),
      endpointUrl: opened.endpoint.url,
      startedAt: iso(startsAt),
      expiresAt: iso(startsAt + maxDeliveryMs + slackMs),
      finishedAt: null,
      user: user.email ?? user.name,
      ...counts,
      attempts: [newAttempt(startsAt)],
      outcome: null,
    };
    const { record, endpoint: first } = await store.change(team, state => begun(state, ordered, opened));
    if (first === undefined) {
      if (record.outcome === endpointChanged) telemetry.exported('FAILED');
      return record;
    }
    operation.executedAt ??= performance.now();
    const call = { url, body, id: record.id, startsAt, parent: operation.span };
    const delivery = this.#run(team, record, call, first, opened);
    this.#running.add(delivery);
    return delivery.finally(() => this.#running.delete(delivery));
  }

  /** @param first the endpoint as it was when the first attempt was recorded. @param opened what it had sealed when the export was prepared. */
  async #run(
    team: TeamKey,
    record: ExportRecord,
    call: OutboundCall,
    first: Endpoint,
    opened: OpenedEndpoint,
  ): Promise<ExportRecord> {
    const { seals, guard, telemetry } = this.#deps;
    const begin = async (attempts: ExportAttempt[]) => {
      // The record began with the first attempt.
      const endpoint =
        attempts.length === 1
          ? first
          : await this.#recordAttempt(team, record.id, attempts, first).catch(error => this.#stop(error));
      if (endpoint === undefined) return undefined;
      // Its signing secret may have been replaced.
      const isSame = endpoint.sealedSigningSecrets === opened.endpoint.sealedSigningSecrets;
      const { headers, secrets } = isSame ? opened : await seals.openAll(team, endpoint);
      // The store took its time, or this process was paused: once the record says UNKNOWN, the export may be retried.
      if (statusOf(record, timeNow() + attemptMs) !== 'RUNNING') {
        this.#stop(
          new Error(`The export ${record.id} was stopped: no further call could end before its record says UNKNOWN`),
        );
      }
      return { ...headers, ...signatureHeaders(secrets, call, new Date(timeNow())) };
    };
    let known: Parameters<Telemetry['exported']>[0] = 'UNKNOWN';
    try {
      const delivery = await deliver(call, guard, begin);
      const ended = { ...record, ...delivery, finishedAt: iso(timeNow()) };
      const { kind } = ended.outcome;
      const failedAt = kind === 'FAILED' ? record.startedAt : null;
      const isSame = await this.#recordEnd(team, ended, first, failedAt);
      if (isSame !== undefined) known = kind;
      if (isSame ?? ended.outcome !== endpointChanged) this.#tell(team, first, call.url, failedAt, ended.attempts);
      return ended;
    } finally {
      telemetry.exported(known);
    }
  }

  /** @returns the endpoint, if it is as it was. */
  #recordAttempt(team: TeamKey, id: string, attempts: ExportAttempt[], first: Endpoint): Promise<Endpoint | undefined> {
    const change = (state: TeamState) => {
      const same = sameEndpoint(state, first);
      return { value: same && withProgress(state, id, { attempts }), result: same };
    };
    return recordRetry.execute(() => this.#deps.store.change(team, change));
  }

  /** Also records whether the endpoint took it. @returns whether that is still as it was; undefined if it was not recorded in time, but is tried on. */
  #recordEnd(
    team: TeamKey,
    { id, attempts, outcome, finishedAt }: ExportRecord & { readonly outcome: ExportOutcome },
    first: Endpoint,
    failedAt: string | null,
  ): Promise<boolean | undefined> {
    const { store, report } = this.#deps;
    const end = {
      attempts,
      outcome: storedOutcome(outcome),
      finishedAt,
      // Nothing repeats it from now on.
      ...(outcome.kind === 'DELIVERED' && { repeatable: null }),
    };
    const change = (state: TeamState) => ({
      value: withProgress(withTaken(state, first, failedAt), id, end),
      result: sameEndpoint(state, first) !== undefined,
    });
    const record = () => recordRetry.execute(() => store.change(team, change));
    return record().catch(error => {
      report(error);
      recordLater.execute(record).catch(report);
      return undefined;
    });
  }

  #stop(error: unknown): never {
    this.#deps.report(error);
    const words = 'The export could not be recorded in time, and was stopped; read `exports` to see what is known';
    throw new UpstreamUnavailable(words, undefined, false);
  }
}

/** An endpoint, as logs and metrics name it. */
export const loggedEndpoint = (team: TeamKey, name: string) =>
  `Endpoint ${JSON.stringify(name)} of team ${loggedTeam(team)}`;

function repeatableOf(companies: unknown, { name, email }: ExportUser): ExportRecord['repeatable'] {
  const text = JSON.stringify(companies);
  // As it is once it was stored and read again.
  return text.length > maxLength.selection ? null : { companies: JSON.parse(text), user: { name, email } };
}

/** The outcome as it is stored: without its URLs if it is too long. The client that waits gets them at any length. */
function storedOutcome(outcome: ExportOutcome): ExportOutcome {
  if (outcome.kind === 'FAILED' || JSON.stringify(outcome).length <= maxLength.outcome) return outcome;
  if (outcome.kind === 'DELIVERED') return { ...outcome, redirectUrl: null };
  return { ...outcome, references: outcome.references.map(reference => ({ ...reference, url: null })) };
}

const digestOf = (input: readonly unknown[]) => hash('sha256', JSON.stringify(input), 'base64url');
