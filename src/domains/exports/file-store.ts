// The endpoints and exports of all teams in one file, without Redis.
import { access, constants, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, reasonOf } from '../../config/configuration-error.js';
import { UpstreamUnavailable } from '../../errors.js';
import { readTextFile } from '../../lib/read-file.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { failureInWords } from '../../observability/warnings.js';
import { sealsIn, type TextStore } from './team-store.js';

/** Endpoints and exports are parsed once their signature is checked, so that a state that someone changed keeps only its own team from its exports. */
const teamSchema = z.looseObject({ endpoints: z.array(z.unknown()), exports: z.array(z.unknown()) });
const contentSchema = z.object({ version: z.literal(1), teams: z.record(z.string(), teamSchema) });

/** Of the file, which is read whole. */
const maxMiB = 256;

/** The JSON of each team, and what stands before it: a newer gateway may have added members. */
interface Content {
  readonly head: string;
  readonly teams: ReadonlyMap<string, string>;
}

/**
 * Stores everything in `exports.json` in the given folder, which it creates if necessary. Each change replaces the whole file: it writes a new
 * file, syncs it to the disk and renames it. A process killed at any moment leaves either the old file or the new one.
 * @param telemetry is told when the disk fails later on, for example because it is full. Only the change is lost; it fails with UPSTREAM_UNAVAILABLE.
 * @throws ConfigurationError if the folder is not writable, or if the file cannot be parsed. The file stays as it is, for an operator to look at.
 */
export async function openFileStore(folder: string, telemetry: Pick<Telemetry, 'stored'>): Promise<TextStore> {
  const file = join(folder, 'exports.json');
  await prepare(folder, () => mkdir(folder, newFolder));
  await removeLeftovers(folder);
  let version = await versionOf(file);
  let content = await readContent(file);
  let queue: Promise<unknown> = Promise.resolve();

  /** Another process may have written the file: the one that this process replaces keeps writing until it ends. */
  async function refresh(): Promise<void> {
    const found = await versionOf(file);
    if (found === version) return;
    content = await readContent(file);
    version = found;
    telemetry.stored();
  }

  async function write({ head, teams }: Content): Promise<void> {
    const members = [...teams].map(([team, text]) => `${JSON.stringify(team)}:${text}`);
    const text = `${head},"teams":{${members.join()}}}`;
    if (Buffer.byteLength(text) > maxMiB * 1024 * 1024) throw new UpstreamUnavailable('The export store is full');
    version = await replace(folder, file, text);
    telemetry.stored();
    content = { head, teams };
  }

  function serialize<T>(run: () => Promise<T>): Promise<T> {
    const result = queue.then(refresh).then(run).catch(unavailable);
    queue = result.catch(() => {});
    return result;
  }

  function unavailable(error: NodeJS.ErrnoException & { readonly isMade?: true }): never {
    const isDamaged = error instanceof ConfigurationError;
    if (error.syscall === undefined && !isDamaged) throw error;
    const damage = 'exports.json cannot be read; exports are refused until it is repaired or moved away';
    telemetry.stored(isDamaged ? damage : failureInWords(error, 'exports are refused until it is writable again'));
    throw new UpstreamUnavailable('The export store is not available', undefined, !error.isMade);
  }

  return {
    nameOf: team => team,
    names: () => serialize(async () => [...content.teams.keys()]),
    seals: () => serialize(async () => [...content.teams.values()].flatMap(sealsIn)),
    change: (team, change) =>
      serialize(async () => {
        const { head, teams } = content;
        const { value, result } = await change(teams.get(team));
        if (value !== undefined) await write({ head, teams: new Map(teams).set(team, value) });
        return result;
      }),
  };
}

/** Checks what `openFileStore` would find, and changes nothing: a running gateway may use the folder. @throws ConfigurationError as it does */
export async function checkFileStore(folder: string): Promise<void> {
  await prepare(folder, async () => {});
  await readContent(join(folder, 'exports.json'));
}

/** Fails at the start if the folder cannot be used, rather than at the first export. */
async function prepare(folder: string, make: () => Promise<unknown>): Promise<void> {
  try {
    await make();
    await access(await firstThere(folder), constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new ConfigurationError(
      `DATA_DIR: ${resolve(folder)} must be a writable folder, because exports are stored there unless REDIS_URL is set: ${reasonOf(error)}`,
    );
  }
}

/** The folder, or the one that it would be made in. */
async function firstThere(folder: string): Promise<string> {
  const isThere = await stat(folder).catch(ignoreAbsence);
  return isThere ? folder : firstThere(dirname(resolve(folder)));
}

const newFolder = { recursive: true, mode: 0o700 };

/** Changes whenever the file is replaced. Undefined if there is none. */
async function versionOf(file: string): Promise<string | undefined> {
  const found = await stat(file, { bigint: true }).catch(ignoreAbsence);
  return found && `${found.ino} ${found.mtimeNs} ${found.size}`;
}

async function readContent(file: string): Promise<Content> {
  try {
    const exists = await stat(file).catch(ignoreAbsence);
    const stored = exists ? JSON.parse(readTextFile(file, maxMiB)) : { version: 1, teams: {} };
    contentSchema.parse(stored);
    // As a gateway wrote and signed them, and not as they are parsed.
    const { teams, ...others } = stored;
    const texts = Object.entries(teams).map(([team, state]) => [team, JSON.stringify(state)] as const);
    return { head: JSON.stringify(others).slice(0, -1), teams: new Map(texts) };
  } catch (error) {
    throw new ConfigurationError(
      `DATA_DIR: ${file} cannot be read and was not changed; repair it or move it away: ${reasonOf(error)}`,
    );
  }
}

/** Removes files that a killed process did not finish. If a running process was writing one, its change fails. */
async function removeLeftovers(folder: string): Promise<void> {
  const leftovers = (await readdir(folder)).filter(name => /^exports\.json\.\d+\.new$/.test(name));
  await Promise.all(leftovers.map(name => rm(join(folder, name), { force: true, recursive: true })));
}

/** Replaces the file. @returns its new version. */
async function replace(folder: string, file: string, text: string): Promise<string | undefined> {
  await mkdir(folder, newFolder);
  // One name per process, so that two processes never write to the same file.
  const newFile = `${file}.${process.pid}.new`;
  await rm(newFile, { force: true, recursive: true });
  // Exclusive, and by its descriptor from then on, so that it follows no link.
  const written = await open(newFile, 'wx', 0o600);
  try {
    await written.writeFile(text);
    // A command that root runs must leave a file that the gateway can read.
    if (process.getuid?.() === 0) {
      const { uid, gid } = await stat(folder);
      await written.chown(uid, gid);
    }
    await written.sync();
  } finally {
    await written.close();
  }
  const version = await versionOf(newFile);
  // Before the rename, after which no failure means that nothing has changed.
  const directory = await open(folder, 'r');
  try {
    await rename(newFile, file);
    // The rename is durable only once the folder is synced. If that fails, the change is made.
    await directory.sync().catch(error => {
      throw Object.assign(error, { isMade: true });
    });
  } finally {
    await directory.close();
  }
  return version;
}

function ignoreAbsence(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
