import { type OutgoingHttpHeaders, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** What every answer tells browsers: do not sniff, frame or store it; send no referrer, since an address may hold a session id. */
export const safeHeaders: OutgoingHttpHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** The body of an answer that refuses a whole request. */
export const refusalBody = (message: string, code: string) => ({ errors: [{ message, extensions: { code } }] });

/** Of Node's parser, by the status that they are answered with; every other error of it is a 400. */
const parserErrors: Readonly<Record<string, readonly [status: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive'],
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large'],
};

/** Answers what could not be read as a request, as every refused request is answered, and ends the connection. */
export function refuseUnreadable(error: { readonly code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const [status, message] = parserErrors[error.code ?? ''] ?? [400, 'This is not a request that can be read'];
  const body = JSON.stringify(refusalBody(message, 'BAD_REQUEST'));
  const headers = {
    ...safeHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}

/** Whether an answer to an earlier request has begun: another in the middle of it would be read as a part of it. */
function isAnswering(socket: Duplex): boolean {
  const { _httpMessage: response } = socket as { _httpMessage?: { headersSent: boolean } | null };
  return response?.headersSent ?? false;
}
