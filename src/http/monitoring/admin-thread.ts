// The thread of `ADMIN_PORT`. It holds only the latest readiness and metrics text.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { sharedRun } from '../../lib/shared-run.js';
import { Peer, withReadiness } from './readiness.js';

/** How long the thread waits for metrics, before it serves the last ones. */
const metricsMs = 500;

const { host, port }: { readonly host: string; readonly port: number } = workerData;
const gateway = new Peer(
  message => parentPort?.postMessage(message),
  async () => undefined,
  '',
);
parentPort?.on('message', message => gateway.hear(message));
const askForMetrics = sharedRun(() => gateway.ask(metricsMs).catch(() => {}));

const server = createServer((request, response) => {
  const path = request.url?.split('?', 1)[0];
  if (path === '/healthz') return sendStatus(response, !gateway.isStuck, gateway.isStuck ? 'stuck' : 'ok');
  if (path === '/readyz') {
    const { status } = gateway.readiness;
    return sendStatus(response, status === 'ready', status);
  }
  if (path === '/metrics')
    return void freshMetrics().then(text => send(response, 200, 'text/plain; version=0.0.4; charset=utf-8', text));
  send(response, 404, 'application/json', '{"status":"there is nothing at this address"}');
});
server.listen(port, host, () => parentPort?.postMessage((server.address() as AddressInfo).port));

/** The metrics as the gateway gives them now; if it is too busy, as it gave them last. The readiness is that of this moment. */
async function freshMetrics(): Promise<string> {
  await askForMetrics();
  return withReadiness(gateway.metrics, gateway.readiness);
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
