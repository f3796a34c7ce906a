// `npm run sign-exports`: signs the endpoints and exports of all teams, and seals what they have sealed, with the first `SESSION_SECRET`, so that a rotation
// can end. Runs with the environment of a gateway.
import { parseArgs } from 'node:util';
import { createSealer } from '../../auth/seal.js';
import { type Config, readConfig } from '../../config/config.js';
import { connectForCommand } from '../../data/redis.js';
import { createSigner } from '../../data/signer.js';
import { openFileStore } from './file-store.js';
import { createRedisStore } from './redis-store.js';
import { resealedBy } from './signing.js';
import { openSigned, signedText, type TextStore } from './team-store.js';

/** Leaves what has no valid signature as it is. @throws Error with one line */
async function signExports(env: Record<string, string | undefined>, args: string[]): Promise<void> {
  parseArgs({ args });
  const config = readConfig(env);
  if (!config.isSecretSet) throw new Error('SESSION_SECRET: must be set, as the gateways have it');
  const texts = await openTexts(config);
  const [signer, sealer] = [createSigner(config.sessionSecrets), createSealer(config.sessionSecrets)];

  /** Signs what is stored under a name. False if it has no valid signature. */
  async function signAgain(name: string): Promise<boolean> {
    const before = await texts.change(name, text => ({ result: text ?? '' }));
    const state = openSigned(signer, name, before);
    if (state === undefined) return false;
    const endpoints = state.endpoints.map(async each => ({ ...each, ...(await resealedBy(sealer, each)) }));
    const value = signedText(signer, name, { ...state, endpoints: await Promise.all(endpoints) });
    const isSame = await texts.change(name, text => ({
      value: text === before ? value : undefined,
      result: text === before,
    }));
    return isSame || signAgain(name);
  }

  const names = await texts.names();
  const refused: string[] = [];
  for (const name of names) if (!(await signAgain(name))) refused.push(name);
  const signed = names.length - refused.length;
  process.stdout.write(
    `Signed with the first SESSION_SECRET: the endpoints and exports of ${signed} of ${names.length} teams.\n`,
  );
  if (refused.length === 0) return;
  // In ASCII: what someone else wrote must not control the terminal.
  const listed = JSON.stringify(refused).replace(/[^ -~]/g, '?');
  throw new Error(
    `The others have no valid signature, and are refused: ${listed}. See "Signed endpoints and exports" in docs/operators.md`,
  );
}

/** @throws Error that says why Redis or the folder cannot be used. */
async function openTexts({ redis: urls, dataDir }: Config): Promise<TextStore> {
  if (urls === undefined) return openFileStore(dataDir, { stored() {} });
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
