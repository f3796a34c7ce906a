import { buildConnector, errors } from 'undici';

/**
 * A connector for undici that ends a connection at the first header beyond undici's bound. undici itself parses the rest of what it has received, and
 * makes an error for each line of it: 64 KB of short lines take it 400 ms. TLS calls a host without its final dot (RFC 6066, 3).
 */
export function createConnector(options: buildConnector.BuildOptions = {}): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect({ ...target, host: target.host?.replace(/\.(?=:\d+$|$)/, '') ?? target.hostname }, (...result) => {
      const [, socket] = result;
      if (socket) {
        const destroy = socket.destroy.bind(socket);
        socket.destroy = error => {
          destroy(error);
          if (!(error instanceof errors.HeadersOverflowError)) return socket;
          socket.read = () => null;
          // undici's parser catches it.
          throw error;
        };
      }
      callback(...result);
    });
}
