// The answers of tools: cut to what an agent can read, with errors in the words of the tool.
import { type GraphQLFormattedError, OperationTypeNode } from 'graphql';
import { QueryTooComplex } from '../../errors.js';
import { indexIn, itemCursor, listOf } from '../../graphql/connection.js';
import type { JsonSchema, ObjectSchema } from './json-schema.js';
import type { ToolOperation, ToolPage } from './operations.js';

/** The most bytes of JSON in the data of one answer: an agent has to read all of it. */
const maxBytes = 60 * 1024;

type ToolError = Omit<GraphQLFormattedError, 'locations'>;

export interface ToolAnswer {
  readonly data: Record<string, unknown> | null;
  readonly errors?: readonly ToolError[];
  /** The arguments that, in addition to those of this call, get the following items. */
  readonly next?: Readonly<Record<string, unknown>>;
  readonly note?: string;
  /** The last state of the jobs that the tool has started. */
  readonly progress?: object;
}

/** The schema of a tool's answers. It leaves out what all have in common. @param progress of the jobs that the tool starts, if it does. */
export const answerSchema = ({ output, page }: ToolOperation, progress: JsonSchema | undefined): ObjectSchema => ({
  type: 'object',
  properties: {
    data: output,
    ...(page && { next: { properties: { [page.after]: {} } } }),
    ...(progress && { progress }),
  },
});

/** An answer that only says what went wrong. */
export const failure = (tool: ToolOperation, errors: readonly GraphQLFormattedError[]): ToolAnswer => ({
  data: null,
  errors: distinct(tool, errors),
});

/**
 * The answer for a result: with the arguments of the next page, and without the items that are too much. The result of a mutation stays whole,
 * since it cannot be asked for again.
 * @param text the result as JSON.
 * @throws QueryTooComplex if a query's result is too large without a list that could be cut.
 */
export function answerOf(tool: ToolOperation, text: string, variables: Readonly<Record<string, unknown>>): ToolAnswer {
  const { data, errors }: { data: Record<string, unknown>; errors?: GraphQLFormattedError[] } = JSON.parse(text);
  const { page, operation } = tool;
  const shown = { data, ...(errors && { errors: distinct(tool, errors) }) };
  const bytes = Buffer.byteLength(errors === undefined ? text : JSON.stringify(shown));
  const isTooLarge = bytes > maxBytes && operation.type === OperationTypeNode.QUERY;
  const connection = page && connectionAt(data, page);
  if (connection === undefined) {
    if (isTooLarge) throw tooLarge(bytes);
    return shown;
  }
  const { after } = page as ToolPage;
  const note = isTooLarge ? cut(connection, bytes, variables[after] as string | undefined) : undefined;
  const { hasNextPage, endCursor } = connection.pageInfo;
  return { ...shown, ...(hasNextPage && { next: { [after]: endCursor } }), ...(note && { note }) };
}

const maxText = 1_000;
const maxValue = 100;

/** What an answer has, for people and for a log: its errors, its single values, and how long its lists are. Agents read the answer itself. */
export function summaryOf({ data, errors = [], next, note }: ToolAnswer): string {
  const lines = errors.map(({ message, extensions }) => `Error ${extensions?.code}: ${message}`);
  if (note !== undefined) lines.push(note);
  if (next !== undefined) lines.push(`next: ${JSON.stringify(next)}`);

  function visit(value: unknown, path: string): void {
    if (Array.isArray(value)) lines.push(`${path}: ${value.length} items`);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) visit(member, path === '' ? key : `${path}.${key}`);
    } else lines.push(`${path}: ${String(value).slice(0, maxValue)}`);
  }
  if (data !== null) visit(data, '');
  return lines.join('\n').slice(0, maxText);
}

interface Connection {
  readonly lists: readonly unknown[][];
  readonly pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

function connectionAt(data: Record<string, unknown>, { path, lists }: ToolPage): Connection | undefined {
  let value: unknown = data;
  for (const key of path) value = (value as Record<string, unknown> | null | undefined)?.[key];
  if (value == null) return undefined;
  const connection = value as Record<string, unknown[]> & Pick<Connection, 'pageInfo'>;
  return { lists: lists.map(name => connection[name] ?? []), pageInfo: connection.pageInfo };
}

/**
 * Removes items from the end until the rest is small enough.
 * @param after the cursor before the first item. An item that could not be read is not in the lists, so a few items may come again on the next page,
 * but none is lost.
 */
function cut({ lists, pageInfo }: Connection, bytes: number, after: string | undefined): string {
  const length = lists[0]?.length ?? 0;
  let kept = length;
  let left = bytes;
  while (kept > 1 && left > maxBytes) {
    kept -= 1;
    for (const list of lists) left -= Buffer.byteLength(JSON.stringify(list[kept])) + 1;
  }
  if (left > maxBytes) throw tooLarge(bytes);
  for (const list of lists) list.length = kept;
  pageInfo.hasNextPage = true;
  const list = listOf(String(pageInfo.endCursor));
  const start = after === undefined ? 0 : indexIn(list, after, 'after') + 1;
  pageInfo.endCursor = itemCursor(list, start + kept - 1);
  return `These are the first ${kept} of ${length} items, because an answer has at most ${maxBytes} bytes. To go on, call the tool again with the arguments in "next" added.`;
}

const tooLarge = (bytes: number) => new QueryTooComplex('bytes of the response', bytes, maxBytes);

/** One error of each kind: a single cause often fails many fields. */
const distinct = (tool: ToolOperation, errors: readonly GraphQLFormattedError[]) => [
  ...new Map(
    errors
      .map(error => forTool(tool, error))
      .map(error => [JSON.stringify([error.message, error.extensions]), error] as const),
  ).values(),
];

/** The error by the arguments of the tool: for `market(id: $marketId)`, it names `marketId` where GraphQL names `id`. */
function forTool({ uses }: ToolOperation, { locations: _, ...error }: GraphQLFormattedError): ToolError {
  const { message, path, extensions } = error;
  if (typeof extensions?.argument !== 'string') return error;
  const field = path?.filter(key => typeof key === 'string').join('.');
  // From before the execution, when no field has failed yet.
  const [, variable] = /^Variable "\$(\w+)"/.exec(message) ?? [];
  const near = uses.filter(use => use.field === field || use.variable === variable);

  const useOf = (text: string) => near.find(({ argument }) => `${text}.`.startsWith(`${argument}.`));
  function renamed(text: string): string {
    const use = useOf(text);
    return use === undefined ? text : use.variable + text.slice(use.argument.length);
  }
  const { argument, ...others } = extensions;
  // What the operation gives a field itself is no argument of the tool.
  const isOwn = path === undefined || useOf(argument) !== undefined;
  return {
    ...error,
    message: message.replace(/^\w+(?=: )|(?<=for ")\w+(?=")|\b\w+(?:\.\w+)+/g, renamed),
    extensions: isOwn ? { ...others, argument: renamed(argument) } : others,
  };
}
