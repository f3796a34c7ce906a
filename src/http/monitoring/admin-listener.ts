import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { FastifyBaseLogger } from 'fastify';

/** Whether this process should get new requests. */
export interface Readiness {
  readonly isReady: boolean;
  readonly status: 'ready' | 'starting' | 'closing' | 'overloaded';
}

/** What the thread gets from the gateway: its state, again and again, and its metrics when it asks for them. */
export type ToAdminThread = { readonly readiness: Readiness } | { readonly metrics: string };
/** What the gateway gets from the thread: the port, once it listens, or why it cannot; and each wish for metrics. */
export type FromAdminThread = { readonly port: number } | { readonly failure: string } | 'metrics';

/** Where the thread listens. */
export interface AdminAddress {
  readonly host: string;
  readonly port: number;
}

interface AdminDeps extends AdminAddress {
  readonly readiness: () => Readiness;
  /** The metrics in the format of Prometheus. */
  readonly metrics: () => Promise<string>;
  readonly log: Pick<FastifyBaseLogger, 'error'>;
}

/** The listener for probes and metrics (`ADMIN_PORT`). */
export interface AdminListener {
  readonly port: number;
  close(): Promise<void>;
}

/** How often the gateway says that it runs. */
const beatMs = 250;

/**
 * Serves `/healthz`, `/readyz` and `/metrics` from a thread of its own, so that they are answered while the gateway's event loop is busy.
 * @throws Error if it cannot listen.
 */
export async function startAdminListener({ host, port, readiness, metrics, log }: AdminDeps): Promise<AdminListener> {
  const workerData: AdminAddress = { host, port };
  const thread = new Worker(new URL('./admin-thread.js', import.meta.url), { workerData });
  const tell = (message: ToAdminThread) => thread.postMessage(message);
  const beat = () => tell({ readiness: readiness() });
  /** If it fails, the thread serves the metrics that it got last. */
  const tellMetrics = () =>
    void metrics().then(
      text => tell({ metrics: text }),
      error => log.error({ err: error }, 'The metrics cannot be read'),
    );
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
