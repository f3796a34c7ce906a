import { BadUserInput } from '../../errors.js';
import { plainText } from '../../graphql/input.js';

/** Who an export is made for, as far as known; what the placeholders of a url stand for. */
export interface ExportUser {
  readonly name: string | null;
  readonly email: string | null;
  /** The argument that could have given what is null: `input.onBehalfOf`. */
  readonly argument: string;
}

const longestUrl = 1_024;
const placeholder = /\{user\.(name|email)\}/g;

/**
 * The url of an endpoint to be registered, as it will be but for its placeholders `{user.name}` and `{user.email}`, which may stand
 * in the path and the query (docs/upstream-api.md: Endpoint registration). @throws BadUserInput
 */
export function templateUrl(text: string, argument: string, httpsOnly: boolean): URL {
  plainText(text, argument, longestUrl);
  if (/[{}]/.test(text.replace(placeholder, ''))) {
    throw new BadUserInput(argument, 'may hold no braces but those of {user.name} and {user.email}');
  }
  const [url, other] = ['a', 'b'].map(letter => checked(text.replace(placeholder, letter), argument, httpsOnly));
  if (url === undefined || url.origin !== other?.origin) {
    throw new BadUserInput(argument, 'may hold placeholders in its path and its query only');
  }
  return url;
}

/** The url of a registered endpoint for one export, the values percent-encoded. @throws BadUserInput for a placeholder without a value. */
export function resolvedUrl(template: string, user: ExportUser, httpsOnly: boolean): URL {
  const text = template.replace(placeholder, (_, member: 'name' | 'email') => encoded(user, member));
  return checked(text, 'input.endpoint', httpsOnly);
}

function encoded(user: ExportUser, member: 'name' | 'email'): string {
  const { [member]: value, argument } = user;
  if (value === null)
    throw new BadUserInput(argument, `the endpoint's url needs a user's ${member}, which is not known`);
  // A path reads these as steps, percent-encoded or not.
  if (/^\.+$/.test(value)) throw new BadUserInput(argument, `the user's ${member} cannot stand in a url`);
  return encodeURIComponent(plainText(value, argument));
}

function checked(text: string, argument: string, httpsOnly: boolean): URL {
  if (/\s/.test(text) || !/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new BadUserInput(argument, 'must be an address that begins with https:// or http://');
  }
  const url = new URL(text);
  if (httpsOnly && url.protocol !== 'https:') throw new BadUserInput(argument, 'must begin with https://');
  if (url.username !== '' || url.password !== '') throw new BadUserInput(argument, 'must name no user and no password');
  if (url.hash !== '') throw new BadUserInput(argument, 'must have no fragment, which would not be sent');
  return url;
}
