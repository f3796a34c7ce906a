import { createRequire } from 'node:module';

/** Makes Node a browser in some regards: what a site sets as a cookie it is sent again, and there are WebSockets and event streams. */
const require = createRequire(import.meta.url);
const { fetch } = globalThis;
let jar = '';

globalThis.fetch = async (url, options = {}) => {
  const headers = new Headers(options.headers);
  if (jar && options.credentials === 'include') headers.set('cookie', jar);
  const response = await fetch(url, { ...options, headers });
  for (const cookie of response.headers.getSetCookie()) jar = /^[^=]+=(;|$)/.test(cookie) ? '' : cookie.split(';')[0];
  return response;
};

/** Names its page's origin, as every browser does, and sends the cookie unasked. */
globalThis.WebSocket = class extends require('ws') {
  constructor(address, protocols) {
    super(address, protocols, { origin: 'https://app.example', headers: jar ? { cookie: jar } : {} });
  }
};

Object.defineProperty(globalThis, 'EventSource', { get: () => require('undici').EventSource });
