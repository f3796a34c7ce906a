import { createHash, randomUUID } from 'node:crypto';
import { ExponentialBackoff, handleAll, retry } from 'cockatiel';
import { z } from 'zod';
import type { Sealer } from '../../auth/seal.js';
import type { TeamKey } from '../../auth/teams.js';
import { BadUserInput, Conflict, UpstreamUnavailable } from '../../errors.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { type AddressGuard, AddressRefused } from './address-guard.js';
import { deliver, longestDeliveryMs, newAttempt, type OutboundCall, type StartTimer } from './delivery.js';
import { type EndpointHeader, type ExportUser, resolvedUrl, templateUrl } from './endpoint.js';
import type { Endpoint, ExportAttempt, ExportRecord } from './model.js';
import type { Payload } from './payload.js';
import {
  type ExportKey,
  type ExportProgress,
  earlierExport,
  endpointNamed,
  exportWith,
  recentExports,
  type TeamStore,
  withEndpoint,
  withExport,
  withoutEndpoint,
  withProgress,
  withResealedHeaders,
} from './team-state.js';

/** An endpoint to register. Everything except the URL has been checked. */
export interface EndpointRegistration {
  readonly name: string;
  readonly url: string;
  readonly description: string;
  readonly headers: readonly EndpointHeader[];
}

/** A request for an export. */
export interface ExportRequest {
  readonly endpoint: string;
  readonly marketId: string;
  /** The choice of companies as the client gave it. It is part of the digest of the input. */
  readonly companies: unknown;
  readonly user: ExportUser;
  /** The client that made the request: an e-mail address, or a name for the API key. */
  readonly by: string;
  readonly idempotencyKey: string | null;
}

/** The endpoints of teams, and the exports to them. Lives as long as the process. */
export interface Exports {
  /** The endpoints of a team, sorted by name. */
  endpoints(team: TeamKey): Promise<readonly Endpoint[]>;
  /** @throws BadUserInput for a URL that exports may not use; Conflict if the name is taken. */
  register(team: TeamKey, registration: EndpointRegistration): Promise<Endpoint>;
  /** @throws NotFound */
  remove(team: TeamKey, name: string): Promise<Endpoint>;
  /**
   * Sends an export, or returns the earlier one with the same idempotency key. Goes on if the client disconnects.
   * @param prepare creates the payload; called only if something is to be sent.
   * @throws NotFound, Conflict, RateLimited or BadUserInput if nothing was sent; UpstreamUnavailable that is not `retryable` if something was.
   */
  send(team: TeamKey, request: ExportRequest, prepare: () => Promise<Payload>): Promise<ExportRecord>;
  /** The last 100 exports of a team, newest first. */
  recent(team: TeamKey): Promise<readonly ExportRecord[]>;
  /** The newest export of a team with this identifier or idempotency key. Undefined if there is none. */
  find(team: TeamKey, key: ExportKey): Promise<ExportRecord | undefined>;
  /** How many endpoints have headers that are sealed with a secret other than the first. */
  outdated(): Promise<number>;
  /** Resolves when no export is running. */
  idle(): Promise<void>;
}

