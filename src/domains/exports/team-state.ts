import { Conflict, NotFound, RateLimited } from '../../errors.js';
import { type Endpoint, type ExportRecord, statusOf, type TeamState } from './model.js';

const mostEndpoints = 100;
const mostInFlight = 5;
const mostADay = 500;
const keptExports = 100;
const dayMs = 24 * 60 * 60 * 1_000;

/** The endpoint of that name. @throws NotFound */
export function endpointNamed({ endpoints }: TeamState, name: string): Endpoint {
  const found = endpoints.find(endpoint => endpoint.name === name);
  if (found === undefined) throw new NotFound('The team has no endpoint of this name');
  return found;
}

/** @throws Conflict where the name is taken, or the team has 100 endpoints. */
export function withEndpoint(state: TeamState, endpoint: Endpoint): TeamState {
  if (state.endpoints.some(({ name }) => name === endpoint.name)) {
    throw new Conflict('The team has an endpoint of this name; to change it, delete it and register it again');
  }
  if (state.endpoints.length >= mostEndpoints) throw new Conflict(`A team has at most ${mostEndpoints} endpoints`);
  const endpoints = [...state.endpoints, endpoint].sort((one, other) => (one.name < other.name ? -1 : 1));
  return { ...state, endpoints };
}

/** @throws NotFound */
export function withoutEndpoint(state: TeamState, name: string): TeamState {
  const gone = endpointNamed(state, name);
  return { ...state, endpoints: state.endpoints.filter(endpoint => endpoint !== gone) };
}

/** With an endpoint's headers sealed anew, unless they were replaced meanwhile. */
export function withSealedAnew(state: TeamState, { name, sealedHeaders }: Endpoint, anew: string): TeamState {
  const isSame = (endpoint: Endpoint) => endpoint.name === name && endpoint.sealedHeaders === sealedHeaders;
  const endpoints = state.endpoints.map(each => (isSame(each) ? { ...each, sealedHeaders: anew } : each));
  return { ...state, endpoints };
}

/**
 * The export of the last day that was begun with an idempotency key; undefined where there is none, or no key is given.
 * @throws Conflict where its input was another, or where it is still running.
 */
export function earlierExport(
  state: TeamState,
  { idempotencyKey, inputDigest }: Pick<ExportRecord, 'idempotencyKey' | 'inputDigest'>,
): ExportRecord | undefined {
  const earliest = Date.now() - dayMs;
  const found = state.exports.findLast(
    record =>
      idempotencyKey !== null && record.idempotencyKey === idempotencyKey && Date.parse(record.startedAt) > earliest,
  );
  if (found === undefined) return undefined;
  if (found.inputDigest !== inputDigest) {
    throw new Conflict('This idempotencyKey was used within the last day for an export with another input');
  }
  if (statusOf(found) === 'RUNNING') throw new Conflict('The export with this idempotencyKey is still running');
  return found;
}

/**
 * The state with one more export, and without those that need not be kept: all but the last 100 and those of the last day.
 * @throws RateLimited where too many are running, or were begun within a day.
 */
export function withExport(state: TeamState, record: ExportRecord): TeamState {
  const earliest = Date.now() - dayMs;
  const running = state.exports.filter(other => statusOf(other) === 'RUNNING');
  if (running.length >= mostInFlight) throw new RateLimited(`A team has at most ${mostInFlight} exports at a time`);
  const isRecent = ({ startedAt }: ExportRecord) => Date.parse(startedAt) > earliest;
  if (state.exports.filter(isRecent).length >= mostADay) {
    throw new RateLimited(`A team has at most ${mostADay} exports in 24 hours`);
  }
  const all = [...state.exports, record];
  const firstKept = all.length - keptExports;
  return { ...state, exports: all.filter((each, index) => index >= firstKept || isRecent(each)) };
}

/** What becomes known of an export after it was begun. */
export type Progress = Partial<Pick<ExportRecord, 'attempts' | 'outcome' | 'finishedAt'>>;

export function withProgress(state: TeamState, id: string, progress: Progress): TeamState {
  return {
    ...state,
    exports: state.exports.map(record => (record.id === id ? { ...record, ...progress } : record)),
  };
}

/** The last 100 exports, the newest first. */
export function recentExports({ exports }: TeamState): readonly ExportRecord[] {
  return exports.slice(-keptExports).reverse();
}
