import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { FastifyBaseLogger } from 'fastify';
import { beatMs, type Readiness } from './readiness.js';

/** What the thread gets from the gateway: its readiness, again and again, and the text of its metrics when it asks for it. */
export type ToAdminThread = Readiness | string;
/** What the gateway gets from the thread: the port, once it listens, or why it cannot; and each request for metrics. */
export type FromAdminThread = { readonly port: number } | { readonly failure: string } | 'metrics';

/** Where the thread listens. */
export interface AdminAddress {
  readonly host: string;
  readonly port: number;
}

interface AdminDeps extends AdminAddress {
  readonly readiness: () => Readiness;
  /** The metrics in the format of Prometheus, without those of the readiness. */
  readonly metrics: () => Promise<string>;
  readonly log: Pick<FastifyBaseLogger, 'error'>;
}

/** The listener for probes and metrics (`ADMIN_PORT`). */
export interface AdminListener {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics` from a thread of its own, so that they are answered while the gateway's event loop is busy.
 * @throws Error if it cannot listen.
 */
export async function startAdminListener({ host, port, readiness, metrics, log }: AdminDeps): Promise<AdminListener> {
  const workerData: AdminAddress = { host, port };
  const thread = new Worker(new URL('./admin-thread.js', import.meta.url), { workerData });
  const tell = (message: ToAdminThread) => thread.postMessage(message);
  const beat = () => tell(readiness());
  /** If it fails, the thread serves the metrics that it got last. */
  const tellMetrics = () => void metrics().then(tell, error => log.error({ err: error }, 'The metrics cannot be read'));
  const [started] = (await once(thread, 'message')) as [FromAdminThread];
  if (typeof started !== 'object' || !('port' in started)) {
    await thread.terminate();
    throw new Error(typeof started === 'object' ? started.failure : 'the thread did not start');
  }
  beat();
  tellMetrics();
  const beating = setInterval(beat, beatMs);
  thread.on('message', tellMetrics);
  return {
    port: started.port,
    async close() {
      clearInterval(beating);
      await thread.terminate();
    },
  };
}