/** What `createExports` depends on. */
export interface ExportsDeps {
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

const sealedHeaders = z.object({ for: z.string(), headers: z.record(z.string(), z.string()) });

export function createExports(deps: ExportsDeps): Exports {
  const { store, sealer, guard, startTimer, httpsOnly, telemetry, report } = deps;
  const running = new Set<Promise<unknown>>();

  async function sealHeaders(team: TeamKey, { name, url, headers }: EndpointRegistration): Promise<string | null> {
    if (headers.length === 0) return null;
    const values = Object.fromEntries(headers.map(header => [header.name, header.value]));
    return sealer.seal({ for: purpose(team, name, url), headers: values }, 0);
  }

  /** The headers of an endpoint. If they were sealed with an older secret, `resealed` is sealed with the first one. */
  async function openHeaders(team: TeamKey, endpoint: Endpoint) {
    if (endpoint.sealedHeaders === null) return { headers: {}, resealed: undefined };
    const content = await sealer.open(endpoint.sealedHeaders).catch(() => undefined);
    const { data } = sealedHeaders.safeParse(content);
    if (data?.for === purpose(team, endpoint.name, endpoint.url)) {
      const isOutdated = sealer.isOutdated(endpoint.sealedHeaders);
      return { headers: data.headers, resealed: isOutdated ? await sealer.seal(data, 0) : undefined };
    }
    throw new Conflict(
      'The headers of this endpoint were sealed with a SESSION_SECRET that is no longer set; delete the endpoint and register it again',
    );
  }

  async function run(team: TeamKey, record: ExportRecord, call: OutboundCall): Promise<ExportRecord> {
    const recordProgress = (change: ExportProgress) =>
      recordRetry.execute(() =>
        store.change(team, state => ({ state: withProgress(state, call.id, change), result: undefined })),
      );
    const recordAttempts = (attempts: ExportAttempt[]) =>
      recordProgress({ attempts }).catch(error => {
        report(error);
        throw new UpstreamUnavailable(
          'The export was sent, but its outcome could not be recorded; read `exports` to see what is known',
          undefined,
          false,
        );
      });
    const { attempts, outcome } = await deliver(call, { guard, startTimer }, recordAttempts);
    telemetry.exported(outcome.kind);
    const end = { attempts, outcome, finishedAt: new Date().toISOString() };
    await recordProgress(end).catch(report);
    return { ...record, ...end };
  }

  return {
    endpoints: async team => (await store.read(team)).endpoints,
    recent: async team => recentExports(await store.read(team)),
    find: async (team, key) => exportWith(await store.read(team), key),
    outdated: async () => (await store.seals()).filter(seal => sealer.isOutdated(seal)).length,
    async idle() {
      await Promise.allSettled(running);
    },
    async register(team, registration) {
      const { name, url, description, headers } = registration;
      await checkAddress(guard, templateUrl(url, 'input.url', httpsOnly));
      const headerNames = headers.map(header => header.name);
      const endpoint = { name, url, description, headerNames, sealedHeaders: await sealHeaders(team, registration) };
      return store.change(team, state => ({ state: withEndpoint(state, endpoint), result: endpoint }));
    },
    remove: (team, name) =>
      store.change(team, state => ({ state: withoutEndpoint(state, name), result: endpointNamed(state, name) })),
    async send(team, request, prepare) {
      const inputDigest = digestOf(request);
      const { idempotencyKey } = request;
      const state = await store.read(team);
      const earlier = earlierExport(state, { idempotencyKey, inputDigest });
      if (earlier !== undefined) return earlier;

      const endpoint = endpointNamed(state, request.endpoint);
      const url = resolvedUrl(endpoint.url, request.user, httpsOnly);
      const { headers, resealed } = await openHeaders(team, endpoint);
      const { body, selected, sent } = await prepare();

      const id = randomUUID();
      const now = Date.now();
      const record: ExportRecord = {
        id,
        startedAt: new Date(now).toISOString(),
        expiresAt: new Date(now + longestDeliveryMs + slackMs).toISOString(),
        finishedAt: null,
        by: request.by,
        user: request.user.email ?? request.user.name,
        endpoint: request.endpoint,
        marketId: request.marketId,
        selected,
        sent,
        idempotencyKey,
        inputDigest,
        attempts: [newAttempt()],
        outcome: null,
      };
      // Record the export before anything is sent.
      const concurrent = await store.change(team, latest => {
        const first = earlierExport(latest, record);
        if (first !== undefined) return { result: first };
        endpointNamed(latest, request.endpoint);
        const current = resealed === undefined ? latest : withResealedHeaders(latest, endpoint, resealed);
        return { state: withExport(current, record), result: undefined };
      });
      if (concurrent !== undefined) return concurrent;

      const delivery = run(team, record, { url, headers, body, id });
      running.add(delivery);
      return delivery.finally(() => running.delete(delivery));
    },
  };
}

/** Binds sealed headers to their endpoint, so that they cannot be used with another URL. */
function purpose(team: TeamKey, name: string, url: string): string {
  return JSON.stringify(['export headers', team, name, url]);
}

function digestOf({ endpoint, marketId, companies, user }: ExportRequest): string {
  const text = JSON.stringify([endpoint, marketId, companies, user.name, user.email]);
  return createHash('sha256').update(text).digest('base64url');
}

async function checkAddress(guard: AddressGuard, url: URL): Promise<void> {
  try {
    await guard.check(url);
  } catch (error) {
    throw error instanceof AddressRefused ? new BadUserInput('input.url', error.message) : error;
  }
}
