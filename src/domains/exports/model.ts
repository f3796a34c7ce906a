// What is stored for a team: its endpoints and exports.
import { z } from 'zod';
import { timeNow } from '../../lib/clock.js';
import { oncePerValue } from '../../lib/run.js';

const text = z.string();

// What is stored keeps the members that a newer gateway has added: all objects are loose, because each change writes them again.

/** An endpoint of a team (docs/upstream-api.md: Endpoint registration). The values of its headers are encrypted. */
const endpoint = z.looseObject({
  name: text,
  /** Made at the registration: after another one under the same name, it is another endpoint. */
  registration: text,
  /** Made at the registration, and by each update of the URL or headers. What was started for another revision is not sent. */
  revision: text,
  url: text,
  description: text,
  headerNames: z.array(text),
  sealedHeaders: text.nullable(),
  /** The encrypted secrets that sign its exports. */
  sealedSigningSecrets: text,
  /** The time of the first of the calls that it did not take, up to the last one. Null if it took the last one, or there was none. */
  failingSince: text.nullable(),
});

/** One call to an endpoint. It is recorded before it is made: if status, fault and duration are null, its end is not known. */
const attempt = z.looseObject({
  startedAt: text,
  status: z.int().nullable(),
  /** Why there was no response. */
  fault: z.enum(['TIMEOUT', 'BROKEN', 'ADDRESS_REFUSED']).nullable(),
  milliseconds: z.int().nullable(),
  /** Whether there was a connection: nothing was sent without one. Left out while that is not known. */
  isConnected: z.boolean().optional(),
  /** What came, and what would be right. Null if nothing is wrong. */
  explanation: text.nullable(),
});

const reference = z.looseObject({
  title: text,
  message: text.nullable(),
  url: text.nullable(),
  type: z.enum(['OK', 'INFO', 'WARNING', 'ERROR']),
});

/** `message` is sanitized HTML, `messageText` is the same as plain text. */
const shownText = { title: text, message: text, messageText: text };

/** The result of an export that has ended (docs/upstream-api.md: Expected response). */
const outcome = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('DELIVERED'), ...shownText, redirectUrl: text.nullable() }),
  z.looseObject({ kind: z.literal('REJECTED'), ...shownText, references: z.array(reference) }),
  z.looseObject({ kind: z.literal('FAILED'), message: text }),
]);

/** An export, recorded before its first call. Times are UTC ISO 8601. */
const exportRecord = z.looseObject({
  /** Also the `Idempotency-Key` of each of its calls. */
  id: text,
  startedAt: text,
  /** From this time on, an export without an outcome counts as abandoned: the process that was sending it has stopped. */
  expiresAt: text,
  finishedAt: text.nullable(),
  /** The client that requested it: an e-mail address, or a name for the API key. */
  by: text,
  /** The user for the placeholders: the e-mail address, otherwise the name. */
  user: text.nullable(),
  endpoint: text,
  /** Of the endpoint when the export started, with its placeholders. No call goes anywhere else. */
  endpointUrl: text,
  /** Null for a test of the endpoint. */
  marketId: text.nullable(),
  selected: z.int(),
  sent: z.int(),
  idempotencyKey: text.nullable(),
  inputDigest: text,
  retryOf: text.nullable(),
  /** What a retry needs. Null for a selection that is too long to be stored, and once the export was delivered. */
  repeatable: z
    .looseObject({ companies: z.unknown(), user: z.looseObject({ name: text.nullable(), email: text.nullable() }) })
    .nullable(),
  attempts: z.array(attempt),
  outcome: outcome.nullable(),
});

/** Everything that is stored for one team: its endpoints by name, and its exports, oldest first. */
export const teamState = z.looseObject({ endpoints: z.array(endpoint), exports: z.array(exportRecord) });

export type Endpoint = z.output<typeof endpoint>;
export type ExportAttempt = z.output<typeof attempt>;
export type ExportOutcome = z.output<typeof outcome>;
export type ExportRecord = z.output<typeof exportRecord>;
export type TeamState = z.output<typeof teamState>;

export const emptyTeam: TeamState = { endpoints: [], exports: [] };

/** The text of an export. Made once: a change of a team leaves most of its exports as they are. */
export const jsonOf = oncePerValue((record: ExportRecord) => JSON.stringify(record));

/** The state of an export. `UNKNOWN`: the process that was sending it stopped before it recorded an outcome. */
type ExportStatus = ExportOutcome['kind'] | 'RUNNING' | 'UNKNOWN';

/** @param now milliseconds since 1970. */
export function statusOf({ outcome, expiresAt }: ExportRecord, now = timeNow()): ExportStatus {
  return outcome?.kind ?? (now < Date.parse(expiresAt) ? 'RUNNING' : 'UNKNOWN');
}
