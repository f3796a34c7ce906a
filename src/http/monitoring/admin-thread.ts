// The thread of `ADMIN_PORT`. It holds only the latest readiness and metrics text.
import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { sharedRun } from '../../lib/shared-run.js';
import type { AdminAddress, FromAdminThread, ToAdminThread } from './admin-listener.js';
import { Heartbeat, withReadiness } from './readiness.js';

/** How long the thread waits for metrics, before it serves the last ones. */
const metricsMs = 500;

const { host, port } = workerData as AdminAddress;
const heartbeat = new Heartbeat();
let metrics = '';
const hearing = new EventEmitter();

const tell = (message: FromAdminThread) => parentPort?.postMessage(message);
const askForMetrics = sharedRun(() => {
  tell('metrics');
  return once(hearing, 'metrics', { signal: AbortSignal.timeout(metricsMs) }).catch(() => {});
});

parentPort?.on('message', (message: ToAdminThread) => {
  if (typeof message !== 'string') return heartbeat.hear(message);
  metrics = message;
  hearing.emit('metrics');
});

const server = createServer((request, response) => {
  const path = request.url?.split('?', 1)[0];
  if (path === '/healthz') return sendStatus(response, !heartbeat.isStuck, heartbeat.isStuck ? 'stuck' : 'ok');
  if (path === '/readyz') {
    const { status } = heartbeat.readiness;
    return sendStatus(response, status === 'ready', status);
  }
  if (path === '/metrics')
    return void freshMetrics().then(text => send(response, 200, 'text/plain; version=0.0.4; charset=utf-8', text));
  send(response, 404, 'application/json', '{"status":"there is nothing at this address"}');
});
server.on('error', error => tell({ failure: error.message }));
server.listen(port, host, () => tell({ port: (server.address() as AddressInfo).port }));

/** The metrics as the gateway gives them now; if it is too busy, as it gave them last. The readiness is that of this moment. */
async function freshMetrics(): Promise<string> {
  await askForMetrics();
  return withReadiness(metrics, heartbeat.readiness);
}

function sendStatus(response: ServerResponse, isGood: boolean, status: string): void {
  send(response, isGood ? 200 : 503, 'application/json; charset=utf-8', JSON.stringify({ status }));
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}
