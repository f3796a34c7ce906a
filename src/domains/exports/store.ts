import type { TeamKey } from '../../auth/teams.js';
import type { TeamState } from './model.js';

/** What a change makes of a team's state. A `state` that is undefined leaves it as it is. */
export interface Change<R> {
  readonly state?: TeamState;
  readonly result: R;
}

/** Keeps the state of every team. What a promise has confirmed outlives the process, however that ends. */
export interface TeamStore {
  read(team: TeamKey): Promise<TeamState>;
  /**
   * Changes a team's state as one step that no other comes between, in this process or another.
   * @param change is free of side effects, because it is called again where another change came first. Where it throws, nothing changes.
   */
  change<R>(team: TeamKey, change: (state: TeamState) => Change<R>): Promise<R>;
  /** The sealed headers of all endpoints of all teams, as far as their seals tell the secret; may be some seconds old. */
  seals(): Promise<readonly string[]>;
}

/** The beginning of each seal in a state, which names the secret (`Sealer.isOutdated`) and holds nothing that is sealed. */
export function sealsIn({ endpoints }: TeamState): readonly string[] {
  return endpoints.flatMap(({ sealedHeaders }) => sealedHeaders?.split('*', 2).join('*') ?? []);
}
