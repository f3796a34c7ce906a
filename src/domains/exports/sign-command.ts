import { hash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createSealer } from '../../auth/seal.js';
import { type Config, readConfig } from '../../config/config.js';
import { createSigner } from '../../data/cache/signer.js';
import { connectForCommand } from '../../data/redis.js';
import { openFileStore } from './file-store.js';
import { type ExportRecord, type TeamState, teamState } from './model.js';
import { createRedisStore } from './redis-store.js';
import { safeHtml } from './safe-html.js';
import { openSigned, signedText, type TextStore } from './team-store.js';

const print = (line: string) => process.stdout.write(`${line}\n`);

/**
 * `npm run sign-exports`: signs the endpoints and exports of all teams, and seals what they have sealed, with the first `SESSION_SECRET`. Shows those without a
 * valid signature, and signs them only if it gets the digest of exactly these. Runs with the environment of a gateway. @throws Error with one line
 */
async function signExports(env: Record<string, string | undefined>, args: string[]): Promise<void> {
  const takeOver = parseArgs({ args, options: { 'take-over': { type: 'string' } } }).values['take-over'];
  const config = readConfig(env);
  if (!config.isSecretSet) throw new Error('SESSION_SECRET: must be set, as the gateways have it');
  const texts = await openTexts(config);
  const [signer, sealer] = [createSigner(config.sessionSecrets), createSealer(config.sessionSecrets)];

  const textOf = (name: string) => texts.change(name, text => ({ result: text ?? '' }));
  /** Signs what is stored under a name. False if it is not the same text any more. @param shown the hash of a text without a valid signature. */
  async function signAgain(name: string, shown: string | undefined): Promise<boolean> {
    const text = await textOf(name);
    const state = hash('sha256', text) === shown ? readState(text) : openSigned(signer, name, text);
    if (state === undefined) throw new Error(`What is stored under ${name} was changed meanwhile, and is not signed`);
    const endpoints = state.endpoints.map(async endpoint => ({
      ...endpoint,
      sealedHeaders: endpoint.sealedHeaders && (await sealer.resealed(endpoint.sealedHeaders)),
      sealedSigningSecrets: endpoint.sealedSigningSecrets && (await sealer.resealed(endpoint.sealedSigningSecrets)),
    }));
    const value = signedText(signer, name, { ...state, endpoints: await Promise.all(endpoints) });
    return texts.change(name, now => (now === text ? { value, result: true } : { result: false }));
  }

  const names = (await texts.names()).toSorted();
  const unsigned = new Map<string, string>();
  const unreadable: string[] = [];
  for (const name of names) {
    const text = await textOf(name);
    if (openSigned(signer, name, text) !== undefined) continue;
    const state = readState(text);
    if (state === undefined) unreadable.push(name);
    else unsigned.set(name, hash('sha256', text));
    print(described(name, state));
  }
  const digest = hash('sha256', JSON.stringify([...unsigned]));
  if (takeOver !== undefined && takeOver !== digest) {
    throw new Error(
      `--take-over: ${takeOver} is not the digest of what has no valid signature now. Nothing was signed`,
    );
  }
  const signed = names.filter(name => !unreadable.includes(name) && (takeOver !== undefined || !unsigned.has(name)));
  for (const name of signed) while (!(await signAgain(name, unsigned.get(name))));
  print(
    `Signed with the first SESSION_SECRET: the endpoints and exports of ${signed.length} of ${names.length} teams.`,
  );
  if (unsigned.size > 0 && takeOver === undefined) {
    throw new Error(
      `The others have no valid signature, and are refused. If each endpoint above is right: npm run sign-exports -- --take-over ${digest}`,
    );
  }
  if (unreadable.length > 0)
    throw new Error('The others cannot be read, and are refused. Delete what is stored under their names');
}

/** The state in a text that no gateway signed: what someone else wrote must not act in a page. Undefined if it is not the state of a team. */
function readState(text: string): TeamState | undefined {
  try {
    const { signature: _, ...state } = teamState.parse(JSON.parse(text));
    return { ...state, exports: state.exports.map(sanitized) };
  } catch {
    return undefined;
  }
}

function sanitized(record: ExportRecord): ExportRecord {
  const { outcome } = record;
  if (outcome === null || outcome.kind === 'FAILED') return record;
  return { ...record, outcome: { ...outcome, message: safeHtml(outcome.message) } };
}

/** The endpoints of a state, in ASCII: what someone else wrote must not control the terminal. */
function described(name: string, state: TeamState | undefined): string {
  const endpoints = state?.endpoints.map(({ sealedHeaders: _, sealedSigningSecrets: __, ...endpoint }) => endpoint);
  const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify({ team: name, endpoints: endpoints ?? 'cannot be read' }).replace(/[^ -~]/g, escaped);
}

/** @throws Error that says why Redis or the folder cannot be used. */
async function openTexts({ redis: urls, dataDir }: Config): Promise<TextStore> {
  if (urls === undefined) return openFileStore(dataDir, { warn() {}, works() {} });
  const redis = await connectForCommand(urls, 'nothing was signed');
  return createRedisStore(redis, { redisFault() {}, redisWorks() {} });
}

try {
  await signExports(process.env, process.argv.slice(2));
  // Once its reader has all of it.
  process.stdout.write('', () => process.exit());
} catch (error) {
  process.stderr.write(`${(error as Error).message.replace(/\s+/g, ' ')}\n`);
  process.exit(1);
}
