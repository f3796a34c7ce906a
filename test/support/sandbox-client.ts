import type { Sandbox } from '../../src/sandbox/server.js';

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's body is what the test is about to find out
  body: any;
  headers: Headers;
}

/** Calls one sandbox over HTTP: as the subscribed demo key, unless the headers say otherwise. */
export function clientOf(sandbox: Sandbox) {
  const asDemo = { 'x-api-key': sandbox.demo.keys[0]?.key ?? '' };

  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = asDemo,
  ): Promise<Answer> {
    const sent = new Headers(headers);
    if (body !== undefined) sent.set('content-type', 'application/json');
    const answer = await fetch(sandbox.origin + path, {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json');
    return { status: answer.status, body: isJson ? JSON.parse(text) : text, headers: answer.headers };
  }

  return {
    call,
    get: (path: string, headers?: Record<string, string>) => call('GET', path, undefined, headers),
    post: (path: string, body?: unknown, headers?: Record<string, string>) => call('POST', path, body, headers),
  };
}
