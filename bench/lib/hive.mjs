// Hive Gateway is started by its own command, over a supergraph that its own command composes.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openapi } from '../servers/hive/openapi.mjs';
import { freePort, start } from './processes.mjs';

const bench = fileURLToPath(new URL('..', import.meta.url));

/** @param {string} upstream the service's address @returns the path of the supergraph */
function compose(upstream) {
  const directory = mkdtempSync(join(tmpdir(), 'bench-hive-'));
  const description = join(directory, 'openapi.json');
  const supergraph = join(directory, 'supergraph.graphql');
  writeFileSync(description, JSON.stringify(openapi));
  execFileSync(
    process.execPath,
    ['node_modules/@graphql-mesh/compose-cli/esm/bin.js', '-c', 'servers/hive/mesh.config.mjs', '-o', supergraph],
    { cwd: bench, env: { ...process.env, BENCH_OPENAPI: description, UPSTREAM_BASE_URL: upstream }, stdio: 'pipe' },
  );
  return supergraph;
}

const composed = new Map();

/** @param {{ upstream: string, flags: string[], caches: boolean }} plan */
export async function startHive({ upstream, flags, caches }) {
  if (!composed.has(upstream)) composed.set(upstream, compose(upstream));
  const port = await freePort();
  const command = ['node_modules/@graphql-hive/gateway/dist/bin.js', 'supergraph', composed.get(upstream)];
  const options = ['--host', '127.0.0.1', '--port', String(port), '--fork', '1'];
  return start({
    args: [...flags, ...command, '--config-path', 'servers/hive/gateway.config.mjs', ...options],
    cwd: bench,
    env: caches ? { BENCH_CACHE: '1' } : {},
    origin: `http://127.0.0.1:${port}`,
  });
}
