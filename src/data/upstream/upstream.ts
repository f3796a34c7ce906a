import type { Dispatcher } from 'undici';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Scope } from '../../auth/credentials.js';
import { Abandoned, NotConfigured, UpstreamTimeout } from '../../errors.js';
import { heapLimit } from '../../lib/heap.js';
import type { MaybePromise } from '../../lib/run.js';
import type { Tracing } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { type Breaker, createBreakers, perScope, RetryBudget } from './breaker.js';
import { type Batch, Call, type Calls, type Target } from './call.js';
import type { ByteBudget } from './exchange.js';
import { addressVariables, createDestinations, type UpstreamOptions } from './origins.js';
import { bodyBoundsOf, type Reply } from './reply.js';
import type { CallAuth, UpstreamRequest } from './request.js';

/** The upstream service, as the domains see it. */
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
  const destinations = createDestinations(options, wire);
  const families = new Map<string, ReturnType<typeof createBreakers>>();
  const budget: ByteBudget = { left: bodyBudgetBytes };
  const retryBudgets = perScope(() => new RetryBudget());

  function targetOf({ family, address }: UpstreamRequest, scope: Scope | 'none'): Target {
    const destination = destinations.get(address);
    if (destination === undefined) throw new NotConfigured(addressVariables[address]);
    const breakers = families.get(family) ?? createBreakers(family, telemetry);
    families.set(family, breakers);
    return {
      family,
      address,
      ...destination,
      breaker: breakers.memo(scope),
      limits: { bodyBytes: bodyBoundsOf(family).bytes, budget },
      refusalKey: `${scope} ${family}`,
      times: [],
      works: false,
    };
  }

  const deps = { acceptedScopes, telemetry, tracing, timeoutMs: options.timeoutMs, targetOf, retryBudgets };

  /**
   * Makes the calls of a batch. Each waits in the bulkhead, is guarded by the circuit breaker of its scope at its endpoint family, and is retried once if
   * its request is safe. One deadline is over all of them. The receiver learns of each GatewayError: the service's refusal, or UPSTREAM_TIMEOUT,
   * UPSTREAM_UNAVAILABLE, UPSTREAM_INVALID_RESPONSE, NOT_CONFIGURED; of Abandoned if the signal aborted; and of what `read` throws.
   * @param signal aborts when the caller no longer needs the replies. Without one the calls run to their end.
   */
  const sendBatch = <T>(calls: Calls<T>, signal?: AbortSignal) => new CallBatch(deps, calls, signal);

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
        const receiver = {
          resolve: (_: number, value: T) => resolve(value),
          reject: (_: number, error: Error) => reject(error),
        };
        sendBatch({ requests: [request], auth, read: (_, reply) => read(reply), receiver }, signal);
      }),
    /** For how many credentials a circuit breaker is open, by endpoint family that was called. */
    openBreakers(): Readonly<Record<string, number>> {
      const open = (breakers: Iterable<Breaker>) => [...breakers].filter(({ isOpen }) => isOpen).length;
      return Object.fromEntries([...families].map(([family, breakers]) => [family, open(breakers.values())]));
    },
    /** Waits for the calls in progress, then closes the connections. */
    async close(): Promise<void> {
      const origins = new Set([...destinations.values()].map(({ origin }) => origin));
      await Promise.all([...origins].map(origin => origin.close()));
    },
  };
}

/**
 * In bytes, for the bodies of all replies that are being received, or wait to be read, from all origins. A small heap allows fewer: the bodies are
 * parsed there.
 */
const bodyBudgetBytes = Math.min(heapLimit / 4, 512 * 1024 * 1024);

type BatchDeps = Batch<unknown>['deps'] & {
  readonly timeoutMs: number;
  /** @throws NotConfigured */
  readonly targetOf: (request: UpstreamRequest, scope: Scope | 'none') => Target;
  readonly retryBudgets: { memo(scope: Scope | 'none'): RetryBudget };
};

/** Some calls that are made together: what all of them share is looked up, timed, reported and aborted once (docs/decisions/0055-upstream-call.md). */
class CallBatch<T> implements Batch<T> {
  readonly deps: BatchDeps;
  readonly calls: Calls<T>;
  readonly retryBudget: RetryBudget;
  readonly client: Scope | 'unknown' | undefined;
  readonly deadlineAt: number;
  isAccepted = false;
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: NodeJS.Timeout;
  /** By the index of the request. */
  readonly #calls: (Call<T> | undefined)[] = [];
  readonly #targets: Target[] = [];
  #running = 0;

  constructor(deps: BatchDeps, calls: Calls<T>, signal: AbortSignal | undefined) {
    const { scope } = calls.auth;
    const { timeoutMs } = deps;
    this.deps = deps;
    this.calls = calls;
    this.retryBudget = deps.retryBudgets.memo(scope ?? 'none');
    this.client = scope === undefined || deps.acceptedScopes.has(scope) ? scope : 'unknown';
    this.deadlineAt = performance.now() + timeoutMs;
    this.#signal = signal;
    this.#deadline = setTimeout(() => {
      this.#abortAll(new UpstreamTimeout(`The service did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
    signal?.addEventListener('abort', this);
    let target: Target | undefined;
    for (const [index, request] of calls.requests.entries()) {
      try {
        if (target?.family !== request.family || target.address !== request.address) target = this.#targetOf(request);
      } catch (error) {
        calls.receiver.reject(index, error as Error);
        continue;
      }
      this.#calls[index] = new Call(this, target, index, request);
      this.#running += 1;
    }
    this.retryBudget.earn(this.#running);
    if (this.#running === 0) this.#close();
    else if (signal?.aborted) this.handleEvent();
    else for (const call of this.#calls) call?.enterBulkhead();
  }

  /** @throws NotConfigured */
  #targetOf(request: UpstreamRequest): Target {
    const known = this.#targets.find(({ family, address }) => family === request.family && address === request.address);
    if (known !== undefined) return known;
    const target = this.deps.targetOf(request, this.calls.auth.scope ?? 'none');
    this.#targets.push(target);
    return target;
  }

  /** The signal has aborted. */
  handleEvent(): void {
    this.#abortAll(new Abandoned('The caller no longer needs the reply'));
  }

  #abortAll(reason: Error): void {
    for (const call of this.#calls) call?.abort(reason);
  }

  /** Ends one call early. */
  abort(index: number, reason: Error): void {
    this.#calls[index]?.abort(reason);
  }

  leave(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#close();
  }

  #close(): void {
    clearTimeout(this.#deadline);
    this.#signal?.removeEventListener('abort', this);
    const { telemetry } = this.deps;
    for (const { address, family, times, works } of this.#targets) {
      if (times.length > 0) telemetry.upstreamCalls({ family, status: 200, outcome: 'answered' }, times);
      if (works) telemetry.works(addressVariables[address], family);
    }
  }
}
