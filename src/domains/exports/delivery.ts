import { Client } from 'undici';
import { type AddressGuard, AddressRefused } from './address-guard.js';
import { genericFailure, meaningOf, outcomeOf } from './answers.js';
import type { Attempt, Outcome } from './model.js';

/** An outbound call (docs/upstream-api.md: Export to API), ready to be sent. */
export interface OutboundCall {
  readonly url: URL;
  /** The endpoint's own, which hold none of the fixed ones. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  /** Sent as `Idempotency-Key` with each attempt. */
  readonly id: string;
}

/** Calls `fire` once after some milliseconds, unless it is cancelled before. */
export type After = (milliseconds: number, fire: () => void) => () => void;

/** What a delivery came to, with all its attempts. */
export interface Delivered {
  readonly attempts: Attempt[];
  readonly outcome: Outcome;
}

const attemptMs = 15_000;
const mostRetries = 3;
/** The longest that all attempts together can take, in milliseconds. */
export const longestDeliveryMs = (1 + mostRetries) * attemptMs;
const largestBody = 1024 * 1024;
/** Statuses 100-199 that may come before the real one: an endpoint that goes on sending them would keep the parser busy for nothing. */
const mostInformational = 10;

const refusedMessage = 'The endpoint has an address that exports may not go to, so nothing was sent.';

/** How one attempt ended. The body is there where the answer is final and was not too large. */
type Ending =
  | { readonly status: number; readonly fault: null; readonly body: string | undefined }
  | { readonly status: null; readonly fault: NonNullable<Attempt['fault']> };

/** The timer of the process. */
export const realAfter: After = (milliseconds, fire) => {
  const timer = setTimeout(fire, milliseconds);
  return () => clearTimeout(timer);
};

/**
 * Sends a call to the client's endpoint: at most 15 s an attempt, and again at once, up to 3 times, after a status of 500-599, no
 * answer, or a broken connection (docs/upstream-api.md: Expected response). Redirects are not followed, and no proxy is used.
 * @param note is told all attempts so far before each but the first, so that no call goes out unrecorded. Where it throws, nothing more is sent.
 */
export async function deliver(
  call: OutboundCall,
  { guard, after }: { readonly guard: AddressGuard; readonly after: After },
  note: (attempts: Attempt[]) => Promise<void>,
): Promise<Delivered> {
  const attempts: Attempt[] = [];
  for (;;) {
    const begun = beginAttempt();
    if (attempts.length > 0) await note([...attempts, begun]);
    const startedAt = performance.now();
    const ending = await attemptOnce(call, guard, after);
    const milliseconds = Math.round(performance.now() - startedAt);
    attempts.push({ ...begun, status: ending.status, fault: ending.fault, milliseconds });

    if (ending.fault === 'ADDRESS_REFUSED') return { attempts, outcome: { kind: 'FAILED', message: refusedMessage } };
    if (ending.fault === null && meaningOf(ending.status) !== 'exception') {
      return { attempts, outcome: outcomeOf(ending.status, ending.body) };
    }
    if (attempts.length > mostRetries) return { attempts, outcome: { kind: 'FAILED', message: genericFailure } };
  }
}

/** An attempt that is about to be made. */
export function beginAttempt(): Attempt {
  return { startedAt: new Date().toISOString(), status: null, fault: null, milliseconds: null };
}

const timedOut = new Error('The time of the attempt is over');
const announcedTooOften = new Error('The endpoint announced an answer too often');

/** Each attempt has a connection of its own: one that was kept could have been closed meanwhile, which would cost a retry. */
async function attemptOnce(call: OutboundCall, guard: AddressGuard, after: After): Promise<Ending> {
  const client = new Client(call.url.origin, { connect: guard.connect, headersTimeout: 0, bodyTimeout: 0 });
  const ending = new AbortController();
  const cancel = after(attemptMs, () => ending.abort(timedOut));
  let informational = 0;
  try {
    const { statusCode, body } = await client.request({
      method: 'POST',
      path: call.url.pathname + call.url.search,
      headers: { ...call.headers, 'content-type': 'application/json', 'idempotency-key': call.id },
      body: call.body,
      reset: true,
      signal: ending.signal,
      onInfo() {
        informational += 1;
        if (informational > mostInformational) ending.abort(announcedTooOften);
      },
    });
    const wanted = ['delivered', 'rejected'].includes(meaningOf(statusCode));
    return { status: statusCode, fault: null, body: wanted ? await textOf(body) : undefined };
  } catch (error) {
    if (ending.signal.reason === timedOut) return { status: null, fault: 'TIMEOUT' };
    return { status: null, fault: error instanceof AddressRefused ? 'ADDRESS_REFUSED' : 'BROKEN' };
  } finally {
    cancel();
    await client.destroy();
  }
}

/** A body as text; undefined where it is too large, which ends the reading. */
async function textOf(body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > largestBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
