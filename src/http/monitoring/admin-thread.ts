// The thread of `ADMIN_PORT`. It has nothing of the gateway but its last words.
import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { AdminAddress, FromAdminThread, Readiness, ToAdminThread } from './admin-listener.js';

/** A gateway that is silent for so long should get no new requests. */
const busyMs = 2_000;
/** A gateway that is silent for so long will not recover. A busy one must not be restarted. */
const stuckMs = 30_000;
/** How long the thread waits for metrics, before it serves the last ones. */
const metricsMs = 500;

const { host, port } = workerData as AdminAddress;
let readiness: Readiness | undefined;
let metrics = '';
let heardAt = performance.now();
/** The question for metrics that runs now. Scrapes at the same time share it. */
let asking: Promise<void> | undefined;
const hearing = new EventEmitter();

const tell = (message: FromAdminThread) => parentPort?.postMessage(message);
const silentMs = () => performance.now() - heardAt;

parentPort?.on('message', (message: ToAdminThread) => {
  heardAt = performance.now();
  if ('readiness' in message) {
    readiness = message.readiness;
    return;
  }
  metrics = message.metrics;
  hearing.emit('metrics');
});

const server = createServer((request, response) => {
  const path = request.url?.split('?', 1)[0];
  if (path === '/healthz') {
    const isStuck = silentMs() >= stuckMs;
    return sendStatus(response, !isStuck, isStuck ? 'stuck' : 'ok');
  }
  if (path === '/readyz') {
    const isBusy = silentMs() >= busyMs;
    return sendStatus(
      response,
      readiness?.isReady === true && !isBusy,
      isBusy ? 'busy' : (readiness?.status ?? 'starting'),
    );
  }
  if (path === '/metrics')
    return void freshMetrics().then(text => send(response, 200, 'text/plain; version=0.0.4; charset=utf-8', text));
  send(response, 404, 'application/json', '{"status":"there is nothing at this address"}');
});
server.on('error', error => tell({ failure: error.message }));
server.listen(port, host, () => tell({ port: (server.address() as AddressInfo).port }));

/** The metrics as the gateway gives them now; if it is too busy, as it gave them last. They say for how long it was silent. */
async function freshMetrics(): Promise<string> {
  asking ??= askForMetrics();
  await asking;
  asking = undefined;
  const name = 'gateway_silent_seconds';
  const help = `# HELP ${name} How long the event loop of the gateway has not been heard of\n# TYPE ${name} gauge\n`;
  return `${metrics}${help}${name} ${silentMs() / 1_000}\n`;
}

async function askForMetrics(): Promise<void> {
  tell('metrics');
  await Promise.race([once(hearing, 'metrics'), pause(metricsMs)]);
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
