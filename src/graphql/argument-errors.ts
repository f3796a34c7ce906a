// The errors of graphql-js, with the argument that is wrong, and without its value.
import {
  type ArgumentNode,
  type ASTNode,
  coerceInputValue,
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  Kind,
  type NamedTypeNode,
  type ObjectFieldNode,
  type OperationDefinitionNode,
  typeFromAST,
  type VariableDefinitionNode,
  visit,
} from 'graphql';

/**
 * The path of what validation finds invalid, unknown or missing within the arguments of its field: `input.searchCriteria.count`. The errors of GraphQL
 * itself only show where a value stands in the text. Undefined for an error of another part of the document.
 */
export function invalidArgumentOf({ message, nodes }: GraphQLError, document: DocumentNode): string | undefined {
  const [, missing] = /^Field "\w+" argument "(\w+)" of type /.exec(message) ?? [];
  if (missing !== undefined) return missing;
  // The last node of several is where a variable is used.
  const node = nodes?.at(-1);
  const [names = []] = pathsIn(document, each => each === node);
  return names.length === 0 ? undefined : names.join('.');
}

/**
 * The argument of a field or directive that GraphQL itself finds invalid when it reads the values: a variable with a default is explicitly null. Its
 * other parts were validated before, so a single variable in it is at fault.
 */
export function executedArgumentOf({ message, nodes, originalError }: GraphQLError): string | undefined {
  const [, argument] = /^Argument "(\w+)" (?:of|has) /.exec(message) ?? [];
  const [value] = nodes ?? [];
  if (originalError !== undefined || argument === undefined || value === undefined) return undefined;
  const variables = pathsIn(value, ({ kind }) => kind === Kind.VARIABLE);
  return variables.length === 1 ? [argument, ...(variables[0] ?? [])].join('.') : argument;
}

/** The paths to the nodes of this kind within a part of a document, as `namesOn` has them. */
function pathsIn(root: ASTNode, isWanted: (node: ASTNode) => boolean): readonly string[][] {
  const paths: string[][] = [];
  visit(root, {
    enter(node, _key, _parent, path) {
      if (isWanted(node)) paths.push(namesOn(path, root));
    },
  });
  return paths;
}

/** The names of the argument and its members, and the indexes in its lists, from a node down to one within it. */
function namesOn(path: readonly (string | number)[], root: ASTNode): string[] {
  const names: string[] = [];
  let at: unknown = root;
  for (const [depth, key] of path.entries()) {
    at = (at as Record<string | number, unknown>)[key];
    if (key === 'directives') return [];
    const { kind, name } = at as ArgumentNode | ObjectFieldNode;
    if (kind === Kind.ARGUMENT || kind === Kind.OBJECT_FIELD) names.push(name.value);
    else if (path[depth - 1] === 'values') names.push(String(key));
  }
  return names;
}

/**
 * The error of graphql-js for a wrong or missing variable, with `argument`: the path of the wrong part within the arguments of the first field that uses the
 * variable, or after its name if no field does. The value may be a secret that was put into the wrong member, so only an enum's is repeated.
 */
export function variableError(
  { message, nodes = [] }: GraphQLError,
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): GraphQLError {
  const { variable, type } = nodes[0] as VariableDefinitionNode;
  const name = variable.name.value;
  let fault: readonly (string | number)[] = [];
  let reason: string | undefined;
  try {
    if (variables[name] !== undefined) {
      // Validation has found that the type exists.
      const inputType = typeFromAST(schema, type as NamedTypeNode) as GraphQLInputType;
      coerceInputValue(variables[name], inputType, (path, part, { message }) => {
        // A missing or unknown member has a path of its own.
        const [, member] = /^Field "(\w{1,128})" (?:is not defined|of required type)/.exec(message) ?? [];
        reason = valueMessage(schema, message, Object.keys(Object(part)));
        fault = member === undefined ? path : [...path, member];
        throw new Error('One is enough');
      });
    }
  } catch {
    // The fault is known.
  }
  const argument = [...firstUseOf(name, document, operation), ...fault].join('.');
  const text = reason === undefined ? message : `Variable "$${name}" has an invalid value for "${argument}": ${reason}`;
  return badValue(text, argument, nodes);
}

/** The error of an operation that is refused for a value of its variables. */
export const badValue = (message: string, argument: string, nodes: GraphQLError['nodes']) =>
  new GraphQLError(message, {
    nodes: nodes ?? null,
    extensions: { code: 'BAD_USER_INPUT', argument, http: { status: 400 } },
  });

/** The path of a variable within the arguments of the first field that uses it; only its name if no field does. */
function firstUseOf(name: string, document: DocumentNode, operation: OperationDefinitionNode): readonly string[] {
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const isUse = (node: ASTNode) => node.kind === Kind.VARIABLE && node.name.value === name;
  const uses = [operation, ...fragments].flatMap(definition => pathsIn(definition, isUse));
  return uses.find(names => names.length > 0) ?? [name];
}

/** The places where messages of GraphQL repeat a value. What follows the first one may be a part of the value. */
const repeatedValues: readonly (readonly [RegExp, string])[] = [
  [/^(Syntax Error: .*?(?:String|Int|Float)) ".*"\.$/s, '$1.'],
  [/^(Expected value of type "[^"]*"), found .*$/s, '$1.'],
  [/^(Argument "\w+" has) (invalid value) .*$/s, '$1 an $2.'],
  [/( cannot represent [^:]{0,100}): .*$/s, '$1.'],
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
function valueMessage(schema: GraphQLSchema, message: string, given: readonly string[]): string {
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
  const both = members.filter(member => given.includes(member));
  return `"${oneOf}" takes exactly one member, but was given ${both.join(' and ') || 'none'}. Did you mean ${choice(members)}?`;
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
