import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Below the ports that outgoing connections take: a client that tries again and again to reach a stopped server must
// not be given that server's port as its own. A cluster's bus listens 10,000 higher, which is free there too.
const lowestPort = 12_000;
const portCount = 8_000;
const attempts = 20;

/** Typed and described in redis-server.d.mts. Plain JavaScript, because Jest's global setup runs it untransformed. */
export async function startRedis({ args = [] } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'redis-'));
  let { child, port } = await startOnFreePort(folder, args);

  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get process() {
      return child;
    },
    kill,
    async restart() {
      await kill();
      child = await launch(folder, port, args);
    },
    pause() {
      child.kill('SIGSTOP');
    },
    resume() {
      child.kill('SIGCONT');
    },
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startOnFreePort(folder, args) {
  for (let attempt = 1; ; attempt++) {
    const port = lowestPort + Math.floor(Math.random() * portCount);
    try {
      return { child: await launch(folder, port, args), port };
    } catch (error) {
      if (attempt === attempts || !/Address already in use/.test(error.message)) {
        await rm(folder, { recursive: true, force: true });
        throw error;
      }
    }
  }
}

async function launch(folder, port, args) {
  const settings = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: folder };
  const child = spawn(
    'redis-server',
    [...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]), ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let log = '';
  await new Promise((resolve, reject) => {
    const read = chunk => {
      log += chunk;
      if (log.includes('Ready to accept connections')) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    child.once('close', () => reject(new Error(`redis-server did not start: ${log}`)));
  });
  return child;
}
