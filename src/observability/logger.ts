import { destination, type Logger, pino } from 'pino';
import type { Config } from '../config/config.js';
import { loggedPathOf } from '../lib/path.js';

/** One JSON object a line, to stderr. Of a request its id, its method and its path are logged: the query may hold a credential. */
export function createLogger(level: Config['logLevel']): Logger {
  return pino(
    {
      level,
      serializers: {
        req: ({ id, method, url }) => ({ id, method, path: loggedPathOf(String(url)) }),
      },
    },
    destination(2),
  );
}
