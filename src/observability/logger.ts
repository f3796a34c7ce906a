import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Config } from '../config/config.js';
import { loggedPathOf } from '../lib/network.js';

/** In bytes. More than this is dropped while it cannot be written. */
const maxUnwritten = 1024 * 1024;

/** The standard error. A full disk must not end the gateway: what cannot be written is lost. */
function standardError(): DestinationStream {
  const stream = destination({ dest: 2, sync: true, maxLength: maxUnwritten });
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
