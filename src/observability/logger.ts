import { type DestinationStream, destination, type Logger, pino } from 'pino';
import type { Config } from '../config/config.js';
import { loggedPathOf } from '../lib/path.js';

/** In bytes. More than this is dropped while it cannot be written. */
const mostUnwritten = 1024 * 1024;

/** The standard error. A full disk must not end the gateway: what cannot be written is lost. */
function standardError(): DestinationStream {
  const stream = destination({ dest: 2, sync: true, maxLength: mostUnwritten });
  stream.on('error', () => {});
  return stream;
}

/** One JSON object a line, to stderr unless a test wants it elsewhere. Of a request its id, its method and its path are logged: the query may hold a credential. */
export function createLogger(level: Config['logLevel'], stream: DestinationStream = standardError()): Logger {
  return pino(
    {
      level,
      serializers: {
        req: ({ id, method, url }) => ({ id, method, path: loggedPathOf(String(url)) }),
      },
    },
    stream,
  );
}
