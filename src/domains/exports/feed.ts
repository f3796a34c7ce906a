import { isDeepStrictEqual } from 'node:util';
import type { TeamKey } from '../../auth/teams.js';
import type { Polling } from '../../data/polling/polling.js';
import type { Snapshot } from '../../data/polling/state-message.js';
import type { TopicSubscription } from '../../data/polling/topic.js';
import type { RequestAuth } from '../../data/upstream/request.js';
import type { Exports } from './exports.js';
import { type ExportRecord, statusOf } from './model.js';
import { noSuchExport } from './team-state.js';

/** The subscriptions of the exports domain. */
export interface ExportsFeed {
  /** An export of a team, until it has ended. The store is read, so that it may run in another gateway. @throws while reading: NOT_FOUND. */
  exportProgress(team: TeamKey, id: string): Promise<TopicSubscription<Snapshot<ExportRecord>>>;
}

/** The feed for one client, until the signal of its request aborts. */
export function createExportsFeed(
  { exports, polling }: { readonly exports: Pick<Exports, 'find'>; readonly polling: Polling },
  { scope, cancellation }: Pick<RequestAuth, 'scope' | 'cancellation'>,
): ExportsFeed {
  return {
    exportProgress: (team, id) =>
      polling.watch<ExportRecord>(
        scope,
        `export ${JSON.stringify([team, id])}`,
        {
          async ask() {
            const record = await exports.find(team, { id });
            if (record === undefined) throw noSuchExport();
            return record;
          },
          same: isDeepStrictEqual,
          isFinal: record => statusOf(record) !== 'RUNNING',
        },
        cancellation.signal,
      ),
  };
}
