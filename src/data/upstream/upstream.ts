// The calls to the service.
// - Promises: each call ends, with what `read` makes of the reply or with a GatewayError, before one deadline. Only safe requests are sent a second time, and
//   of a credential's calls at most one in ten. A client whose calls fail, wait or are large blocks no other.
// - States of a call (`call.ts`): queued for a slot, sending, pausing before its second attempt, reading, ended. Of a circuit breaker, one for each scope
//   and endpoint family (`breaker.ts`): closed, open, trying.
// - Needs: the three addresses (`origins.ts`), the credential, the bounds of the request's body (`reply.ts`), and memory for the bytes that arrive.
// - Tells: the metadata of the response about each call, the metrics, the trace, and the log when the service fails and works again.
// - Never: caches, parses more than JSON, follows a redirect, or repeats a write.
import type { Dispatcher } from 'undici';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import { type PerScope, perScope, type Scope } from '../../auth/credentials.js';
import { Abandoned, NotConfigured, UpstreamTimeout } from '../../errors.js';
import { heapLimit } from '../../lib/heap.js';
import type { MaybePromise } from '../../lib/run.js';
import type { Tracing } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { Breaker, RetryBudget } from './breaker.js';
import { type Batch, Call, type Calls, type Target } from './call.js';
import { ByteBudget } from './exchange.js';
import { addressVariables, createDestinations, type UpstreamOptions } from './origins.js';
import { boundsOf } from './reply.js';
import type { CallAuth, Receiver, Reply, UpstreamRequest } from './request.js';

export type Upstream = ReturnType<typeof createUpstream>;

/**
 * @param acceptedScopes learns under which scopes the service answers.
 * @param wire takes the place of the connection pools: the seam where a test fakes the service.
 * @param tracing undefined turns tracing off.
 */
export function createUpstream(
  options: UpstreamOptions,
  telemetry: Telemetry,
  acceptedScopes: AcceptedScopes,
  wire?: Dispatcher,
  tracing?: Tracing,
) {
  const { timeoutMs } = options;
  const { targetOf, openBreakers, close, maxConnections } = createTargets(options, telemetry, wire);
  const retryBudgets = perScope(() => new RetryBudget());

  /**
   * Makes the calls of a batch. Each waits in the bulkhead, is guarded by the circuit breaker of its scope at its endpoint family, and is retried once if
   * its request is safe. One deadline is over all of them. The receiver learns of each GatewayError: the service's refusal, or UPSTREAM_TIMEOUT,
   * UPSTREAM_UNAVAILABLE, UPSTREAM_INVALID_RESPONSE, NOT_CONFIGURED; of Abandoned if the signal aborted; and of what `read` throws.
   * What the calls share is looked up, timed, reported and aborted once (docs/decisions/0055-upstream-call.md).
   * @param signal aborts when the caller no longer needs the replies. Without one the calls run to their end.
   * @returns what ends one call early.
   */
  function sendBatch<T>(calls: Calls<T>, signal?: AbortSignal) {
    const { scope } = calls.auth;
    /** By the index of the request. */
    const started: (Call<T> | undefined)[] = [];
    const targets: Target[] = [];
    let running = 0;

    const abortAll = (reason: Error) => {
      for (const call of started) call?.abort(reason);
    };
    const onDeadline = () => abortAll(new UpstreamTimeout(`The service did not answer within ${timeoutMs} ms`));
    const deadline = setTimeout(onDeadline, timeoutMs);
    const onAbort = () => abortAll(new Abandoned('The caller no longer needs the reply'));
    signal?.addEventListener('abort', onAbort);

    function end(): void {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', onAbort);
      for (const target of targets) reportCalls(telemetry, target);
    }

    const batch: Batch<T> = {
      deps: { acceptedScopes, telemetry, tracing },
      calls,
      retryBudget: retryBudgets.memo(scope ?? 'none'),
      client: acceptedScopes.turnOf(scope),
      deadlineAt: performance.now() + timeoutMs,
      isAccepted: false,
      leave() {
        running -= 1;
        if (running === 0) end();
      },
    };
    calls.requests.forEach((request, index) => {
      const { family, address } = request;
      try {
        const known = targets.find(target => target.family === family && target.address === address);
        const target = known ?? targetOf(request, scope ?? 'none', batch.client);
        if (known === undefined) targets.push(target);
        started[index] = new Call(batch, target, index, request);
        running += 1;
      } catch (error) {
        calls.receiver.reject(index, error as Error);
      }
    });
    batch.retryBudget.earn(running);
    if (running === 0) end();
    else if (signal?.aborted) onAbort();
    else for (const call of started) call?.enterBulkhead();
    return { abort: (index: number, reason: Error) => started[index]?.abort(reason) };
  }

  return {
    sendBatch,
    /** Makes one call, as a batch of one. @returns what `read` returns @throws what the receiver of a batch learns */
    send: <T>(
      request: UpstreamRequest,
      auth: CallAuth,
      read: (reply: Reply) => MaybePromise<T>,
      signal?: AbortSignal,
    ) =>
      new Promise<T>((resolve, reject) => {
        const receiver: Receiver<T> = { resolve: (_, value) => resolve(value), reject: (_, error) => reject(error) };
        sendBatch({ requests: [request], auth, read: (_, reply) => read(reply), receiver }, signal);
      }),
    openBreakers,
    close,
    maxConnections,
  };
}

