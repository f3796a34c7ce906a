import { z } from 'zod';
import { meaningOf } from './endpoint-response.js';

/** What an endpoint answered: the length of the body in bytes, and the JSON object in it, which is empty if there is none. */
export interface EndpointContent {
  readonly length: number;
  readonly content: object;
}

/**
 * How one attempt ended. `body` is undefined if the response is not final, or if its body is too large or cannot be decoded. `informational` is the last
 * 1xx status.
 */
export type AttemptEnd =
  | { readonly status: number; readonly fault: null; readonly body: EndpointContent | undefined }
  | { readonly status: null; readonly fault: 'TIMEOUT' }
  | { readonly status: null; readonly fault: 'BROKEN'; readonly informational: number | undefined }
  | { readonly status: null; readonly fault: 'ADDRESS_REFUSED'; readonly reason: string };

const redirects = [301, 302, 303, 307, 308];
const withoutBody = [204, 205];
const members = z.object({ title: z.string(), message: z.string() });
const rightAnswer = (status: number) => `Answer ${status} with JSON that has \`title\` and \`message\`.`;

/** What came back from an endpoint, and what would be right, in words for the people who maintain it. Null if nothing is wrong. */
export function explanationOf(end: AttemptEnd): string | null {
  switch (end.fault) {
    case null:
      return explanationOfResponse(end.status, end.body);
    case 'TIMEOUT':
      return 'The endpoint did not answer completely within 15 seconds. Answer first, and do the rest of the work afterwards.';
    case 'ADDRESS_REFUSED':
      return `Nothing was sent: ${end.reason}.`;
    case 'BROKEN':
      return end.informational === undefined
        ? 'The endpoint could not be reached, or the connection ended before the answer was complete. Check the address, the server and its certificate.'
        : `The endpoint answered ${end.informational}, which announces an answer, but sent none after it. ${rightAnswer(200)}`;
  }
}

function explanationOfResponse(status: number, body: EndpointContent | undefined): string | null {
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
      const found =
        body?.length === 0
          ? 'without a body'
          : `with a body that is ${body === undefined ? 'too large' : 'not JSON, or lacks one of its members'}`;
      return `${came} ${found}. ${rightAnswer(status)}`;
    }
  }
}
