import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Config } from '../config/config.js';
import { loggedPathOf } from '../lib/network.js';
import { output } from '../lib/output.js';

/** One JSON object a line, with the name of its level and an ISO time. Of a request its id, method and path are logged: the query may hold a credential. */
export function createLogger(level: Config['logLevel'], stream: DestinationStream = output(2)): Logger {
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
