import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { FastifyBaseLogger } from 'fastify';
import { orCannotListen } from '../../config/configuration-error.js';
import { beatMs, busyMs, type Readiness } from './readiness.js';

/** What the thread gets from the gateway: its readiness, again and again, and the text of its metrics when it asks for it. */
export type ToAdminThread = Readiness | string;
/** What the gateway gets from the thread: the port, once it listens, or why it cannot; and each request for metrics. */
export type FromAdminThread = { readonly port: number } | { readonly failure: string } | 'metrics';

/** Where the thread listens. */
export interface AdminAddress {
  readonly host: string;
  readonly port: number;
}

interface AdminDeps {
  readonly host: string;
  /** Undefined: there is no such listener. */
  readonly port: number | undefined;
  readonly readiness: () => Readiness;
  /** The metrics in the format of Prometheus, without those of the readiness. */
  readonly metrics: () => Promise<string>;
  readonly log: Pick<FastifyBaseLogger, 'error' | 'warn'>;
}

/** The listener for probes and metrics (`ADMIN_PORT`). */
export interface AdminListener {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics` from a thread of its own, so that they are answered while the gateway's event loop is busy.
 * @throws ConfigurationError if it cannot listen.
 */
export async function startAdminListener({ host, port, ...deps }: AdminDeps): Promise<AdminListener | undefined> {
  if (port === undefined) return undefined;
  return orCannotListen('ADMIN_PORT', host, port, startThread({ host, port }, deps));
}

async function startThread(
  workerData: AdminAddress,
  { readiness, metrics, log }: Omit<AdminDeps, keyof AdminAddress>,
): Promise<AdminListener> {
  const thread = new Worker(new URL('./admin-thread.js', import.meta.url), { workerData });
  const tell = (message: ToAdminThread) => thread.postMessage(message);
  let heardAt = performance.now();
  const beat = () => {
    const silentMs = Math.round(performance.now() - heardAt);
    heardAt = performance.now();
    if (silentMs >= busyMs) log.warn({ silentMs }, 'The event loop was blocked: nothing was answered in this time');
    tell(readiness());
  };
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
