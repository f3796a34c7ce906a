/** A way to servers that can be cut. */
export interface Network {
  readonly url: string;
  /** Destroys each connection with this probability. Returns how many. */
  cut(share: number): number;
  /** From now on nothing passes, and no connection ends: as in a network that is gone. */
  silence(): void;
  /** The next command of Redis with these words reaches its server, but not its reply: the connection breaks. */
  loseReplyTo(words: string): void;
  /** Ends every connection that begins from now on. */
  refuse(): void;
  /** Ends the silence, and the connections of that time. */
  restore(): void;
  close(): Promise<void>;
}

/**
 * Passes each connection on to a port.
 * @param portOf chooses the port of a new connection.
 * @param bytesPerSecond of each direction of a connection; as many as there are if it is left out.
 */
export function startNetwork(portOf: () => number, bytesPerSecond?: number): Promise<Network>;
