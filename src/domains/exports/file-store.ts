import type { BigIntStats } from 'node:fs';
import { access, constants, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, reasonOf } from '../../config/configuration-error.js';
import { UpstreamUnavailable } from '../../errors.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { failureInWords } from '../../observability/warnings.js';
import { emptyTeam, type TeamState, teamState } from './model.js';
import { sealsIn, type TeamStore } from './team-state.js';

const content = z.object({ version: z.literal(1), teams: z.record(z.string(), teamState) });

type Teams = ReadonlyMap<string, TeamState>;

/**
 * Stores everything in `exports.json` in the given folder, which it creates if necessary. Each change replaces the whole file: it writes a new
 * file, syncs it to the disk and renames it. A process killed at any moment leaves either the old file or the new one.
 * @param telemetry is told when the disk fails later on, for example because it is full. Only the change is lost; it fails with UPSTREAM_UNAVAILABLE.
 * @throws ConfigurationError if the folder is not writable, or if the file cannot be parsed. The file stays as it is, for an operator to look at.
 */
export async function openFileStore(folder: string, telemetry: Pick<Telemetry, 'warn' | 'works'>): Promise<TeamStore> {
  const file = join(folder, 'exports.json');
  await prepare(folder);
  await removeLeftovers(folder);
  let version = await versionOf(file);
  let teams = abandoned(await readTeams(file));
  let queue: Promise<unknown> = Promise.resolve();

  /** Another process may have written the file: the one that this process replaces keeps writing until it ends. */
  async function refresh(): Promise<void> {
    const found = await versionOf(file);
    if (found === version) return;
    teams = await readTeams(file);
    version = found;
  }

  async function write(changed: Teams): Promise<void> {
    version = await replace(folder, file, JSON.stringify({ version: 1, teams: Object.fromEntries(changed) }));
    telemetry.works('DATA_DIR');
    teams = changed;
  }

  function serialize<T>(run: () => Promise<T>): Promise<T> {
    const result = queue.then(run).catch(unavailable);
    queue = result.catch(() => {});
    return result;
  }

  function unavailable(error: NodeJS.ErrnoException): never {
    if (error.syscall === undefined) throw error;
    telemetry.warn('DATA_DIR', failureInWords(error, 'exports are refused until it is writable again'));
    throw new UpstreamUnavailable('The export store is not available');
  }

  return {
    seals: () =>
      serialize(async () => {
        await refresh();
        return [...teams.values()].flatMap(sealsIn);
      }),
    read: team =>
      serialize(async () => {
        await refresh();
        return teams.get(team) ?? emptyTeam;
      }),
    change: (team, change) =>
      serialize(async () => {
        await refresh();
        const { state, result } = change(teams.get(team) ?? emptyTeam);
        if (state !== undefined) await write(new Map(teams).set(team, state));
        return result;
      }),
  };
}

/** Fails at the start if the folder cannot be used, rather than at the first export. */
async function prepare(folder: string): Promise<void> {
  try {
    await mkdir(folder, newFolder);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new ConfigurationError(
      `DATA_DIR: ${resolve(folder)} must be a writable folder, because exports are stored there unless REDIS_URL is set: ${reasonOf(error)}`,
    );
  }
}

const newFolder = { recursive: true, mode: 0o700 };

/** Changes whenever the file is replaced. */
async function versionOf(file: string): Promise<string> {
  const found = await stat(file, { bigint: true }).catch(ignoreAbsence);
  return found === undefined ? 'absent' : versionIn(found);
}

const versionIn = ({ ino, mtimeNs, size }: BigIntStats) => `${ino} ${mtimeNs} ${size}`;

async function readTeams(file: string): Promise<Teams> {
  try {
    const text = await readFile(file, 'utf8').catch(ignoreAbsence);
    return new Map(text === undefined ? [] : Object.entries(content.parse(JSON.parse(text)).teams));
  } catch (error) {
    throw new ConfigurationError(
      `DATA_DIR: ${file} cannot be read and was not changed; repair it or move it away: ${reasonOf(error)}`,
    );
  }
}

/** Removes files that a killed process did not finish. If a running process was writing one, its change fails. */
async function removeLeftovers(folder: string): Promise<void> {
  const leftovers = (await readdir(folder)).filter(name => /^exports\.json\.\d+\.new$/.test(name));
  await Promise.all(leftovers.map(name => rm(join(folder, name), { force: true })));
}

/** Expires the exports that an earlier process started and did not finish: that process has ended. */
function abandoned(teams: Teams): Teams {
  const expiresAt = new Date().toISOString();
  const expired = ({ endpoints, exports }: TeamState): TeamState => ({
    endpoints,
    exports: exports.map(record => (record.outcome === null ? { ...record, expiresAt } : record)),
  });
  return new Map([...teams].map(([team, state]) => [team, expired(state)]));
}

/** Replaces the file. @returns its new version. */
async function replace(folder: string, file: string, text: string): Promise<string> {
  await mkdir(folder, newFolder);
  // One name per process, so that two processes never write to the same file.
  const newFile = `${file}.${process.pid}.new`;
  const handle = await open(newFile, 'w', 0o600);
  let version: string;
  try {
    await handle.writeFile(text);
    await handle.sync();
    version = versionIn(await handle.stat({ bigint: true }));
  } finally {
    await handle.close();
  }
  await rename(newFile, file);
  // The rename is durable only once the folder is synced.
  const directory = await open(folder, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
  return version;
}

function ignoreAbsence(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
