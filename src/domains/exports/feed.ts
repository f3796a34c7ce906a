import { isDeepStrictEqual } from 'node:util';
import type { TeamKey, Teams } from '../../auth/teams.js';
import type { Reloadable } from '../../config/values.js';
import type { Polling } from '../../data/polling/polling.js';
import type { RequestAuth } from '../../data/upstream/request.js';
import { Forbidden } from '../../errors.js';
import type { Exports } from './exports.js';
import { type ExportRecord, statusOf } from './model.js';
import { exportNamed } from './team-state.js';

interface FeedDeps {
  readonly exports: Pick<Exports, 'stateOf'>;
  readonly polling: Polling;
  readonly teams: Reloadable<Teams>;
}

/** An export of a team, until it has ended, perhaps in another gateway. @throws while reading: NOT_FOUND; Forbidden once the client has left the team. */
export const exportProgress =
  (team: TeamKey, id: string) =>
  async ({ exports, polling, teams }: FeedDeps, { credential, scope, cancellation: { signal } }: RequestAuth) => {
    const subscription = await polling.watch<ExportRecord>(
      scope,
      `export ${JSON.stringify([team, id])}`,
      {
        ask: async () => exportNamed(await exports.stateOf(team), id, 'exportId'),
        same: isDeepStrictEqual,
        isFinal: record => statusOf(record) !== 'RUNNING',
      },
      signal,
    );
    const endIfMoved = () => {
      if (teams.current.teamOf(credential)?.key !== team) {
        subscription.leave(new Forbidden('This client no longer belongs to the team of this export'));
      }
    };
    teams.onReload(endIfMoved, signal);
    // The teams may have changed since the request began.
    endIfMoved();
    return subscription;
  };
