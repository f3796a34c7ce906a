/** How a gateway ends: it serves, drains if an operator wants it so, still serves while it leaves, and closes. It can be taken back until it leaves. */
export type Lifecycle = ReturnType<typeof createLifecycle>;

export function createLifecycle() {
  let state: 'serving' | 'draining' | 'leaving' | 'closing' = 'serving';
  return {
    /** Why the gateway wants no new traffic, although it could serve it; undefined: it does. */
    get unready() {
      if (state === 'serving') return undefined;
      return state === 'draining' ? 'draining' : 'closing';
    },
    /** Before a request is answered: each response may be the last one of its connection, so that clients go elsewhere before requests are refused. */
    onRequest(_request: unknown, response: { shouldKeepAlive: boolean }): void {
      // A refusal itself leaves the connection open until its body was read: otherwise the client would see a broken connection.
      if (state === 'draining' || state === 'leaving') response.shouldKeepAlive = false;
    },
    /** An operator wants the gateway to drain, or to serve again. Changes nothing once it leaves. */
    drain(isWanted: boolean): void {
      if (state === 'serving' || state === 'draining') state = isWanted ? 'draining' : 'serving';
    },
    leave(): void {
      state = 'leaving';
    },
    close(): void {
      state = 'closing';
    },
  };
}
