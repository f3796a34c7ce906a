import {
  type ArgumentNode,
  type ASTNode,
  BREAK,
  coerceInputValue,
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  Kind,
  type ObjectFieldNode,
  type OperationDefinitionNode,
  parse,
  type Source,
  visit,
} from 'graphql';
import { oncePerValue } from '../lib/once-per-value.js';
import { valueMessage } from './value-errors.js';

/** Parsed once, because a document may have several errors. */
const parsed = oncePerValue((source: Source) => parse(source));

/**
 * The path of a value within the arguments of its field: `input.searchCriteria.count`. The errors of GraphQL itself name only variables, or show
 * where a value stands in the text.
 * @param node a part of a document that was parsed from a text. @returns undefined if it is no part of a field's argument.
 */
export function argumentPathOf(node: ASTNode): string | undefined {
  const { loc } = node;
  if (loc === undefined) return undefined;
  const document = parsed(loc.source);
  let names: string[] = [];
  visit(document, {
    enter(each, _key, _parent, path) {
      const { start = 0, end = 0 } = each.loc ?? {};
      if (start > loc.start || end < loc.end) return false;
      if (each.kind !== node.kind || start < loc.start || end > loc.end) return undefined;
      names = namesOn(path, document);
      return BREAK;
    },
  });
  return names.length === 0 ? undefined : names.join('.');
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

/** Where the value of a variable is wrong, and why. */
interface InvalidValue {
  /** The path of the wrong part within the arguments of the first field that uses the variable; it begins with the name of the variable if no field does. */
  readonly argument: string;
  /** The reason, as `valueMessage` puts it. Undefined if the variable is missing. */
  readonly reason: string | undefined;
}

/** Finds what is wrong with the value of a variable. The value may be a secret that was put into the wrong member, so only an enum's is repeated. */
export function invalidValueOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  {
    name,
    type,
    value,
  }: { readonly name: string; readonly type: GraphQLInputType | undefined; readonly value: unknown },
): InvalidValue {
  let fault: readonly (string | number)[] = [];
  let reason: string | undefined;
  try {
    if (type !== undefined && value !== undefined) {
      coerceInputValue(value, type, (path, part, { message }) => {
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
  return { argument: [...firstUseOf(name, document, operation), ...fault].join('.'), reason };
}

/** The path of a variable within the arguments of the first field that uses it; only its name if no field does. */
function firstUseOf(name: string, document: DocumentNode, operation: OperationDefinitionNode): readonly string[] {
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  let use: string[] = [];
  for (const definition of [operation, ...fragments]) {
    visit(definition, {
      VariableDefinition: () => false,
      Directive: () => false,
      Variable(variable, _key, _parent, path) {
        if (variable.name.value !== name) return undefined;
        use = namesOn(path, definition);
        return BREAK;
      },
    });
    if (use.length > 0) return use;
  }
  return [name];
}
