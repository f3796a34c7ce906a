// Checks of the URL and the headers of an endpoint.
import type { Credential } from '../../auth/credentials.js';
import { BadUserInput } from '../../errors.js';
import type { ExportHeaderInput } from '../../generated/schema-types.js';
import { plainText } from '../../graphql/input.js';
import { boundedList, type ListCoordinate } from '../../graphql/list-bounds.js';
import { parseWebUrl } from '../../lib/web-url.js';

/** The user an export is made for, as far as known. The placeholders of a URL stand for it. */
export interface ExportUser {
  readonly name: string | null;
  readonly email: string | null;
  /** The argument that errors name if a value is missing: `input.onBehalfOf`. */
  readonly argument: string;
}

/** The user of a session; unknown for other credentials. */
export function sessionUser(credential: Credential): ExportUser {
  const { name, email } = credential.kind === 'cookie' ? credential : { name: null, email: null };
  return { name, email, argument: 'input.endpoint' };
}

const maxHeaderNameLength = 255;
const maxHeaderValueLength = 4_096;
/** All names and values of an endpoint. Most servers accept less. */
const maxHeadersLength = 32 * 1024;
const maxUrlLength = 1_024;

const headerName = /^[!#$%&'*+.^_`|~\w-]+$/;
const visibleAscii = /^[\x20-\x7e]+$/;
const placeholder = /\{user\.(name|email)\}/g;

/** Headers that the export itself, the connection or the length of the body determines. */
const reservedHeaders = new Set([
  ...['content-type', 'idempotency-key', 'webhook-id', 'webhook-timestamp', 'webhook-signature'],
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization'],
  ...['host', 'content-length', 'content-encoding', 'accept-encoding', 'expect'],
  // In JavaScript, this member of an object is no ordinary one.
  '__proto__',
]);

/** Checks headers (docs/upstream-api.md: Endpoint registration). @throws BadUserInput that names the header, but never contains its value. */
export function checkedHeaders(
  coordinate: ListCoordinate,
  headers: readonly ExportHeaderInput[],
): readonly ExportHeaderInput[] {
  const argument = 'input.headers';
  const length = headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  if (length > maxHeadersLength)
    throw new BadUserInput(argument, `must be at most ${maxHeadersLength} characters in total`);
  const seen = new Set<string>();
  return boundedList(coordinate, headers, argument).map((header, index) => {
    const at = `${argument}.${index}`;
    const { value } = header;
    const name = header.name.trim();
    const key = name.toLowerCase();
    if (!headerName.test(name) || name.length > maxHeaderNameLength)
      throw new BadUserInput(`${at}.name`, 'is not a valid header name');
    if (reservedHeaders.has(key)) throw new BadUserInput(`${at}.name`, `${name} cannot be set`);
    if (seen.has(key)) throw new BadUserInput(`${at}.name`, `${name} is set twice`);
    seen.add(key);
    if (!visibleAscii.test(value) || value.length > maxHeaderValueLength) {
      throw new BadUserInput(`${at}.value`, `must be 1 to ${maxHeaderValueLength} visible ASCII characters`);
    }
    return { name, value };
  });
}

/**
 * Checks the URL of an endpoint before it is registered (docs/upstream-api.md: Endpoint registration). Path and query may contain the
 * placeholders `{user.name}` and `{user.email}`. @returns the URL with a letter in place of each placeholder. @throws BadUserInput
 */
export function templateUrl(text: string, httpsOnly: boolean): URL {
  const argument = 'input.url';
  plainText(text, argument, maxUrlLength);
  if (/[{}]/.test(text.replace(placeholder, ''))) {
    throw new BadUserInput(argument, 'may contain braces only in {user.name} and {user.email}');
  }
  const [url, other] = ['a', 'b'].map(letter => checkedUrl(text.replace(placeholder, letter), argument, httpsOnly));
  if (url === undefined || url.origin !== other?.origin) {
    throw new BadUserInput(argument, 'may contain placeholders only in its path and query');
  }
  return url;
}

/** The URL of a registered endpoint with the percent-encoded values of a user. @throws BadUserInput if a value is missing. */
export function resolvedUrl(template: string, user: ExportUser, httpsOnly: boolean): URL {
  const text = template.replace(placeholder, (_, member: 'name' | 'email') => encodedValue(user, member));
  return checkedUrl(text, 'input.endpoint', httpsOnly);
}

function encodedValue(user: ExportUser, member: 'name' | 'email'): string {
  const { [member]: value, argument } = user;
  if (value === null) throw new BadUserInput(argument, `the URL of the endpoint needs the ${member} of the user`);
  // In a path, URL parsers resolve dots as steps, percent-encoded or not.
  if (/^\.+$/.test(value)) throw new BadUserInput(argument, `the ${member} of the user cannot be part of a URL`);
  return encodeURIComponent(plainText(value, argument));
}

function checkedUrl(text: string, argument: string, httpsOnly: boolean): URL {
  const url = parseWebUrl(text);
  if (url === undefined || /\s/.test(text) || !/^https?:\/\//i.test(text)) {
    throw new BadUserInput(argument, 'must be a URL that begins with https:// or http://');
  }
  if (httpsOnly && url.protocol !== 'https:') throw new BadUserInput(argument, 'must begin with https://');
  if (url.username !== '' || url.password !== '') {
    throw new BadUserInput(argument, 'must not contain a user name or a password');
  }
  if (url.hash !== '') throw new BadUserInput(argument, 'must not contain a fragment, because it is never sent');
  return url;
}
