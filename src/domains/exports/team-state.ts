// Changes of the state of a team, as functions without side effects.
import { Conflict, NotFound, RateLimited } from '../../errors.js';
import { timeNow } from '../../lib/clock.js';
import { dayMs } from '../../lib/time.js';
import { endpointChanged } from './delivery.js';
import { type Endpoint, type ExportRecord, jsonOf, statusOf, type TeamState } from './model.js';
import type { OpenedEndpoint } from './signing.js';
import type { Change } from './team-store.js';

const maxEndpoints = 100;
const maxInFlight = 5;
const maxPerDay = 500;
const keptExports = 100;
/** Of JSON text. A change writes the exports of the team again, and in a file those of all teams. */
const maxBytes = 8 * 1024 * 1024;

/** The endpoint with this name, or of this registration. @param argument which names it. @throws NotFound */
export function endpointNamed(
  { endpoints }: TeamState,
  name: string,
  by: 'name' | 'registration' = 'name',
  argument = 'input.endpoint',
): Endpoint {
  const found = endpoints.find(endpoint => endpoint[by] === name);
  if (found === undefined) throw new NotFound('The team has no endpoint with this name', undefined, argument);
  return found;
}

/** The endpoint as it is now, perhaps with a new signing secret. Undefined if it was updated, deleted or registered anew in the meantime. */
export function sameEndpoint({ endpoints }: TeamState, { name, revision }: Endpoint): Endpoint | undefined {
  return endpoints.find(endpoint => endpoint.name === name && endpoint.revision === revision);
}

/** Adds an endpoint. @throws Conflict if the name is taken, or if the team has 100 endpoints. */
export function withEndpoint(state: TeamState, endpoint: Endpoint): TeamState {
  if (state.endpoints.some(({ name }) => name === endpoint.name)) {
    const message = 'The team already has an endpoint with this name; change it with updateExportEndpoint';
    throw new Conflict(message, undefined, 'input.name');
  }
  if (state.endpoints.length >= maxEndpoints) throw new Conflict(`A team can have at most ${maxEndpoints} endpoints`);
  const endpoints = [...state.endpoints, endpoint].sort((one, other) => one.name.localeCompare(other.name, 'en'));
  return { ...state, endpoints };
}

/** Removes an endpoint. @throws NotFound */
export function withoutEndpoint(state: TeamState, name: string): TeamState {
  const removed = endpointNamed(state, name);
  return { ...state, endpoints: state.endpoints.filter(endpoint => endpoint !== removed) };
}

/** Changes an endpoint. Undefined if it has changed in the meantime: what a client changes seals the signing secrets anew. */
export function withChanged(
  state: TeamState,
  before: Endpoint,
  changes: Partial<Omit<Endpoint, 'name'>>,
): TeamState | undefined {
  const isSame = ({ name, sealedSigningSecrets }: Endpoint) =>
    name === before.name && sealedSigningSecrets === before.sealedSigningSecrets;
  if (!state.endpoints.some(isSame)) return undefined;
  return { ...state, endpoints: state.endpoints.map(each => (isSame(each) ? { ...each, ...changes } : each)) };
}

/** Notes whether an endpoint, if it is still as it was, took a call. @param failedAt null: it did. */
export function withTaken(state: TeamState, endpoint: Endpoint, failedAt: string | null): TeamState {
  const same = sameEndpoint(state, endpoint);
  const failingSince = failedAt && (same?.failingSince ?? failedAt);
  return (same && withChanged(state, same, { failingSince })) ?? state;
}

/** The export of the last 24 hours with the same idempotency key, if there is one. @throws Conflict if its input was different, or it is running. */
export function earlierExport(
  state: TeamState,
  { idempotencyKey, inputDigest }: Pick<ExportRecord, 'idempotencyKey' | 'inputDigest'>,
): ExportRecord | undefined {
  if (idempotencyKey === null) return undefined;
  const earliest = timeNow() - dayMs;
  const found = state.exports.findLast(
    record => record.idempotencyKey === idempotencyKey && Date.parse(record.startedAt) > earliest,
  );
  if (found === undefined) return undefined;
  const refuse = (message: string) => new Conflict(message, undefined, 'input.idempotencyKey');
  if (found.inputDigest !== inputDigest)
    throw refuse('This idempotencyKey was used in the last 24 hours for an export with different input');
  if (statusOf(found) === 'RUNNING') throw refuse('The export with this idempotencyKey is still running');
  return found;
}

/**
 * Adds an export, and drops those that are neither from the last 24 hours nor among the last 100 exports and the last 8 MB.
 * @throws RateLimited if too many exports are running, or were started in the last 24 hours, or if the latter take more than 8 MB.
 */
