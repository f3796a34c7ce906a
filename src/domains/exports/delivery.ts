// Sends an export to its endpoint, and says how each attempt ended.
import type { IncomingHttpHeaders } from 'node:http';
import { Client } from 'undici';
import { Chunks, joinBytes, readableEncodings, type UnreadableBody, utf8Pieces } from '../../lib/body.js';
import { timeNow } from '../../lib/clock.js';
import { iso } from '../../lib/time.js';
import { userAgent } from '../../observability/metrics.js';
import { type Span, serverAttributes } from '../../observability/operation-info.js';
import { type AddressGuard, AddressRefused } from './address-guard.js';
import {
  type EndpointContent,
  explanationOf,
  explanationOfNone,
  genericFailure,
  maxAnswerBytes,
  meaningOf,
  objectIn,
  outcomeOfResponse,
  tooLate,
} from './endpoint-response.js';
import type { ExportAttempt, ExportOutcome } from './model.js';

/** An outbound call (docs/upstream-api.md: Export to API), ready to be sent. */
export interface OutboundCall {
  readonly url: URL;
  /** JSON. */
  readonly body: string;
  /** Sent as `Idempotency-Key` with each attempt. */
  readonly id: string;
  /** When the first attempt starts, as it was recorded, in milliseconds since 1970. */
  readonly startsAt: number;
  /** The span of the operation: each attempt is a span below it. */
  readonly parent?: Span | undefined;
}

type SentHeaders = Readonly<Record<string, string>>;

/** How one attempt ended, and what the endpoint answered: empty without an answer that can be read. */
type AttemptEnd = Pick<ExportAttempt, 'status' | 'fault' | 'isConnected' | 'explanation'> & {
  readonly content: object;
};

/** The outcome of an export whose endpoint is not the one that it was started for. */
export const endpointChanged: ExportOutcome = {
  kind: 'FAILED',
  message:
    'The endpoint was changed or deleted after this export was requested, and nothing was sent since. To send it to the endpoint as it is now, retry it.',
};

export const attemptMs = 15_000;
const maxRetries = 3;
export const maxDeliveryMs = (1 + maxRetries) * attemptMs;
/** How many 1xx responses may precede the real one. An endpoint that keeps sending them would keep the parser busy. */
const maxInformational = 10;

/**
 * Sends a call to an endpoint, with at most 15 s for each attempt. Retries at once, up to 3 times, after a status of 500-599, no response,
 * or a broken connection (docs/upstream-api.md: Expected response). Follows no redirects and uses no proxy.
 * @param record gets all attempts so far before each attempt, so that no call goes out unrecorded, and returns the headers of the endpoint with those that sign
 *   the attempt. If it throws, or returns undefined because the endpoint was changed, nothing more is sent.
 */
export async function deliver(
  call: OutboundCall,
  guard: AddressGuard,
  record: (attempts: ExportAttempt[]) => Promise<SentHeaders | undefined>,
): Promise<{ attempts: ExportAttempt[]; outcome: ExportOutcome }> {
  // Not at the start, of which it would take a tenth; but before a call goes out, so that nothing can fail between its response and its outcome.
  const html = await import('./safe-html.js');
  const attempts: ExportAttempt[] = [];
  for (let startsAt = call.startsAt; ; startsAt = timeNow()) {
    const attempt = newAttempt(startsAt);
    const headers = await record([...attempts, attempt]);
    if (headers === undefined) return { attempts, outcome: endpointChanged };
    const startedAt = performance.now();
    const span = call.parent?.begin('client');
    const end = await attemptOnce(call, headers, guard);
    const milliseconds = Math.round(performance.now() - startedAt);
    if (span !== undefined) endSpan(span, call.url, end, attempts.length);
    const { content, ...known } = end;
    const { status, fault, explanation } = known;
    attempts.push({ ...attempt, ...known, milliseconds });

    if (status !== null && meaningOf(status) !== 'exception')
      return { attempts, outcome: outcomeOfResponse(status, content, html) };
    const isRefused = fault === 'ADDRESS_REFUSED';
    if (!isRefused && attempts.length <= maxRetries) continue;
    const message = isRefused && attempts.length === 1 ? `${explanation}` : genericFailure;
    return { attempts, outcome: { kind: 'FAILED', message } };
  }
}

