// `Node` and its identifiers: how they are made and read, and the queries that find an object again.
import { type GraphQLResolveInfo, Kind } from 'graphql';
import { BadUserInput } from '../errors.js';
import type { MaybePromise } from '../lib/run.js';
import { namedIfRejected, selectionsOf } from './input.js';
import { boundedList } from './list-bounds.js';

/** How the objects of a type that implements `Node` are identified, and read again. */
interface NodeType<Source extends object, Context> {
  parts(source: Source): readonly string[];
  /** What follows the parts: not which object it is, but where to find it. At most one text. */
  hint?(source: Source): readonly string[];
  /**
   * Reads an object again. The parts and the hint come from the client: each can be any text, and a missing one is undefined.
   * @returns null if it does not exist.
   */
  find(
    parts: readonly (string | undefined)[],
    context: Context,
    info: GraphQLResolveInfo,
  ): MaybePromise<Source | null | undefined>;
  /** Upstream calls of `find`. @param statisticsLimit `EVENT_STATISTICS_LIMIT` */
  calls(statisticsLimit: number): number;
}

/** The types that implement `Node`, by name. */
// biome-ignore lint/suspicious/noExplicitAny: each type has a source of its own
export type NodeTypes<Context> = Readonly<Record<string, NodeType<any, Context>>>;

/** The identifier of an object across all types. Clients must not read it. */
export function nodeId(type: string, parts: readonly string[]): string {
  return Buffer.from(JSON.stringify([type, ...parts])).toString('base64url');
}

/** Several times that of an id that `nodeId` makes. */
const maxIdLength = 4_000;

/** @returns undefined for a text that `nodeId` does not make. */
export function readNodeId(id: string): { readonly type: string; readonly parts: readonly string[] } | undefined {
  if (id.length > maxIdLength) return undefined;
  try {
    const [type, ...parts]: unknown[] = JSON.parse(Buffer.from(id, 'base64url').toString());
    if (typeof type !== 'string' || !parts.every(part => typeof part === 'string')) return undefined;
    return nodeId(type, parts) === id ? { type, parts } : undefined;
  } catch {
    return undefined;
  }
}

/** Creates the resolvers of `Node`, of `nodeId` on each type that implements it, and of the queries that read nodes again. */
export function createNodeResolvers<Context>(types: NodeTypes<Context>) {
  /** The type and id of each object that `node` or `nodes` found. Its source does not have them. */
  const found = new WeakMap<object, { readonly type: string; readonly id: string }>();

  /** @throws BadUserInput, or what reading the object throws. */
  async function find(id: string, argument: string, context: Context, info: GraphQLResolveInfo) {
    const invalid = new BadUserInput(argument, 'is not a valid node id');
    const { type = '', parts = [] } = readNodeId(id) ?? {};
    const nodeType = Object.hasOwn(types, type) ? types[type] : undefined;
    if (nodeType === undefined) throw invalid;
    let source: object | null | undefined = {};
    // Without a fragment on its type, nothing but its identifier is selected.
    if (selectionsOf(info).some(node => node.kind !== Kind.FIELD && node.typeCondition?.name.value === type)) {
      try {
        source = await namedIfRejected(argument, nodeType.find(parts, context, info));
      } catch (error) {
        throw error instanceof BadUserInput ? invalid : error;
      }
      if (source == null) return null;
      const own = nodeType.parts(source);
      const isSame = nodeId(type, own) === nodeId(type, parts.slice(0, own.length));
      if (!isSame || parts.length > own.length + (nodeType.hint === undefined ? 0 : 1)) throw invalid;
    }
    found.set(source, { type, id });
    return source;
  }

  const idFields = Object.entries(types).map(([type, { parts, hint, calls }]) => {
    const resolve = (source: object) =>
      found.get(source)?.id ?? nodeId(type, [...parts(source), ...(hint?.(source) ?? [])]);
    return [type, { nodeId: { resolve, extensions: { callsToFind: calls } } }];
  });
  return {
    ...Object.fromEntries(idFields),
    Node: { __resolveType: (source: object) => found.get(source)?.type },
    Query: {
      node: (_: unknown, args: { nodeId: string }, context: Context, info: GraphQLResolveInfo) =>
        find(args.nodeId, 'nodeId', context, info),
      nodes: (_: unknown, { nodeIds }: { nodeIds: string[] }, context: Context, info: GraphQLResolveInfo) =>
        boundedList('Query.nodes(nodeIds:)', nodeIds, 'nodeIds').map((id, index) =>
          find(id, `nodeIds.${index}`, context, info),
        ),
    },
  };
}
