import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { UpstreamTimeout } from '../errors.js';
import type { Telemetry } from '../telemetry.js';
import type { Span, Tracing } from '../tracing.js';
import type { Asker } from './asker.js';
import { createBreakers } from './breakers.js';
import { withDeadline } from './deadline.js';
import type { Reply } from './exchange.js';
import { faultOf, mayPass, outcomeOf } from './fault.js';
import { createGates, type UpstreamOptions } from './gates.js';
import { refusalOf } from './refusal.js';
import { pathAndQuery, type UpstreamRequest } from './request.js';
import { RetryBudget } from './retry-budget.js';

/** The whole of the service, as seen from a room. */
export interface Upstream {
  /**
   * One call under the policy of the house: a place in the bulkhead, one deadline over everything, a circuit breaker for its family,
   * one retry for a safe request. Resolves with a reply of status 200-299.
   * @param signal aborts the call when nobody waits for it any more.
   * @throws GatewayError: the service's refusal, or UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE, UPSTREAM_INVALID_RESPONSE, NOT_CONFIGURED.
   */
  send(request: UpstreamRequest, asker: Asker, signal: AbortSignal): Promise<Reply>;
  close(): Promise<void>;
}

const retryPauseMs = { least: 20, most: 120 };

/**
 * @param wire takes the place of the connection pools: the seam where a test fakes the service.
 * @param tracing undefined: nothing is traced.
 */
export function createUpstream(
  options: UpstreamOptions,
  telemetry: Telemetry,
  wire?: Dispatcher,
  tracing?: Tracing,
): Upstream {
  const gates = createGates(options, wire);
  const runInFamily = createBreakers();
  const budget = new RetryBudget();
  const tooLate = () => new UpstreamTimeout(`The service did not answer within ${options.timeoutMs} ms`);

  /** Writes a call that went out onto the asker's receipt, and into the metrics and the trace. */
  async function recorded(
    request: UpstreamRequest,
    asker: Asker,
    call: (span: Span | undefined) => Promise<Reply>,
  ): Promise<Reply> {
    const span = tracing?.call(asker.receipt.trail.span);
    const startedAt = performance.now();
    const record = (status: number | null, failure?: unknown) => {
      const { method, family } = request;
      const milliseconds = performance.now() - startedAt;
      const outcome = outcomeOf(failure);
      telemetry.upstreamCall({ family, status, milliseconds, outcome });
      const attributes = { 'http.request.method': method, 'http.response.status_code': status ?? undefined };
      const error = status === null ? outcome : status >= 400 ? String(status) : undefined;
      span?.end(`${method} ${family}`, attributes, error);
      asker.receipt.lines.push({ method, path: pathAndQuery(request), status, milliseconds, source: 'network' });
    };
    try {
      const reply = await call(span);
      record(reply.status);
      return reply;
    } catch (error) {
      record(null, error);
      throw error;
    }
  }

  async function attempt(request: UpstreamRequest, asker: Asker, deadline: AbortSignal): Promise<Reply> {
    const gate = gates.to(request.address);
    return gate.bulkhead.run(deadline, () =>
      runInFamily(request.family, async () => {
        const reply = await recorded(request, asker, span => gate.exchange(request, asker, span, deadline));
        if (reply.status < 200 || reply.status > 299) throw refusalOf(reply, request.safe);
        return reply;
      }),
    );
  }

  async function attemptTwice(request: UpstreamRequest, asker: Asker, deadline: AbortSignal): Promise<Reply> {
    budget.earn();
    try {
      return await attempt(request, asker, deadline);
    } catch (error) {
      if (!request.safe || !mayPass(error) || !budget.spend()) throw error;
      const pause = retryPauseMs.least + Math.random() * (retryPauseMs.most - retryPauseMs.least);
      await sleep(pause, undefined, { signal: deadline }).catch(() => deadline.throwIfAborted());
      return attempt(request, asker, deadline);
    }
  }

  return {
    async send(request, asker, signal) {
      try {
        return await withDeadline(options.timeoutMs, signal, tooLate, deadline =>
          attemptTwice(request, asker, deadline),
        );
      } catch (error) {
        throw faultOf(error, request.safe);
      }
    },
    close: gates.close,
  };
}
