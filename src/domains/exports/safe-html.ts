import { Parser } from 'htmlparser2';
import sanitizeHtml from 'sanitize-html';

/** A message without everything that could act in a page, also as plain text. @public: `delivery.ts` imports this file as a whole. */
export function safeMessage(html: string): { message: string; messageText: string } {
  const message = safeHtml(html);
  return { message, messageText: textOfHtml(message) };
}

function safeHtml(html: string): string {
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
