import { once } from 'node:events';
import { type MessagePort, Worker } from 'node:worker_threads';
import { orCannotListen } from '../../config/configuration-error.js';
import { type AdminRequest, type AdminTarget, answerAdmin } from './admin-routes.js';
import { type Readiness, startBeats } from './readiness.js';

interface AdminDeps extends AdminTarget {
  readonly readiness: () => Readiness;
  /** The metrics in the format of Prometheus, without those of the readiness. */
  readonly metrics: () => Promise<string>;
}

/** What the thread hears, again and again: the readiness, or new metrics in the format of Prometheus. */
export type ToThread = Readiness | { readonly metrics: string };

/** What the thread asks for: new metrics, or the response to a request, through a port. */
export type FromThread = 'metrics' | { readonly request: AdminRequest; readonly port: MessagePort };

/**
 * Serves `/healthz`, `/readyz` and `/metrics` from a thread of its own, so that they are answered while the gateway's event loop is busy. It
 * passes all other requests on.
 * @returns undefined without `ADMIN_PORT`. @throws ConfigurationError if it cannot listen.
 */
export async function startAdminListener(deps: AdminDeps) {
  const { readiness, metrics, log } = deps;
  const { host, adminPort: port } = deps.config;
  if (port === undefined) return undefined;
  const thread = new Worker(new URL('./admin-thread.js', import.meta.url), { workerData: { host, port } });
  // An error of the thread, which cannot listen, ends the wait for its first message.
  const [boundPort] = (await orCannotListen('ADMIN_PORT', host, port, once(thread, 'message'))) as [number];
  const tell = (message: ToThread) => thread.postMessage(message);
  const tellMetrics = async () => tell({ metrics: await metrics() });
  thread.on('message', async (message: FromThread) => {
    if (message === 'metrics') return tellMetrics();
    const answer = await answerAdmin(deps, message.request);
    // So that `/readyz` follows an order at once.
    tell(readiness());
    message.port.postMessage(answer);
    message.port.close();
  });
  let endBeats = () => {};
  return {
    port: boundPort,
    /** The gateway listens to clients: `/readyz` says no longer `starting`. */
    begin(): void {
      endBeats = startBeats(log, () => tell(readiness()));
      // While the gateway is too busy to answer, the thread serves those that it got last.
      void tellMetrics();
    },
    async close(): Promise<void> {
      endBeats();
      await thread.terminate();
    },
  };
}
