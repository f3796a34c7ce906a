import type { Dispatcher } from 'undici';
import type { Cancellation } from '../cancellation.js';

/** What came back over the wire, whatever its status. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A call that ended without a reply. `sent` tells whether the service may have got the request. */
export class BrokenExchange extends Error {
  override readonly name = 'BrokenExchange';
  readonly sent: boolean;

  constructor(sent: boolean, cause: unknown) {
    super('The exchange broke', { cause });
    this.sent = sent;
  }
}

/**
 * Sends one request and collects the whole reply. `dispatch` and not `request`, because no stream is needed.
 * @throws BrokenExchange where no whole reply came; its cause is the reason of a cancellation.
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  cancellation: Cancellation,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status = 0;
    let headers: Reply['headers'] = {};
    let controller: Dispatcher.DispatchController | undefined;

    const fail = (cause: unknown) => {
      cancellation.onCancel(undefined);
      reject(new BrokenExchange(controller !== undefined, cause));
    };
    // The caller is told at once; undici learns of it now, or when it takes the request up.
    const cancel = () => {
      const { reason } = cancellation;
      fail(reason);
      if (reason !== undefined) controller?.abort(reason);
    };
    if (cancellation.reason !== undefined) return cancel();
    cancellation.onCancel(cancel);

    dispatcher.dispatch(options, {
      onRequestStart(started) {
        if (cancellation.reason !== undefined) started.abort(cancellation.reason);
        else controller = started;
      },
      onResponseStart(_, statusCode, received) {
        status = statusCode;
        headers = received;
      },
      onResponseData(_, chunk) {
        chunks.push(chunk);
      },
      onResponseEnd() {
        cancellation.onCancel(undefined);
        const [only] = chunks;
        resolve({ status, headers, body: chunks.length === 1 && only ? only : Buffer.concat(chunks) });
      },
      onResponseError(_, error) {
        fail(error);
      },
    });
  });
}
