import { Parser } from 'htmlparser2';
import sanitizeHtml from 'sanitize-html';
import { z } from 'zod';
import { type Outcome, type Reference, webAddress } from './model.js';

/** What is shown where an endpoint failed, whatever the reason (docs/upstream-api.md: Expected response). */
export const genericFailure = 'The export could not be delivered. Please contact your IT support.';

/** What a status means for an export (docs/upstream-api.md: Expected response): an `exception` is tried again, the others are final. */
export function meaningOf(status: number): 'delivered' | 'rejected' | 'exception' | 'failed' {
  if (status === 200) return 'delivered';
  if (status === 207 || (status >= 400 && status <= 499)) return 'rejected';
  if (status >= 500 && status <= 599) return 'exception';
  return 'failed';
}

/** How much of an answer is kept and shown, in characters and items; the rest is cut off. */
const longest = { title: 255, message: 4_000, referenceMessage: 500 };
const mostReferences = 50;

const cutTo = (length: number) => z.string().transform(text => text.slice(0, length));

const types = new Map<string, Reference['type']>([
  ['ok', 'OK'],
  ['info', 'INFO'],
  ['warning', 'WARNING'],
  ['error', 'ERROR'],
]);

const reference = z.object({
  title: cutTo(longest.title),
  message: cutTo(longest.referenceMessage).nullable().catch(null),
  url: webAddress,
  type: z
    .string()
    .catch('warning')
    .transform(type => types.get(type) ?? 'WARNING'),
});

const references = z
  .array(z.unknown())
  .catch([])
  // Cut before they are looked at: a megabyte of bad ones takes seconds.
  .transform(items => items.slice(0, mostReferences).map(item => reference.safeParse(item)))
  .transform(results => results.flatMap(({ data }) => data ?? []));

const words = (title: string, message: string) => ({
  title: cutTo(longest.title).catch(title),
  message: cutTo(longest.message).catch(message),
});

const delivery = z.object({
  ...words('Delivered', 'The endpoint has accepted the export.'),
  redirectUrl: webAddress,
});

const rejection = z.object({
  ...words('Turned down', 'The endpoint has turned the export down and gave no reason that can be shown.'),
  references,
});

/**
 * What a final answer comes to. A body that cannot be read takes nothing from what the status says: the gateway's own words stand in
 * for whatever is missing.
 * @param body undefined where it was too large.
 */
export function outcomeOf(status: number, body: string | undefined): Outcome {
  const answer = objectIn(body);
  switch (meaningOf(status)) {
    case 'delivered':
      return { kind: 'DELIVERED', ...shown(delivery.parse(answer)) };
    case 'rejected':
      return { kind: 'REJECTED', ...shown(rejection.parse(answer)) };
    default:
      return { kind: 'FAILED', message: genericFailure };
  }
}

function objectIn(body: string | undefined): object {
  try {
    const value: unknown = JSON.parse(body ?? '');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

function shown<T extends { message: string }>(answer: T): T & { messageText: string } {
  const message = safeHtml(answer.message);
  return { ...answer, message, messageText: plainTextOf(message) };
}

/** HTML without anything that could act in a page. What is safe already stays as it is. */
export function safeHtml(html: string): string {
  return sanitizeHtml(html, {
    allowedTags: ['a', 'b', 'br', 'code', 'em', 'i', 'li', 'ol', 'p', 'strong', 'u', 'ul'],
    allowedAttributes: { a: ['href', 'rel'] },
    allowedSchemes: ['http', 'https', 'mailto'],
    allowProtocolRelative: false,
    transformTags: { a: sanitizeHtml.simpleTransform('a', { rel: 'noopener noreferrer' }) },
  });
}

/** Sanitised HTML as text: breaks, and ends of paragraphs and list items, are line breaks. */
function plainTextOf(html: string): string {
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
