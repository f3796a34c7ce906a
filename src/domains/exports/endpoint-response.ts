// What the answer of an endpoint means, and what of it is stored and shown.
import { z } from 'zod';
import { closedSet } from '../../data/parsing.js';
import { type JsonBounds, jsonObject } from '../../lib/json.js';
import { parseWebUrl } from '../../lib/web-url.js';
import type { ExportOutcome } from './model.js';

type SafeHtml = typeof import('./safe-html.js');

/** The message for every export that failed, whatever the reason (docs/upstream-api.md: Expected response). */
export const genericFailure = 'The export could not be delivered. Please contact your IT support.';

/** What a status means for an export (docs/upstream-api.md: Expected response). An `exception` is retried, the others are final. */
export function meaningOf(status: number): 'delivered' | 'rejected' | 'exception' | 'failed' {
  if (status === 200) return 'delivered';
  if (status === 207 || (status >= 400 && status <= 499)) return 'rejected';
  if (status >= 500 && status <= 599) return 'exception';
  return 'failed';
}

export const maxAnswerBytes = 1024 * 1024;

/** How much of a response is stored and shown, in characters and items. The rest is cut off. */
const maxLength = { title: 255, message: 4_000, referenceMessage: 500 };
const maxReferences = 50;

/** The first characters of a text. No character is cut in two. */
const cutTo = (length: number) =>
  z
    .string()
    .transform(text => (text.length <= length ? text : [...text.slice(0, 2 * length)].slice(0, length).join('')));

/** What a URL has behind its host if a browser takes it as it is written. */
const plainRest = /^(?:[/?#][\w!#$%&'()*+,./:;=?@[\]~-]*)?$/;

/** The text of a URL, if it names the same scheme and host to everyone who reads it; otherwise the URL as a browser would write it. */
function writtenUrl(text: string): string | null {
  const url = parseWebUrl(text);
  if (url === undefined) return null;
  const origin = `${url.protocol}//${url.host}`;
  return text.startsWith(origin) && plainRest.test(text.slice(origin.length)) ? text : url.href;
}

/** A URL of any length that a browser may open: only the size of the response bounds it. Every other value reads as null, even if it comes from our own store. */
export const browserUrl = z
  .string()
  .nullable()
  .transform(url => (url === null ? null : writtenUrl(url)))
  .catch(null);

const reference = z.object({
  title: cutTo(maxLength.title),
  message: cutTo(maxLength.referenceMessage).nullable().catch(null),
  url: browserUrl,
  type: closedSet({ ok: 'OK', info: 'INFO', warning: 'WARNING', error: 'ERROR' }).catch('WARNING'),
});

const references = z
  .array(z.unknown())
  .catch([])
  // Cut before parsing: a megabyte of invalid references takes seconds.
  .transform(items => items.slice(0, maxReferences).flatMap(item => reference.safeParse(item).data ?? []));

const titleAndMessage = (title: string, message: string) => ({
  title: cutTo(maxLength.title).catch(title),
  message: cutTo(maxLength.message).catch(message),
});

const deliveredBody = z.object({
  ...titleAndMessage('Delivered', 'The endpoint accepted the export.'),
  redirectUrl: browserUrl,
});

const rejectedBody = z.object({
  ...titleAndMessage('Rejected', 'The endpoint rejected the export and gave no reason that can be shown.'),
  references,
});

/** The outcome of an export after a final response. The status alone decides it: default texts replace whatever is missing from the content. */
export function outcomeOfResponse(status: number, content: object, html: SafeHtml): ExportOutcome {
  switch (meaningOf(status)) {
    case 'delivered':
      return { kind: 'DELIVERED', ...withSafeMessage(deliveredBody.parse(content), html) };
    case 'rejected':
      return { kind: 'REJECTED', ...withSafeMessage(rejectedBody.parse(content), html) };
    default:
      return { kind: 'FAILED', message: genericFailure };
  }
}

/** Many times what an answer with all references needs. A text may be as long as the body: URLs are passed on at any length. */
const contentBounds: JsonBounds = { text: maxAnswerBytes, number: 1_024, items: 4_000, members: 4_000, levels: 16 };

/** The JSON object in a body. Empty if there is none, or one that takes long to parse. */
export const objectIn = (body: Buffer): object => jsonObject(body, contentBounds);

function withSafeMessage<T extends { message: string }>(content: T, html: SafeHtml): T & { messageText: string } {
  return { ...content, ...html.safeMessage(content.message) };
}

/** What an endpoint answered: the length of the body in bytes, and the JSON object in it, which is empty if there is none. */
export interface EndpointContent {
  readonly length: number;
  readonly content: object;
  /** Why the body could not be decoded. */
  readonly unreadable?: string;
}

const redirects = [301, 302, 303, 307, 308];
const withoutBody = [204, 205];
const members = z.object({ title: z.string(), message: z.string() });
const rightAnswer = (status: number) => `Answer ${status} with JSON that has \`title\` and \`message\`.`;

export const tooLate =
  'The endpoint did not answer completely within 15 seconds. Answer first, and do the rest of the work afterwards.';

/** Says why there is no answer. @param informational the last 1xx status. */
export const explanationOfNone = (informational: number | undefined): string =>
  informational === undefined
    ? 'The endpoint could not be reached, or the connection ended before the answer was complete. Check the address, the server and its certificate.'
    : `The endpoint answered ${informational}, which announces an answer, but sent none after it. ${rightAnswer(200)}`;

/**
 * What came back from an endpoint, and what would be right, in words for the people who maintain it. Null if nothing is wrong.
 * @param body undefined if the response is not final, or if its body is too large.
 */
export function explanationOf(status: number, body: EndpointContent | undefined): string | null {
  const came = `The endpoint answered ${status}`;
  if (redirects.includes(status)) {
    return `${came} with a redirect to another address; redirects are not followed. Register the final address.`;
  }
  if (status === 410) return `${came}: its address is gone. Register the new address, or delete the endpoint.`;
  switch (meaningOf(status)) {
    case 'exception':
      return `${came}, which says that it failed. Such a call is repeated up to three times. ${rightAnswer(200)}`;
    case 'failed':
      return `${came}${withoutBody.includes(status) ? ' without a body' : ''}. ${rightAnswer(200)}`;
    default: {
      if (members.safeParse(body?.content).success) return null;
      if (body?.unreadable !== undefined) return `${came}. ${body.unreadable}. ${rightAnswer(status)}`;
      const found =
        body?.length === 0
          ? 'without a body'
          : `with a body that is ${body === undefined ? 'too large' : 'not JSON, holds too much, or lacks one of its members'}`;
      return `${came} ${found}. ${rightAnswer(status)}`;
    }
  }
}
