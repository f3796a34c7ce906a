// The gateways of the fleet: whole ones from a build, each with a module registry, a log and a host of its own.
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { lineOf, listen, reset } from './network.mjs';
import { Host } from './time.mjs';

const folder = resolve('node_modules/.cache', `simulation-${process.pid}`);
const builds = [];

/**
 * Loads a build once for each gateway, under a name of its own (with `--preserve-symlinks`), so that their modules share nothing but the packages.
 * @param mutation of a file, by the bytes that it replaces.
 */
export async function loadBuilds(count, dist, mutation) {
  mkdirSync(folder, { recursive: true });
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['schema', 'operations', 'package.json']) symlinkSync(resolve(name), join(folder, name));
  for (let index = 0; index < count; index += 1) {
    const copy = join(folder, `dist-${index}`);
    if (!mutation) symlinkSync(resolve(dist), copy);
    else {
      cpSync(dist, copy, { recursive: true, filter: path => !path.endsWith('.map') });
      const path = join(copy, mutation.file);
      const code = readFileSync(path);
      const parts = [code.subarray(0, mutation.start), Buffer.from(mutation.text), code.subarray(mutation.end)];
      writeFileSync(path, Buffer.concat(parts));
    }
    const load = file => import(pathToFileURL(join(copy, file)));
    const [{ buildApp }, { readConfig }, { createSchema }] = [
      await load('app.js'),
      await load('config/config.js'),
      await load('schema.js'),
    ];
    // What is loaded in the middle of a request, which would take real time.
    await load('domains/exports/safe-html.js');
    await import('tough-cookie');
    builds.push({ buildApp, readConfig, schema: createSchema() });
  }
}

export class Gateway {
  isUp = false;
  lines = [];

  constructor(index, { seed, env, isAlone }) {
    Object.assign(this, { index, seed, env, isAlone, name: `gateway-${index}`, starts: 0 });
  }

  /** Starts it anew: with nothing of what it knew before. */
  async start() {
    this.starts += 1;
    const host = new Host(this.name, `${this.seed} ${this.starts}`);
    host.skewMs = this.host?.skewMs ?? 0;
    this.host = host;
    const { buildApp, readConfig, schema } = builds[this.index];
    const gateway = await host.run(async () => {
      const config = readConfig({
        UPSTREAM_BASE_URL: 'http://service',
        UPSTREAM_API_URL: 'http://service/api',
        UPSTREAM_DEV_URL: 'http://service/stage',
        // Without Redis, a gateway is alone, and keeps its exports in files.
        ...(this.isAlone ? { DATA_DIR: join(folder, `data-${this.seed}`) } : { REDIS_URL: 'redis://redis:6379' }),
        SESSION_SECRET: 's'.repeat(40),
        POLL_INTERVAL_MS: '2000',
        UPSTREAM_TIMEOUT_MS: '5000',
        LOG_LEVEL: 'info',
        // GraphiQL would be read from files, which takes real time.
        INTROSPECTION: 'false',
        ...this.env,
      });
      const log = { write: line => this.lines.push(JSON.parse(line)) };
      const built = await buildApp(config, {
        schema,
        log,
        resolve: async name => [name === 'inside.test' || lineOf(name).insideSince ? '10.0.0.1' : '8.8.8.8'],
      });
      // A server that listens would wait for its requests.
      built.app.addHook('preClose', async () => {
        const isClient = ({ line }) => line === lineOf(this.name);
        while ([...host.sockets].some(isClient)) await sleep(100);
      });
      await built.app.ready();
      return built;
    });
    if (host !== this.host || host.isDead) return;
    this.gateway = gateway;
    this.isUp = true;
    listen(this.name, host, socket => gateway.app.server.emit('connection', socket));
  }

  /** It is gone at once, with all its connections. */
  kill() {
    this.isUp = false;
    this.host.isDead = true;
    reset(this.host);
  }

  /** Closes it after its notice, as SIGTERM does; it is killed where that takes too long. */
  async stop(noticeMs) {
    const { host } = this;
    this.isUp = false;
    const cutOff = setTimeout(() => host === this.host && this.kill(), noticeMs + 10_000);
    await host.run(() => this.gateway.close(noticeMs));
    clearTimeout(cutOff);
  }
}
