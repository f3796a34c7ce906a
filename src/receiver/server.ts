// A receiver of exports, to try them with: it checks signatures and prints what comes.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

/** How the receiver treats exports. */
export const modes = ['accept', 'reject', 'fail', 'hang', 'redirect'] as const;

export type Mode = (typeof modes)[number];

/**
 * An endpoint to try exports with (docs/upstream-api.md: Expected response).
 * @param print receives each export as readable text.
 * @param signingSecret if it is given, an export without a valid signature is rejected with 401.
 */
export function createReceiver(mode: Mode, print: (lines: string) => void, signingSecret?: string): Server {
  const webhook = signingSecret === undefined ? undefined : new Webhook(signingSecret);
  return createServer(async (request, response) => {
    const body = await text(request).catch(() => undefined);
    // The sender has hung up.
    if (body === undefined) return;
    print(described(request, body));
    if (webhook !== undefined && !isSigned(webhook, request, body)) {
      print('  The signature is not valid\n');
      answer(response, 401, { title: 'Not signed', message: 'The signature of this export is not valid.' });
      return;
    }
    treatments[mode](response, body);
  });
}

/** Whether a request was signed with the secret within the last five minutes (Standard Webhooks). */
function isSigned(webhook: Webhook, { headers }: IncomingMessage, body: string): boolean {
  try {
    webhook.verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

const treatments: Readonly<Record<Mode, (response: ServerResponse, body: string) => void>> = {
  accept: (response, body) =>
    answer(response, 200, {
      title: 'Export received',
      message: `${companiesIn(body).length} companies were imported.<br>They will be visible in <b>a minute</b>.`,
      redirectUrl: 'https://example.com/companies',
    }),
  reject: (response, body) =>
    answer(response, 422, {
      title: 'Export rejected',
      message: 'These companies are already known.<br>Please leave them out.',
      references: companiesIn(body)
        .slice(0, 3)
        .map(({ domain }) => ({ title: domain, message: 'is already known', url: `https://${domain}`, type: 'info' })),
    }),
  fail: response => answer(response, 503, { title: 'Never shown' }),
  hang: () => {},
  redirect: response => response.writeHead(302, { location: 'https://example.com/' }).end(),
};

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function companiesIn(body: string): { domain: string }[] {
  try {
    const { data } = JSON.parse(body);
    // Whatever stands in the list may lack its domain.
    return Array.isArray(data) ? data.map(Object) : [];
  } catch {
    return [];
  }
}

const shownCompanies = 3;

function described({ method, url, headers }: IncomingMessage, body: string): string {
  const companies = companiesIn(body);
  const names = companies.slice(0, shownCompanies).map(({ domain }) => domain);
  const more = companies.length > shownCompanies ? ', ...' : '';
  return [
    `${new Date().toISOString()}  ${method} ${url}`,
    ...Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`),
    `  ${Buffer.byteLength(body)} bytes, ${companies.length} companies: ${names.join(', ')}${more}`,
    '',
  ].join('\n');
}