/** Ends the span of an attempt. The path and the query of the endpoint are left out: they may hold a secret. */
function endSpan(span: Span, url: URL, { status, fault }: AttemptEnd, retries: number): void {
  const attributes = {
    'http.request.method': 'POST',
    'http.request.resend_count': retries || undefined,
    'http.response.status_code': status ?? undefined,
    'url.full': `${url.origin}/REDACTED`,
    ...serverAttributes(url),
  };
  span.end('POST export', attributes, fault ?? (Number(status) >= 400 ? String(status) : undefined));
}

/** An attempt that has not ended. */
export function newAttempt(startsAt: number): ExportAttempt {
  return { startedAt: iso(startsAt), status: null, fault: null, milliseconds: null, explanation: null };
}

const timedOut = new Error('The attempt timed out');
const tooManyInformational = new Error('The endpoint sent too many 1xx responses');

/** Makes one call. Opens a connection for each attempt: the endpoint could have closed an idle one, which would cost a retry. */
export async function attemptOnce(
  call: Pick<OutboundCall, 'url' | 'body' | 'id'>,
  endpointHeaders: SentHeaders,
  guard: AddressGuard,
): Promise<AttemptEnd> {
  const client = new Client(call.url.origin, { connect: guard.connect, headersTimeout: 0, bodyTimeout: 0 });
  const deadline = setTimeout(() => void client.destroy(timedOut), attemptMs);
  const informational: number[] = [];
  const isNamed = Object.keys(endpointHeaders).some(name => name.toLowerCase() === 'user-agent');
  let isConnected = false;
  client.once('connect', () => {
    isConnected = true;
  });
  try {
    const { statusCode, headers, body } = await client.request({
      method: 'POST',
      path: call.url.pathname + call.url.search,
      headers: {
        ...(!isNamed && { 'user-agent': userAgent }),
        ...endpointHeaders,
        'content-type': 'application/json',
        'accept-encoding': readableEncodings,
        'idempotency-key': call.id,
      },
      body: call.body,
      reset: true,
      onInfo({ statusCode: status }) {
        informational.push(status);
        if (informational.length > maxInformational) void client.destroy(tooManyInformational);
      },
    });
    const isRead = ['delivered', 'rejected'].includes(meaningOf(statusCode));
    const read = isRead ? await contentOf(body, headers) : undefined;
    const explanation = explanationOf(statusCode, read);
    return { status: statusCode, fault: null, isConnected, explanation, content: read?.content ?? {} };
  } catch (error) {
    const ended = { status: null, isConnected, content: {} };
    if (error === timedOut) return { ...ended, fault: 'TIMEOUT', explanation: tooLate };
    if (error instanceof AddressRefused)
      return { ...ended, fault: 'ADDRESS_REFUSED', explanation: `Nothing was sent: ${error.message}.` };
    return {
      ...ended,
      fault: 'BROKEN',
      explanation: explanationOfNone(informationalIn(error) ?? informational.at(-1)),
    };
  } finally {
    clearTimeout(deadline);
    await client.destroy();
  }
}

/** The 1xx status that undici takes for a broken connection, because nothing in the call asked for it. */
function informationalIn(error: unknown): number | undefined {
  return { 'bad response': 100, 'bad upgrade': 101 }[(error as Error).message];
}

/** A body, parsed once. Undefined if it is too large; the rest is then not read. */
async function contentOf(
  body: AsyncIterable<Buffer>,
  headers: IncomingHttpHeaders,
): Promise<EndpointContent | undefined> {
  const received = await bytesOf(body);
  try {
    const decoded = received && (await bytesOf(utf8Pieces(received, headers)));
    return decoded && { length: decoded.length, content: objectIn(decoded) };
  } catch (error) {
    return { length: received?.length ?? 0, content: {}, unreadable: (error as UnreadableBody).message };
  }
}

/** Undefined if there are too many. */
async function bytesOf(body: AsyncIterable<Buffer>): Promise<Buffer | undefined> {
  const chunks = new Chunks();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) return undefined;
    chunks.add(chunk);
  }
  return joinBytes(chunks.parts);
}
