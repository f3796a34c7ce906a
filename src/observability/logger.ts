import { type DestinationStream, destination, type Logger, pino } from 'pino';
import type { Config } from '../config/config.js';
import { loggedPathOf } from '../lib/path.js';

/** One JSON object a line, to stderr unless a test wants it elsewhere. Of a request its id, its method and its path are logged: the query may hold a credential. */
export function createLogger(level: Config['logLevel'], stream: DestinationStream = destination(2)): Logger {
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
