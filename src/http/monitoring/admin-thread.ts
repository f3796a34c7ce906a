// The thread of `ADMIN_PORT`. It holds only the latest readiness and metrics text.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MessageChannel, parentPort, workerData } from 'node:worker_threads';
import { sharedRun } from '../../lib/shared-run.js';
import { metricsFor } from '../../observability/open-metrics.js';
import type { AdminRequest, AdminResponse } from './admin-routes.js';
import { Peer, withReadiness } from './readiness.js';

/** How long the thread waits for metrics, before it serves the last ones. */
const metricsMs = 500;
/** How long the gateway may take for any other response, in milliseconds. */
const answerMs = 5_000;
const maxBodyBytes = 1_024;

const { host, port }: { readonly host: string; readonly port: number } = workerData;
const gateway = new Peer(
  message => parentPort?.postMessage(message),
  async () => undefined,
  '',
);
parentPort?.on('message', message => gateway.hear(message));
const askForMetrics = sharedRun(() => gateway.ask(metricsMs).catch(() => {}));

const server = createServer((request, response) => {
  const [path = ''] = (request.url ?? '').split('?', 1);
  if (path === '/healthz') return sendStatus(response, !gateway.isStuck, gateway.isStuck ? 'stuck' : 'ok');
  if (path === '/readyz') {
    const { status } = gateway.readiness;
    return sendStatus(response, status === 'ready', status);
  }
  if (path === '/metrics') {
    return void freshMetrics().then(text => {
      const { type, body } = metricsFor(request.headers.accept, text);
      send(response, 200, type, body);
    });
  }
  void passOn(request, path).then(answer => sendJson(response, answer));
});
server.listen(port, host, () => parentPort?.postMessage((server.address() as AddressInfo).port));

/** The metrics as the gateway gives them now; if it is too busy, as it gave them last. The readiness is that of this moment. */
async function freshMetrics(): Promise<string> {
  await askForMetrics();
  return withReadiness(gateway.metrics, gateway.readiness);
}

/** Lets the gateway answer. 503 while it is too busy. */
async function passOn(request: IncomingMessage, path: string): Promise<AdminResponse> {
  const { port1: own, port2: port } = new MessageChannel();
  try {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) {
      body += chunk;
      if (body.length > maxBodyBytes) return { status: 413, body: '{"status":"the body is too large"}' };
    }
    const { method, headers } = request;
    const passed: AdminRequest = { method, path, host: headers.host, authorization: headers.authorization, body };
    parentPort?.postMessage({ request: passed, port }, [port]);
    const [answer] = await once(own, 'message', { signal: AbortSignal.timeout(answerMs) });
    return answer;
  } catch {
    return { status: 503, body: '{"status":"busy"}' };
  } finally {
    own.close();
  }
}

function sendStatus(response: ServerResponse, isGood: boolean, status: string): void {
  sendJson(response, { status: isGood ? 200 : 503, body: JSON.stringify({ status }) });
}

function sendJson(response: ServerResponse, { status, body }: AdminResponse): void {
  send(response, status, 'application/json; charset=utf-8', body);
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}
