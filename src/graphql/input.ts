// Checks of arguments, and what a field selects.
import { shouldIncludeNode } from '@graphql-tools/utils';
import {
  type ASTNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  type InlineFragmentNode,
  isInterfaceType,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  visit,
} from 'graphql';
import { BadUserInput, UpstreamBadInput } from '../errors.js';
import { distinctDomains, domainKey } from '../lib/domain.js';
import { oncePerValue } from '../lib/run.js';
import { boundedList, type ListCoordinate } from './list-bounds.js';

/** The most items of one page, here and in the service (docs/upstream-api.md: GET events). */
export const maxPageSize = 100;
/** The number of items of a page if the client does not say how many. */
export const defaultPage = 10;
const maxTextLength = 1_000;
/** Also what the service may know a company by: a name with an underscore, an address, or either with a port. No URL, and no word without a dot. */
const domainName =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?::\d{1,5})?$/;

/** The size of a page. @throws BadUserInput outside 1 to `max`. */
export function pageSize(first: number | null | undefined, argument = 'first', max = maxPageSize): number {
  const size = first ?? defaultPage;
  if (size >= 1 && size <= max) return size;
  throw new BadUserInput(argument, `must be between 1 and ${max}`);
}

/** Whether a text can be an observation's identifier. It must not change the path of the address that it becomes part of. */
export function isObservationId(id: string): boolean {
  return /^(?!\.+$)[\w:@=+~.-]{1,256}$/.test(id);
}

/** An observation's identifier. @throws BadUserInput */
export function observationId(id: string, argument = 'id'): string {
  if (!isObservationId(id)) {
    throw new BadUserInput(argument, 'must be 1 to 256 letters, digits or any of _ - . : @ = + ~');
  }
  return id;
}

/** A market's identifier, which is a whole number. @throws BadUserInput */
export function marketId(id: string, argument = 'id'): string {
  if (!/^(0|[1-9]\d{0,14})$/.test(id)) throw new BadUserInput(argument, 'must be a whole number of at most 15 digits');
  return id;
}

/** What can be seen of a text. The blank of Braille is a symbol. */
const visible = /[^\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Text that is sent to the service unchanged. @throws BadUserInput if nothing of it is visible, it is too long, or contains control characters. */
export function plainText(text: string, argument: string, maxLength = maxTextLength): string {
  if (text.trim() === '') throw new BadUserInput(argument, 'must not be empty');
  if (text.length > maxLength) throw new BadUserInput(argument, `must be at most ${maxLength} characters`);
  if (!visible.test(text)) throw new BadUserInput(argument, 'must have a visible character');
  // Those of Unicode that separate lines and paragraphs, too.
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)) throw new BadUserInput(argument, 'must not contain control characters');
  return wholeText(text, argument);
}

/** The name or the key of something of the gateway, in one form of Unicode. @throws BadUserInput */
export const checkedName = (text: string, argument: string) => plainText(text, argument, 255).normalize();

/** A name of an endpoint, without blanks at its ends. @throws BadUserInput */
export const endpointName = (text: string, argument = 'input.endpoint') => checkedName(text, argument).trim();

/** Text without what stands for half a surrogate pair, or for bytes that were no text: the service would take it for another text. @throws BadUserInput */
export function wholeText(text: string, argument: string): string {
  if (text.includes('\ufffd')) throw new BadUserInput(argument, 'must not contain U+FFFD, or half of a surrogate pair');
  return text;
}

/** Internet domains without blanks around them and without duplicates, in the given order, each as it is written first. @throws BadUserInput if there is none, or one is invalid. */
export function checkedDomains(
  coordinate: ListCoordinate,
  domains: readonly string[],
  argument: string,
): readonly string[] {
  if (domains.length === 0) throw new BadUserInput(argument, 'must contain at least 1 domain');
  for (const [index, domain] of boundedList(coordinate, domains, argument).entries()) {
    if (!domainName.test(domainKey(domain))) {
      throw new BadUserInput(`${argument}.${index}`, 'must be a domain name such as example.com');
    }
  }
  return distinctDomains(domains.map(domain => domain.trim()));
}

type Selected = FieldNode | InlineFragmentNode | FragmentDefinitionNode;

/** By the nodes of a field, of which an execution or a plan has one list. */
const selectedBy = oncePerValue(
  (fieldNodes: readonly FieldNode[], { fragments, variableValues }: GraphQLResolveInfo): readonly Selected[] => {
    const found = new Set<Selected>();
    const variables = { coerced: variableValues, sources: {} };
    function add({ selectionSet }: Selected): void {
      for (const selection of selectionSet?.selections ?? []) {
        const node = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value] : selection;
        if (node === undefined || found.has(node) || !shouldIncludeNode(variables, selection)) continue;
        found.add(node);
        if (node.kind !== Kind.FIELD) add(node);
      }
    }
    for (const node of fieldNodes) add(node);
    return [...found];
  },
);

/** The members that a field selects, and the fragments that they are in, without what `@skip` or `@include` leaves out. */
export const selectionsOf = (info: GraphQLResolveInfo): readonly Selected[] => selectedBy(info.fieldNodes, info);

const metaFields = new Map(
  [SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef].map(field => [field.name, field] as const),
);

/** A field of a type, or one of those that GraphQL adds: `__typename`, `__schema`, `__type`. */
export function fieldOf(type: GraphQLNamedType, name: string): GraphQLField<unknown, unknown> | undefined {
  const own = isObjectType(type) || isInterfaceType(type) ? type.getFields()[name] : undefined;
  return own ?? metaFields.get(name);
}

const namesIn = oncePerValue((definition: ASTNode): ReadonlySet<string> => {
  const names = new Set<string>();
  visit(definition, { Field: ({ name }) => void names.add(name.value) });
  return names;
});

/** Whether a field selects a member of this name. Use it to decide whether to make calls. */
export const selectsMember = (info: GraphQLResolveInfo, member: string): boolean =>
  selectionsOf(info).some(node => node.kind === Kind.FIELD && node.name.value === member);

/**
 * Whether an operation selects a field of this name anywhere, even under `@skip` or on another branch. Use it to decide whether to fetch
 * something large: fetching it unnecessarily does no harm.
 */
export const selectsField = ({ operation, fragments }: GraphQLResolveInfo, field: string): boolean =>
  namesIn(operation).has(field) || Object.values(fragments).some(definition => namesIn(definition).has(field));

/** Names the argument whose value the service rejects in a read that several fields share, each with an argument of its own, or none. */
export function namedIfRejected<R>(argument: string | undefined, read: R): R {
  if (!(read instanceof Promise)) return read;
  return read.catch(error => {
    throw error instanceof UpstreamBadInput ? new UpstreamBadInput(error.message, error.upstream, argument) : error;
  }) as R;
}

/** Names the arguments of errors within `input`. */
export function withinInput<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof BadUserInput) throw new BadUserInput(`input.${error.argument}`, error.reason);
    throw error;
  }
}
