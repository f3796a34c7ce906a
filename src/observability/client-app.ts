/** The program that a client says it is. */
export interface ClientApp {
  readonly name: string;
  readonly version: string | undefined;
}

/** A package's name or version. It has no `@` within, and so cannot be an e-mail address. */
const validText = /^@?[\w.:+/ -]{1,64}$/;

/**
 * The program that headers name, or the first message of a WebSocket: `graphql-client-name` and `graphql-client-version`, or Apollo's own
 * names. Undefined where they name none, or one with invalid characters.
 */
export function clientAppOf(headers: Readonly<Record<string, unknown>>): ClientApp | undefined {
  const read = (what: 'name' | 'version') => {
    const text = headers[`graphql-client-${what}`] ?? headers[`apollographql-client-${what}`];
    return typeof text === 'string' && validText.test(text) ? text : undefined;
  };
  const name = read('name');
  return name === undefined ? undefined : { name, version: read('version') };
}