/** Where calls go, and what those to one place share. */
function createTargets(options: UpstreamOptions, telemetry: Telemetry, wire: Dispatcher | undefined) {
  const destinations = createDestinations(options, wire);
  const origins = [...new Set([...destinations.values()].map(({ origin }) => origin))];
  /** The circuit breakers of each endpoint family: one for each scope, so that a client whose calls fail blocks no one else. */
  const families = new Map<string, PerScope<Breaker>>();
  const budget = new ByteBudget(bodyBudgetBytes);
  return {
    /** @throws NotConfigured */
    targetOf(request: UpstreamRequest, scope: Scope | 'none', client: Batch<unknown>['client']): Target {
      const { family, address } = request;
      const destination = destinations.get(address);
      if (destination === undefined) throw new NotConfigured(addressVariables[address]);
      const breakers = families.get(family) ?? perScope(scope => new Breaker(family, scope, telemetry));
      families.set(family, breakers);
      const limits = { bodyBytes: Math.min(boundsOf(request).bytes, bodyBudgetBytes), budget, client };
      // Anyone may sign in, and their attempts are limited: those that fail stop no other.
      const breaker = scope === 'none' ? new Breaker(family, scope, telemetry) : breakers.memo(scope);
      const shared = { breaker, limits, refusalKey: `${scope} ${family}` };
      return { family, address, ...destination, ...shared, times: [], works: false };
    },
    /** For how many credentials a circuit breaker is open, by endpoint family that was called. */
    openBreakers: (): Readonly<Record<string, number>> =>
      Object.fromEntries([...families].map(([family, breakers]) => [family, openOf(breakers)])),
    /** Waits for the calls in progress, then closes the connections. */
    async close(): Promise<void> {
      await Promise.all(origins.map(origin => origin.close()));
    },
    maxConnections: options.connections * origins.length,
  };
}

const openOf = (breakers: PerScope<Breaker>) => [...breakers.values()].filter(({ isOpen }) => isOpen).length;

function reportCalls(telemetry: Telemetry, { address, family, times, works }: Target): void {
  if (times.length > 0) telemetry.upstreamCalls({ family, status: 200, outcome: 'answered' }, times);
  if (works) telemetry.works(addressVariables[address], family);
}

/** In bytes, for the bodies of all replies that are being received, or wait to be read. A small heap allows fewer: they are parsed there. */
const bodyBudgetBytes = Math.min(heapLimit / 4, 512 * 1024 * 1024);
