/** A listener of `eventUpdates` that reconnects for ever, each time with its last cursor. */
export interface ResumingListener {
  readonly transport: Transport;
  /** How often each title was received. */
  readonly titles: ReadonlyMap<string, number>;
  readonly connections: number;
  readonly gaps: number;
  /** Whether it has its first cursor: from then on it must miss nothing. */
  readonly hasCursor: boolean;
  stop(): void;
}

export type Transport = 'websocket' | 'sse' | 'multipart';

/** @param url of the gateway or the balancer, without a path. */
export function listenResuming(url: string, transport: Transport, key: string): ResumingListener;

export const transports: readonly Transport[];
