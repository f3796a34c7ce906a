import { z } from 'zod';

const longestAddress = 1_024;

/** An address that a browser may be sent to; anything else reads as null, wherever it was kept. */
export const webAddress = z
  .string()
  .max(longestAddress)
  .refine(text => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol))
  .transform(text => new URL(text).href)
  .nullable()
  .catch(null);

/** A client's endpoint (docs/upstream-api.md: Endpoint registration). The values of its headers are sealed. */
const endpoint = z.object({
  name: z.string(),
  url: z.string(),
  description: z.string(),
  headerNames: z.array(z.string()),
  /** Null where there are no headers. */
  sealedHeaders: z.string().nullable(),
});

/** Why an attempt ended without an answer. */
const fault = z.enum(['TIMEOUT', 'BROKEN', 'ADDRESS_REFUSED']);

/** One call of an endpoint. Written down before it is made: without status, fault and duration, nobody knows how it ended. */
const attempt = z.object({
  startedAt: z.string(),
  status: z.int().nullable(),
  fault: fault.nullable(),
  milliseconds: z.int().nullable(),
});

const reference = z.object({
  title: z.string(),
  message: z.string().nullable(),
  url: webAddress,
  type: z.enum(['OK', 'INFO', 'WARNING', 'ERROR']),
});

/** What an export came to (docs/upstream-api.md: Expected response). `message` is sanitised HTML, `messageText` the same as plain text. */
const outcome = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('DELIVERED'),
    title: z.string(),
    message: z.string(),
    messageText: z.string(),
    redirectUrl: webAddress,
  }),
  z.object({
    kind: z.literal('REJECTED'),
    title: z.string(),
    message: z.string(),
    messageText: z.string(),
    references: z.array(reference),
  }),
  z.object({ kind: z.literal('FAILED'), message: z.string() }),
]);

/** An export, from the moment before its first call on. Times are UTC ISO 8601. */
const exportRecord = z.object({
  /** Also the `Idempotency-Key` of each of its calls. */
  id: z.string(),
  startedAt: z.string(),
  /** From then on, an export without an outcome is taken for one whose gateway died. */
  expiresAt: z.string(),
  finishedAt: z.string().nullable(),
  by: z.string(),
  /** The user that the placeholders stood for: the e-mail, or else the name. */
  user: z.string().nullable(),
  endpoint: z.string(),
  marketId: z.string(),
  selected: z.int(),
  sent: z.int(),
  idempotencyKey: z.string().nullable(),
  /** A digest of everything that the input asked for. */
  inputDigest: z.string(),
  attempts: z.array(attempt),
  outcome: outcome.nullable(),
});

/** All that is kept for one team: its endpoints by name, and its exports, the oldest first. */
export const teamState = z.object({ endpoints: z.array(endpoint), exports: z.array(exportRecord) });

export type Endpoint = z.output<typeof endpoint>;
export type Attempt = z.output<typeof attempt>;
export type Fault = z.output<typeof fault>;
export type Reference = z.output<typeof reference>;
export type Outcome = z.output<typeof outcome>;
export type ExportRecord = z.output<typeof exportRecord>;
export type TeamState = z.output<typeof teamState>;

/** A team of which nothing is kept yet. */
export const emptyTeam: TeamState = { endpoints: [], exports: [] };

/** How an export stands. `UNKNOWN`: it was begun, and the gateway that was sending it died. */
export type ExportStatus = Outcome['kind'] | 'RUNNING' | 'UNKNOWN';

/** @param now milliseconds since 1970. */
export function statusOf({ outcome, expiresAt }: ExportRecord, now = Date.now()): ExportStatus {
  return outcome?.kind ?? (now < Date.parse(expiresAt) ? 'RUNNING' : 'UNKNOWN');
}
