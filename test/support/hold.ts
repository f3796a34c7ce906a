import type { Sandbox } from '../../src/sandbox/server.js';

/** Lets the sandbox hold back what it is asked for at these paths until the function is called that this returns. */
export function hold(sandbox: Pick<Sandbox, 'tell'>, path: string | RegExp, times?: number): () => void {
  let release = () => {};
  const until = new Promise<void>(resolve => {
    release = resolve;
  });
  sandbox.tell({ path, until, ...(times !== undefined && { times }) });
  return () => release();
}
