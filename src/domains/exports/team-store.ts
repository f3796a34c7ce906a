// Signs the state of each team, and refuses one that no gateway of the fleet signed.
import { LRUCache } from 'lru-cache';
import type { TeamKey } from '../../auth/teams.js';
import type { Signer } from '../../data/signer.js';
import { Conflict } from '../../errors.js';
import { cacheBytes } from '../../lib/heap.js';
import { type MaybePromise, runYielding } from '../../lib/run.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { emptyTeam, jsonOf, type TeamState, teamState } from './model.js';

/** The result of a function that changes what is stored. An undefined `value` leaves it as it is. */
export interface Change<T, R> {
  readonly value?: T | undefined;
  readonly result: R;
}

/** Stores a text under each name. Once a promise has resolved, its change survives any end of the process. */
export interface TextStore {
  nameOf(team: TeamKey): string;
  /**
   * Changes a text atomically, across all processes.
   * @param change must have no side effects, because it is called again after a conflict. If it throws, nothing changes.
   */
  change<R>(name: string, change: (text: string | undefined) => MaybePromise<Change<string, R>>): Promise<R>;
  names(): Promise<readonly string[]>;
  /** The prefixes of all seals (see `sealsIn`). They may be some seconds old. */
  seals(): Promise<readonly string[]>;
}

/** Characters of the texts that are kept with what is in them, which takes about three times as much. There is always room for the largest team. */
const maxKept = Math.max(cacheBytes / 2, 10 * 1024 * 1024);

export type TeamStore = ReturnType<typeof createTeamStore>;

/** The prefix of each seal and signature in a text. It identifies the secret (`Sealer.isOutdated`) and contains nothing that is sealed. */
export const sealsIn = (text: string): readonly string[] =>
  [...text.matchAll(/"(?:sealedHeaders|sealedSigningSecrets|signature)":"([\w.]*\*\w+)\*/g)].map(
    ([, seal = '']) => seal,
  );

/** The state as JSON whose last member is its signature for this name. */
export function signedText(signer: Signer, name: string, state: TeamState): string {
  const { exports, ...others } = state;
  const records = exports.flatMap(each => [jsonOf(each), ',']).slice(0, -1);
  const parts = [`${JSON.stringify(others).slice(0, -1)},"exports":[`, ...records, ']'];
  // Joined once: each text of some megabytes takes tens of milliseconds to make.
  return [...parts, `,"signature":"*${signer.id}*${signer.sign(name, ...parts, '}')}"}`].join('');
}

/** The state in a text. Undefined if no gateway of this fleet signed it for this name. */
export function openSigned(signer: Signer, name: string, text: string): TeamState | undefined {
  const end = text.lastIndexOf(',"signature":"');
  const signature = text.slice(text.lastIndexOf('*') + 1, -2);
  const json = signer.open(name, `${signature}${text.slice(0, end)}}`);
  return json === undefined ? undefined : teamState.parse(JSON.parse(json));
}

interface Opened {
  readonly text: string;
  readonly state: MaybePromise<TeamState | undefined>;
}

/** Stores signed states. @param forgets whether one without a valid signature counts as none: the secrets do not outlive the process. */
export function createTeamStore(texts: TextStore, signer: Signer, telemetry: Telemetry, forgets: boolean) {
  /** What was opened or stored last under each name: megabytes take tens of milliseconds to open, and no time to compare. */
  const opened = new LRUCache<string, Opened>({ maxSize: maxKept, sizeCalculation: ({ text }) => text.length + 1 });

  async function stateIn(team: TeamKey, name: string, text: string | undefined): Promise<TeamState> {
    if (text === undefined) return emptyTeam;
    const last = opened.get(name);
    const state = last?.text === text ? last.state : runYielding(team, () => openSigned(signer, name, text));
    // Also before it is open, for those who ask meanwhile.
    opened.set(name, { text, state });
    return (await state) ?? refused(name);
  }

  function refused(name: string): TeamState {
    telemetry.malformed('exports');
    const consequence = forgets
      ? 'it is forgotten, because SESSION_SECRET is not set'
      : 'it is refused. See "Signed endpoints and exports" in docs/operators.md';
    telemetry.warn('Exports', `no SESSION_SECRET of this gateway signed what is stored under ${name}: ${consequence}`);
    if (forgets) return emptyTeam;
    throw new Conflict(
      'The stored endpoints and exports of this team were changed, or signed with a SESSION_SECRET that is no longer set; ask the operator of the gateway',
    );
  }

  /** Changes the state of a team, as `TextStore.change` does. @throws Conflict if the stored state has no valid signature. */
  const change = async <R>(team: TeamKey, run: (state: TeamState) => Change<TeamState, R>): Promise<R> => {
    const name = texts.nameOf(team);
    let stored: Opened | undefined;
    const changed = await texts.change(name, async before => {
      const { value: state, result } = run(await stateIn(team, name, before));
      const text = state && (await runYielding(team, () => signedText(signer, name, state)));
      stored = text === undefined ? undefined : { text, state };
      return { value: text, result };
    });
    if (stored !== undefined) opened.set(name, stored);
    return changed;
  };
  return { seals: texts.seals, read: (team: TeamKey) => change(team, state => ({ result: state })), change };
}
