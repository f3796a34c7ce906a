import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Whether the gateway sent this call in the last five minutes. `body` has the bytes as they arrived. */
export function isSigned(secret: string, headers: IncomingHttpHeaders, body: Uint8Array): boolean {
  const header = (name: string) => String(headers[`webhook-${name}`] ?? '');
  if (!(Math.abs(Date.now() / 1000 - Number(header('timestamp'))) <= 300)) return false;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `${header('id')}.${header('timestamp')}.`;
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).update(body).digest('base64')}`);
  const given = header('signature')
    .split(' ')
    .map(each => Buffer.from(each));
  return given.some(each => each.length === expected.length && timingSafeEqual(each, expected));
}
