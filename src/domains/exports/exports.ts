import { createHash, randomUUID } from 'node:crypto';
import { ExponentialBackoff, handleAll, retry } from 'cockatiel';
import { z } from 'zod';
import type { Sealer } from '../../auth/seal.js';
import type { TeamKey } from '../../auth/teams.js';
import { BadUserInput, Conflict, UpstreamUnavailable } from '../../errors.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { type AddressGuard, AddressRefused } from './address-guard.js';
import { type After, beginAttempt, deliver, longestDeliveryMs, type OutboundCall } from './delivery.js';
import type { Header } from './endpoint-headers.js';
import { type ExportUser, resolvedUrl, templateUrl } from './endpoint-url.js';
import type { Attempt, Endpoint, ExportRecord } from './model.js';
import type { Payload } from './payload.js';
import type { TeamStore } from './store.js';
import {
  earlierExport,
  endpointNamed,
  type Progress,
  recentExports,
  withEndpoint,
  withExport,
  withoutEndpoint,
  withProgress,
  withSealedAnew,
} from './team-state.js';

/** What an endpoint is registered with; everything but the url is checked. */
export interface Registration {
  readonly name: string;
  readonly url: string;
  readonly description: string;
  readonly headers: readonly Header[];
}

/** What a member of a team asks to be exported. */
export interface Order {
  readonly endpoint: string;
  readonly marketId: string;
  /** The choice of companies as it was asked for: what tells one input from another. */
  readonly companies: unknown;
  readonly user: ExportUser;
  /** Who asks: an e-mail address, or a name for the API key. */
  readonly by: string;
  readonly idempotencyKey: string | null;
}

/** The endpoints of teams, and the exports to them; lives as long as the process. */
export interface Exports {
  /** Sorted by name. */
  endpoints(team: TeamKey): Promise<readonly Endpoint[]>;
  /** @throws BadUserInput for a url that an export may not go to; Conflict where the name is taken. */
  register(team: TeamKey, registration: Registration): Promise<Endpoint>;
  /** @throws NotFound */
  remove(team: TeamKey, name: string): Promise<Endpoint>;
  /**
   * Sends an export, or tells what became of the one that was sent with the same idempotency key. Goes on when the client has gone.
   * @param prepare makes the payload; called only where something is to be sent.
   * @throws NotFound, Conflict, RateLimited, BadUserInput: then nothing was sent; UpstreamUnavailable that is not `retryable`: then it was.
   */
  send(team: TeamKey, order: Order, prepare: () => Promise<Payload>): Promise<ExportRecord>;
  /** The last 100, the newest first. */
  recent(team: TeamKey): Promise<readonly ExportRecord[]>;
  /** How many endpoints have headers that are sealed under another secret than the first. */
  outdated(): Promise<number>;
  /** Resolves when no export is running any more. */
  idle(): Promise<void>;
}

/** What exports need of the process. */
export interface ExportsDeps {
  readonly store: TeamStore;
  readonly sealer: Sealer;
  readonly guard: AddressGuard;
  readonly after: After;
  readonly httpsOnly: boolean;
  readonly telemetry: Pick<Telemetry, 'exported'>;
  /** Hears of an outcome that could not be recorded. */
  readonly report: (error: unknown) => void;
}

/** How much longer than its calls an export may take before it is taken for one whose gateway died. */
const slackMs = 10_000;

/** What is sent already should not go unrecorded because Redis was away for a moment: five seconds in all, within the slack. */
const insisting = retry(handleAll, {
  maxAttempts: 7,
  backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 1_000 }),
});

const sealedHeaders = z.object({ for: z.string(), headers: z.record(z.string(), z.string()) });

