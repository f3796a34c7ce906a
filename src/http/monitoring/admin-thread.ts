// The thread of `ADMIN_PORT`. It holds only the latest readiness and metrics text.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MessageChannel, type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { sharedRun } from '../../lib/run.js';
import { metricsFor } from '../../observability/open-metrics.js';
import { isArriving, lingerAndClose } from '../web-safety.js';
import type { FromThread, ToThread } from './admin-listener.js';
import type { AdminRequest, AdminResponse } from './admin-routes.js';
import { busyMs, type Readiness, withReadiness } from './readiness.js';

/** How long the thread waits for metrics, before it serves the last ones. */
const metricsMs = 500;
/** How long the gateway may take for any other response, in milliseconds. */
const answerMs = 5_000;
const maxBodyBytes = 4_096;
/** A gateway that is silent for so long will not recover. A busy one must not be restarted. In milliseconds. */
const stuckMs = 30_000;

const { host, port }: { readonly host: string; readonly port: number } = workerData;
let latest: Readiness['status'] = 'starting';
let heardAt = performance.now();
let metrics = '';
const answers = new EventEmitter();
parentPort?.on('message', (message: ToThread) => {
  if ('metrics' in message) {
    metrics = message.metrics;
    answers.emit('metrics');
  } else {
    latest = message.status;
    heardAt = performance.now();
  }
});
const ask = (message: FromThread, ports: readonly MessagePort[] = []) => parentPort?.postMessage(message, ports);
const askForMetrics = sharedRun(async () => {
  ask('metrics');
  await once(answers, 'metrics', { signal: AbortSignal.timeout(metricsMs) }).catch(() => {});
});

function readiness(): Readiness {
  const silentMs = performance.now() - heardAt;
  return { status: silentMs >= busyMs ? 'busy' : latest, silentMs };
}

const server = createServer(async (request, response) => {
  const { status, type = 'application/json; charset=utf-8', body } = await answer(request);
  if (isArriving(request)) response.shouldKeepAlive = false;
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
});
server.on('connection', socket => {
  socket.destroySoon = () => lingerAndClose(socket);
});
server.on('checkContinue', (request, response) => {
  if (!isTooLarge(request)) response.writeContinue();
  server.emit('request', request, response);
});
server.listen(port, host, () => parentPort?.postMessage((server.address() as AddressInfo).port));

async function answer(request: IncomingMessage): Promise<AdminResponse & { readonly type?: string }> {
  const [path = ''] = (request.url ?? '').split('?', 1);
  const { status, silentMs } = readiness();
  if (path === '/healthz') return silentMs >= stuckMs ? statusResponse(503, 'stuck') : statusResponse(200, 'ok');
  if (path === '/readyz') return statusResponse(status === 'ready' ? 200 : 503, status);
  if (path !== '/metrics') return passOn(request, path);
  await askForMetrics();
  // If the gateway is too busy, as it gave them last. The readiness is that of this moment.
  return { status: 200, ...metricsFor(request.headers.accept, withReadiness(metrics, readiness())) };
}

const statusResponse = (status: number, words: string) => ({ status, body: JSON.stringify({ status: words }) });

const tooLarge = statusResponse(413, 'the body is too large');
const isTooLarge = ({ headers }: IncomingMessage) => Number(headers['content-length']) > maxBodyBytes;

/** Lets the gateway answer. 503 while it is too busy. */
async function passOn(request: IncomingMessage, path: string): Promise<AdminResponse> {
  const { port1: own, port2: port } = new MessageChannel();
  try {
    let body = '';
    if (isTooLarge(request)) return tooLarge;
    for await (const chunk of request.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      body += chunk;
      if (body.length > maxBodyBytes) return tooLarge;
    }
    const { method, headers } = request;
    const passed: AdminRequest = { method, path, host: headers.host, authorization: headers.authorization, body };
    ask({ request: passed, port }, [port]);
    const [answer] = await once(own, 'message', { signal: AbortSignal.timeout(answerMs) });
    return answer;
  } catch {
    return statusResponse(503, 'busy');
  } finally {
    own.close();
  }
}
