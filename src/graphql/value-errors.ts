import { type GraphQLError, type GraphQLSchema, isEnumType, isInputObjectType, Kind } from 'graphql';

/** The places where messages of GraphQL repeat a value. What follows the first one may be a part of the value. */
const repeatedValues: readonly (readonly [RegExp, string])[] = [
  [/^(Syntax Error: .*?(?:String|Int|Float)) ".*"\.$/s, '$1.'],
  [/^(Expected value of type "[^"]*"), found .*$/s, '$1.'],
  [/^(Argument "\w+" has) (invalid value) .*$/s, '$1 an $2.'],
  [/( cannot represent [^:]*): .*$/s, '$1.'],
];

/** A message of GraphQL without the value, which may be a secret that was put into the wrong place. */
export function withoutValue(message: string): string {
  const found = repeatedValues.find(([pattern]) => pattern.test(message));
  return found === undefined ? message : message.replace(...found);
}

/** Of an unknown value of an enum, in characters. */
const maxShownLength = 40;

/**
 * A message of GraphQL about a wrong value, with what the client may have meant: the values of an enum, or the members of a `@oneOf` and which of them it
 * gave. Only an unknown value of an enum is repeated.
 * @param given the members of the value, if it is an object.
 */
export function valueMessage(schema: GraphQLSchema, message: string, given: readonly string[]): string {
  const [, unknown, name = ''] = /^(?:Value "(.*)" does not exist in|Enum) "(\w+)"/s.exec(message) ?? [];
  const type = schema.getType(name);
  if (isEnumType(type)) {
    const all = choice(type.getValues().map(value => value.name));
    if (unknown !== undefined) return `Value ${shown(unknown)} does not exist in "${name}" enum. Did you mean ${all}?`;
    return `${withoutValue(message)} Did you mean ${all}, without quotes?`;
  }
  const [, oneOf = ''] =
    /^(?:Exactly one key must be specified for OneOf type|OneOf Input Object) "(\w+)"/.exec(message) ?? [];
  const object = schema.getType(oneOf);
  if (!isInputObjectType(object)) return withoutValue(message);
  const members = Object.keys(object.getFields());
  const known = members.filter(member => given.includes(member));
  return `"${oneOf}" takes exactly one member, but was given ${known.join(' and ') || 'none'}. Did you mean ${choice(members)}?`;
}

/** `valueMessage` for an error that validation finds in a document. */
export function documentMessage(schema: GraphQLSchema, { message, nodes }: GraphQLError): string {
  const [node] = nodes ?? [];
  return valueMessage(schema, message, node?.kind === Kind.OBJECT ? node.fields.map(({ name }) => name.value) : []);
}

/** `DAY, WEEK or MONTH`. */
const choice = (names: readonly string[]) => names.join(', ').replace(/, (\w+)$/, ' or $1');

/** A value in quotes, cut, without half of a surrogate pair. */
function shown(value: string): string {
  const letters = [...value.slice(0, 2 * maxShownLength + 1)];
  return JSON.stringify(letters.length > maxShownLength ? `${letters.slice(0, maxShownLength).join('')}…` : value);
}
