import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { FastifyBaseLogger } from 'fastify';
import { orCannotListen } from '../../config/configuration-error.js';
import { beatMs, busyMs, Peer, type Readiness } from './readiness.js';

interface AdminDeps {
  readonly host: string;
  /** Undefined: there is no such listener. */
  readonly port: number | undefined;
  readonly readiness: () => Readiness;
  /** The metrics in the format of Prometheus, without those of the readiness. */
  readonly metrics: () => Promise<string>;
  readonly log: Pick<FastifyBaseLogger, 'warn'>;
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
export async function startAdminListener(deps: AdminDeps): Promise<AdminListener | undefined> {
  const { host, port, readiness, metrics, log } = deps;
  if (port === undefined) return undefined;
  const thread = new Worker(new URL('./admin-thread.js', import.meta.url), { workerData: { host, port } });
  // An error of the thread, which cannot listen, ends the wait for its first message.
  const [boundPort] = (await orCannotListen('ADMIN_PORT', host, port, once(thread, 'message'))) as [number];
  const peer = new Peer(message => thread.postMessage(message), metrics, undefined);
  thread.on('message', message => peer.hear(message));
  let heardAt = performance.now();
  const beat = () => {
    const silentMs = Math.round(performance.now() - heardAt);
    heardAt = performance.now();
    if (silentMs >= busyMs) log.warn({ silentMs }, 'The event loop was blocked: nothing was answered in this time');
    peer.tell(readiness());
  };
  beat();
  const beating = setInterval(beat, beatMs);
  // While the gateway is too busy to answer, the thread serves those that it got last.
  void peer.tellMetrics();
  return {
    port: boundPort,
    async close() {
      clearInterval(beating);
      await thread.terminate();
    },
  };
}