export function withExport(state: TeamState, record: ExportRecord): TeamState {
  const earliest = timeNow() - dayMs;
  const running = state.exports.filter(other => statusOf(other) === 'RUNNING');
  if (running.length >= maxInFlight) {
    throw new RateLimited(`A team can run at most ${maxInFlight} exports at a time`);
  }
  const isRecent = ({ startedAt }: ExportRecord) => Date.parse(startedAt) > earliest;
  if (state.exports.filter(isRecent).length >= maxPerDay) {
    throw new RateLimited(`A team can start at most ${maxPerDay} exports in 24 hours`);
  }
  let bytes = 0;
  // By when they began: one that another gateway began a moment later may have been stored before.
  const newestFirst = [...state.exports, record]
    .toReversed()
    .sort((one, other) => Date.parse(other.startedAt) - Date.parse(one.startedAt));
  const kept = newestFirst.filter((each, index) => {
    bytes += Buffer.byteLength(jsonOf(each));
    if (!isRecent(each)) return index < keptExports && bytes <= maxBytes;
    if (bytes > maxBytes) throw new RateLimited('A team can store at most 8 MB of exports in 24 hours');
    return true;
  });
  return { ...state, exports: kept.reverse() };
}

/**
 * Begins an export.
 * @param opened the endpoint as it was when the export was prepared; its seals are replaced by new ones.
 * @returns the endpoint, to which it is to be sent. None if it ended without a call: its endpoint was changed, or the record is an earlier one with its key.
 * @throws Conflict or RateLimited if it may not begin.
 */
export function begun(
  state: TeamState,
  record: ExportRecord,
  { endpoint, resealed }: OpenedEndpoint,
): Change<TeamState, { readonly record: ExportRecord; readonly endpoint?: Endpoint }> {
  const first = earlierExport(state, record);
  if (first !== undefined) return { result: { record: first } };
  if (record.retryOf !== null) exportToRetry(state, record.retryOf);
  const found = sameEndpoint(state, endpoint);
  if (found === undefined) {
    const unsent = { ...record, attempts: [], outcome: endpointChanged, finishedAt: record.startedAt };
    return { value: withExport(state, unsent), result: { record: unsent } };
  }
  const current = withChanged(state, endpoint, resealed) ?? state;
  return { value: withExport(current, record), result: { record, endpoint: found } };
}

/** The export with this identifier. @param argument which names it. @throws NotFound */
export function exportNamed(state: TeamState, id: string, argument: string): ExportRecord {
  const found = exportWith(state, { id });
  if (found === undefined)
    throw new NotFound('The team has no such export, or it is no longer remembered', undefined, argument);
  return found;
}

export const retriedArgument = 'input.exportId';

/** The export to retry. @throws NotFound; Conflict if it is running, was delivered or has been retried, so that no two retries run at once. */
export function exportToRetry(state: TeamState, id: string): ExportRecord {
  const record = exportNamed(state, id, retriedArgument);
  const status = statusOf(record);
  const refuse = (message: string) => new Conflict(message, undefined, retriedArgument);
  if (status === 'RUNNING' || status === 'DELIVERED')
    throw refuse(`Only an export that failed can be retried; the outcome of this one is ${status}`);
  const retry = retryOfExport(state, id);
  if (retry !== undefined) throw refuse(`This export was retried already, by the export ${retry.id}`);
  return record;
}

/** The export that retries the one with this identifier. Undefined if there is none. */
export function retryOfExport({ exports }: TeamState, id: string): ExportRecord | undefined {
  return exports.find(({ retryOf }) => retryOf === id);
}

/** Updates the record of an export while it runs, and when it ends. */
export function withProgress(
  state: TeamState,
  id: string,
  progress: Partial<Pick<ExportRecord, 'attempts' | 'outcome' | 'finishedAt' | 'repeatable'>>,
): TeamState {
  const exports = state.exports.map(record => (record.id === id ? { ...record, ...progress } : record));
  return { ...state, exports };
}

export type ExportKey = Partial<Pick<ExportRecord, 'id' | 'idempotencyKey'>>;

/** The newest export with this identifier or idempotency key. Undefined if there is none. */
export function exportWith({ exports }: TeamState, { id, idempotencyKey }: ExportKey): ExportRecord | undefined {
  return exports.findLast(record => (id == null ? record.idempotencyKey === idempotencyKey : record.id === id));
}

/** The last 100 exports, newest first. */
export function recentExports({ exports }: TeamState): readonly ExportRecord[] {
  return exports.slice(-keptExports).reverse();
}
