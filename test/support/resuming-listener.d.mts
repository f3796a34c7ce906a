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

/** A way to servers that can be cut. */
export interface Network {
  readonly url: string;
  /** Destroys each connection with this probability. Returns how many. */
  cut(share: number): number;
  close(): Promise<void>;
}

/** Passes each connection on to a port. @param portOf chooses the port of a new connection. */
export function startNetwork(portOf: () => number): Promise<Network>;
