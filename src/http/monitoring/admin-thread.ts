// The thread of `ADMIN_PORT`. It holds only the latest readiness and metrics text.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MessageChannel, parentPort, workerData } from 'node:worker_threads';
import { sharedRun } from '../../lib/run.js';
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

const server = createServer(async (request, response) => {
  const { status, type = 'application/json; charset=utf-8', body } = await answer(request);
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
});
server.listen(port, host, () => parentPort?.postMessage((server.address() as AddressInfo).port));

async function answer(request: IncomingMessage): Promise<AdminResponse & { readonly type?: string }> {
  const [path = ''] = (request.url ?? '').split('?', 1);
  if (path === '/healthz') return gateway.isStuck ? statusResponse(503, 'stuck') : statusResponse(200, 'ok');
  if (path === '/readyz') {
    const { status } = gateway.readiness;
    return statusResponse(status === 'ready' ? 200 : 503, status);
  }
  if (path !== '/metrics') return passOn(request, path);
  await askForMetrics();
  // If the gateway is too busy, as it gave them last. The readiness is that of this moment.
  return { status: 200, ...metricsFor(request.headers.accept, withReadiness(gateway.metrics, gateway.readiness)) };
}

const statusResponse = (status: number, words: string) => ({ status, body: JSON.stringify({ status: words }) });

/** Lets the gateway answer. 503 while it is too busy. */
async function passOn(request: IncomingMessage, path: string): Promise<AdminResponse> {
  const { port1: own, port2: port } = new MessageChannel();
  try {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) {
      body += chunk;
      if (body.length > maxBodyBytes) return statusResponse(413, 'the body is too large');
    }
    const { method, headers } = request;
    const passed: AdminRequest = { method, path, host: headers.host, authorization: headers.authorization, body };
    parentPort?.postMessage({ request: passed, port }, [port]);
    const [answer] = await once(own, 'message', { signal: AbortSignal.timeout(answerMs) });
    return answer;
  } catch {
    return statusResponse(503, 'busy');
  } finally {
    own.close();
  }
}