export function createExports({ store, sealer, guard, after, httpsOnly, telemetry, report }: ExportsDeps): Exports {
  const running = new Set<Promise<unknown>>();

  async function sealed(team: TeamKey, { name, url, headers }: Registration): Promise<string | null> {
    if (headers.length === 0) return null;
    const values = Object.fromEntries(headers.map(header => [header.name, header.value]));
    return sealer.seal({ for: purpose(team, name, url), headers: values }, 0);
  }

  /** The headers, and their seal under the first secret where they had one under an older. */
  async function opened(team: TeamKey, endpoint: Endpoint) {
    if (endpoint.sealedHeaders === null) return { headers: {}, anew: undefined };
    const content = await sealer.open(endpoint.sealedHeaders).catch(() => undefined);
    const { data } = sealedHeaders.safeParse(content);
    if (data?.for === purpose(team, endpoint.name, endpoint.url)) {
      const isOutdated = sealer.isOutdated(endpoint.sealedHeaders);
      return { headers: data.headers, anew: isOutdated ? await sealer.seal(data, 0) : undefined };
    }
    throw new Conflict(
      'The headers of this endpoint were sealed with a SESSION_SECRET that is no longer set; delete it and register it again',
    );
  }

  async function run(team: TeamKey, record: ExportRecord, call: OutboundCall): Promise<ExportRecord> {
    const progress = (change: Progress) =>
      insisting.execute(() =>
        store.change(team, state => ({ state: withProgress(state, call.id, change), result: undefined })),
      );
    const note = (attempts: Attempt[]) =>
      progress({ attempts }).catch(error => {
        report(error);
        throw new UpstreamUnavailable(
          'It was sent, and what came of it cannot be recorded: ask `exports`',
          undefined,
          false,
        );
      });
    const { attempts, outcome } = await deliver(call, { guard, after }, note);
    telemetry.exported(outcome.kind);
    const end = { attempts, outcome, finishedAt: new Date().toISOString() };
    await progress(end).catch(report);
    return { ...record, ...end };
  }

  return {
    endpoints: async team => (await store.read(team)).endpoints,
    recent: async team => recentExports(await store.read(team)),
    outdated: async () => (await store.seals()).filter(seal => sealer.isOutdated(seal)).length,
    async idle() {
      await Promise.allSettled(running);
    },
    async register(team, registration) {
      const { name, url, description, headers } = registration;
      await allowed(guard, templateUrl(url, 'input.url', httpsOnly));
      const headerNames = headers.map(header => header.name);
      const endpoint = { name, url, description, headerNames, sealedHeaders: await sealed(team, registration) };
      return store.change(team, state => ({ state: withEndpoint(state, endpoint), result: endpoint }));
    },
    remove: (team, name) =>
      store.change(team, state => ({ state: withoutEndpoint(state, name), result: endpointNamed(state, name) })),
    async send(team, order, prepare) {
      const inputDigest = digestOf(order);
      const { idempotencyKey } = order;
      const state = await store.read(team);
      const earlier = earlierExport(state, { idempotencyKey, inputDigest });
      if (earlier !== undefined) return earlier;

      const endpoint = endpointNamed(state, order.endpoint);
      const url = resolvedUrl(endpoint.url, order.user, httpsOnly);
      const { headers, anew } = await opened(team, endpoint);
      const { body, selected, sent } = await prepare();

      const id = randomUUID();
      const now = Date.now();
      const record: ExportRecord = {
        id,
        startedAt: new Date(now).toISOString(),
        expiresAt: new Date(now + longestDeliveryMs + slackMs).toISOString(),
        finishedAt: null,
        by: order.by,
        user: order.user.email ?? order.user.name,
        endpoint: order.endpoint,
        marketId: order.marketId,
        selected,
        sent,
        idempotencyKey,
        inputDigest,
        attempts: [beginAttempt()],
        outcome: null,
      };
      // Nothing is sent before it is written down that it will be.
      const before = await store.change(team, latest => {
        const first = earlierExport(latest, record);
        if (first !== undefined) return { result: first };
        endpointNamed(latest, order.endpoint);
        const renewed = anew === undefined ? latest : withSealedAnew(latest, endpoint, anew);
        return { state: withExport(renewed, record), result: undefined };
      });
      if (before !== undefined) return before;

      const delivery = run(team, record, { url, headers, body, id });
      running.add(delivery);
      return delivery.finally(() => running.delete(delivery));
    },
  };
}

/** Binds sealed headers to their endpoint, so that they open for no other address. */
function purpose(team: TeamKey, name: string, url: string): string {
  return JSON.stringify(['export headers', team, name, url]);
}

function digestOf({ endpoint, marketId, companies, user }: Order): string {
  const text = JSON.stringify([endpoint, marketId, companies, user.name, user.email]);
  return createHash('sha256').update(text).digest('base64url');
}

async function allowed(guard: AddressGuard, url: URL): Promise<void> {
  try {
    await guard.check(url);
  } catch (error) {
    throw error instanceof AddressRefused ? new BadUserInput('input.url', error.message) : error;
  }
}
