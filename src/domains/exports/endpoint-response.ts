import { Parser } from 'htmlparser2';
import sanitizeHtml from 'sanitize-html';
import { z } from 'zod';
import { boundedJson, type JsonBounds, parseJson } from '../../lib/json.js';
import { browserUrl, type ExportOutcome, type ExportReference } from './model.js';

/** The message for every export that failed, whatever the reason (docs/upstream-api.md: Expected response). */
export const genericFailure = 'The export could not be delivered. Please contact your IT support.';

/** What a status means for an export (docs/upstream-api.md: Expected response). An `exception` is retried, the others are final. */
export function meaningOf(status: number): 'delivered' | 'rejected' | 'exception' | 'failed' {
  if (status === 200) return 'delivered';
  if (status === 207 || (status >= 400 && status <= 499)) return 'rejected';
  if (status >= 500 && status <= 599) return 'exception';
  return 'failed';
}

/** Of a response of an endpoint. */
export const maxAnswerBytes = 1024 * 1024;

/** How much of a response is stored and shown, in characters and items. The rest is cut off. */
const maxLength = { title: 255, message: 4_000, referenceMessage: 500 };
const maxReferences = 50;

/** The first characters of a text. No character is cut in two. */
const cutTo = (length: number) =>
  z
    .string()
    .transform(text => (text.length <= length ? text : [...text.slice(0, 2 * length)].slice(0, length).join('')));

const referenceTypes = new Map<string, ExportReference['type']>([
  ['ok', 'OK'],
  ['info', 'INFO'],
  ['warning', 'WARNING'],
  ['error', 'ERROR'],
]);

const reference = z.object({
  title: cutTo(maxLength.title),
  message: cutTo(maxLength.referenceMessage).nullable().catch(null),
  url: browserUrl,
  type: z
    .string()
    .catch('warning')
    .transform(type => referenceTypes.get(type) ?? 'WARNING'),
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
export function outcomeOfResponse(status: number, content: object): ExportOutcome {
  switch (meaningOf(status)) {
    case 'delivered':
      return { kind: 'DELIVERED', ...withSafeMessage(deliveredBody.parse(content)) };
    case 'rejected':
      return { kind: 'REJECTED', ...withSafeMessage(rejectedBody.parse(content)) };
    default:
      return { kind: 'FAILED', message: genericFailure };
  }
}

/** Many times what an answer with all references needs. A text may be as long as the body: URLs are passed on at any length. */
const contentBounds: JsonBounds = { text: maxAnswerBytes, number: 1_024, items: 4_000, members: 4_000, levels: 16 };

/** The JSON object in a body. Empty if there is none, or one that takes long to parse. */
export function objectIn(body: Buffer): object {
  try {
    const text = boundedJson(body, contentBounds);
    const value = typeof text === 'string' && parseJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

function withSafeMessage<T extends { message: string }>(content: T): T & { messageText: string } {
  const message = safeHtml(content.message);
  return { ...content, message, messageText: textOfHtml(message) };
}

/** Removes everything from HTML that could act in a page. HTML that is already safe does not change. */
export function safeHtml(html: string): string {
  return sanitizeHtml(html, {
    allowedTags: ['a', 'b', 'br', 'code', 'em', 'i', 'li', 'ol', 'p', 'strong', 'u', 'ul'],
    allowedAttributes: { a: ['href', 'rel'] },
    allowedSchemes: ['http', 'https', 'mailto'],
    allowProtocolRelative: false,
    transformTags: { a: sanitizeHtml.simpleTransform('a', { rel: 'noopener noreferrer' }) },
  });
}

/** Sanitized HTML as plain text. A `br`, and the end of a paragraph or list item, becomes a line break. */
function textOfHtml(html: string): string {
  let text = '';
  const parser = new Parser({
    ontext: part => {
      text += part;
    },
    onopentag: name => {
      if (name === 'br') text += '\n';
    },
    onclosetag: name => {
      if (name === 'p' || name === 'li') text += '\n';
    },
  });
  parser.end(html);
  return text.trim();
}
