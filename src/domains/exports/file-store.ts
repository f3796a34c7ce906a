import type { BigIntStats } from 'node:fs';
import { access, constants, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, reasonOf } from '../../config/configuration-error.js';
import { UpstreamUnavailable } from '../../errors.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { failureInWords } from '../../observability/warnings.js';
import { emptyTeam, type TeamState, teamState } from './model.js';
import { sealsIn, type TeamStore } from './store.js';

const content = z.object({ version: z.literal(1), teams: z.record(z.string(), teamState) });

type Teams = ReadonlyMap<string, TeamState>;

/**
 * Keeps everything in `exports.json` in a folder of this gateway's own, which is made where it is missing. Each change replaces the file as a
 * whole: written beside it, forced to the disk, then renamed, so that a process killed at any moment leaves the old one or the new.
 * @throws InvalidConfig where the folder cannot be written to, and where there is a file that cannot be understood; it stays as it is until
 * somebody has looked at it.
 * @param warn hears of a disk that fails later on: it may be full. Nothing is lost by it but the change, which fails with UPSTREAM_UNAVAILABLE.
 */
export async function openFileStore(folder: string, warn: Telemetry['warn']): Promise<TeamStore> {
  const file = join(folder, 'exports.json');
  await prepare(folder);
  await removeLeftovers(folder);
  let version = await versionOf(file);
  let teams = abandoned(await readTeams(file));
  let queue: Promise<unknown> = Promise.resolve();

  /** Another gateway may have written meanwhile: the one that this one replaces does, until it has ended. */
  async function refresh(): Promise<void> {
    const found = await versionOf(file);
    if (found === version) return;
    teams = await readTeams(file);
    version = found;
  }

  async function write(changed: Teams): Promise<void> {
    version = await replace(folder, file, JSON.stringify({ version: 1, teams: Object.fromEntries(changed) }));
    teams = changed;
  }

  function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = queue.then(run).catch(unavailable);
    queue = turn.catch(() => {});
    return turn;
  }

  function unavailable(error: NodeJS.ErrnoException): never {
    if (error.syscall === undefined) throw error;
    const message = `DATA_DIR: ${failureInWords(error)}; until it can be written to, exports are refused`;
    warn(message, message);
    throw new UpstreamUnavailable('The registry of exports cannot be reached now');
  }

  return {
    seals: () =>
      inTurn(async () => {
        await refresh();
        return [...teams.values()].flatMap(sealsIn);
      }),
    read: team =>
      inTurn(async () => {
        await refresh();
        return teams.get(team) ?? emptyTeam;
      }),
    change: (team, change) =>
      inTurn(async () => {
        await refresh();
        const { state, result } = change(teams.get(team) ?? emptyTeam);
        if (state !== undefined) await write(new Map(teams).set(team, state));
        return result;
      }),
  };
}

/** The operator is to hear of a folder that is of no use, at the start, and not a team at its first export. */
async function prepare(folder: string): Promise<void> {
  try {
    await make(folder);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new ConfigurationError(
      `DATA_DIR: ${resolve(folder)} must be a folder that can be written to, since without REDIS_URL exports are kept there: ${reasonOf(error)}`,
    );
  }
}

const make = (folder: string) => mkdir(folder, { recursive: true, mode: 0o700 });

/** Tells one content of the file from the next. */
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
      `DATA_DIR: ${file} cannot be read and was left as it is; mend it or move it away: ${reasonOf(error)}`,
    );
  }
}

/** What a killed process had not finished writing. A write of a living one fails by it, and confirms nothing. */
async function removeLeftovers(folder: string): Promise<void> {
  const leftovers = (await readdir(folder)).filter(name => /^exports\.json\.\d+\.new$/.test(name));
  await Promise.all(leftovers.map(name => rm(join(folder, name), { force: true })));
}

/** The exports that a process before this one has begun and not ended: it is gone, so that nobody need wait for them. */
function abandoned(teams: Teams): Teams {
  const expiresAt = new Date().toISOString();
  const expired = ({ endpoints, exports }: TeamState): TeamState => ({
    endpoints,
    exports: exports.map(record => (record.outcome === null ? { ...record, expiresAt } : record)),
  });
  return new Map([...teams].map(([team, state]) => [team, expired(state)]));
}

/** @returns the version of what was written. */
async function replace(folder: string, file: string, text: string): Promise<string> {
  await make(folder);
  // A name of this process: two that write at once must not mix what they write.
  const beside = `${file}.${process.pid}.new`;
  const handle = await open(beside, 'w', 0o600);
  let version: string;
  try {
    await handle.writeFile(text);
    await handle.sync();
    version = versionIn(await handle.stat({ bigint: true }));
  } finally {
    await handle.close();
  }
  await rename(beside, file);
  // The new name is on the disk only when the folder is.
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
