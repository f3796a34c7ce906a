import cluster from 'node:cluster';
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Config } from '../config/config.js';
import { loggedPathOf } from '../lib/network.js';

/** In bytes. More than this is dropped while it cannot be written. */
const maxUnwritten = 1024 * 1024;

/** Where a worker logs: the standard error of the first process. Its own is read by the first process, which logs whatever others write there. */
export const workerLogDescriptor = 4;

/** The standard error. A full disk must not end the gateway: what cannot be written is lost. */
function standardError(): DestinationStream {
  const dest = cluster.isWorker ? workerLogDescriptor : 2;
  const stream = destination({ dest, sync: true, maxLength: maxUnwritten });
  stream.on('error', () => {});
  return stream;
}

/** One JSON object a line, with the name of its level and an ISO time. Of a request its id, method and path are logged: the query may hold a credential. */
export function createLogger(level: Config['logLevel'], stream: DestinationStream = standardError()): Logger {
  return pino(
    {
      level,
      formatters: { level: label => ({ level: label }) },
      timestamp: stdTimeFunctions.isoTime,
      serializers: {
        req: ({ id, method, url }) => ({ id, method, path: loggedPathOf(String(url)) }),
      },
    },
    stream,
  );
}
