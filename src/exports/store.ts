import type { TeamState } from './model.js';

/** What a change makes of a team's state. A `state` that is undefined leaves it as it is. */
export interface Change<R> {
  readonly state?: TeamState;
  readonly result: R;
}

/** Keeps the state of every team. What a promise has confirmed outlives the process, however that ends. */
export interface TeamStore {
  read(team: string): Promise<TeamState>;
  /**
   * Changes a team's state as one step that no other comes between, in this process or another.
   * @param change is free of side effects, because it is called again where another change came first. Where it throws, nothing changes.
   */
  change<R>(team: string, change: (state: TeamState) => Change<R>): Promise<R>;
}
