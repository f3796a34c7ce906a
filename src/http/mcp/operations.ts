// Reads the operations that agents call as tools.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  getOperationAST,
  isListType,
  OperationTypeNode,
} from 'graphql';
import { ConfigurationError, reasonOf } from '../../config/configuration-error.js';
import type { DocumentChecks } from '../../graphql/limits/document-checks.js';
import { readTextFile } from '../../lib/read-file.js';
import { commentAbove, inputSchema, outputSchema } from './json-schema.js';
import { type SelectedField, type SelectedFields, selectedFields, usesIn, type VariableUse } from './selection.js';

export type ToolOperation = ReturnType<typeof readToolOperation>;

export interface ToolPage {
  /** Where the connection is in the data. */
  readonly path: readonly string[];
  /** The variable for its argument `after`. */
  readonly after: string;
  /** Which of `nodes` and `edges` are selected. */
  readonly lists: readonly string[];
}

interface OperationsDeps {
  readonly schema: GraphQLSchema;
  readonly documentChecks: Pick<DocumentChecks, 'parse'>;
  readonly allowMutations: boolean;
}

/** Models take no longer name of a tool, and only characters that a name in GraphQL may have. */
const maxNameLength = 64;

/** Reads the operations of a folder, one of each file, without mutations unless they are allowed. @throws ConfigurationError that names every invalid file. */
export function readToolOperations(folder: string, deps: OperationsDeps): readonly ToolOperation[] {
  const faults: string[] = [];
  const tools = new Map<string, ToolOperation>();
  for (const file of operationFiles(folder)) {
    try {
      const tool = readToolOperation(readTextFile(file), deps);
      const { name, type } = tool.operation;
      if (tools.has(name)) throw new Error(`another file has an operation ${name}`);
      if (type === OperationTypeNode.QUERY || deps.allowMutations) tools.set(name, tool);
    } catch (error) {
      faults.push(`MCP_OPERATIONS: ${file}: ${reasonOf(error)}`);
    }
  }
  if (faults.length > 0) throw new ConfigurationError(...faults);
  return [...tools.values()];
}

/** The paths of the operations of a folder, sorted. @throws ConfigurationError */
function operationFiles(folder: string): readonly string[] {
  try {
    const files = readdirSync(folder).filter(file => file.endsWith('.graphql'));
    if (files.length > 0) return files.sort().map(file => join(folder, file));
  } catch (error) {
    throw new ConfigurationError(`MCP_OPERATIONS: ${folder} cannot be read: ${reasonOf(error)}`);
  }
  throw new ConfigurationError(`MCP_OPERATIONS: ${folder} has no .graphql files`);
}

/** @throws Error whose message says what is wrong with the operation. */
function readToolOperation(query: string, { schema, documentChecks }: OperationsDeps) {
  const document = documentChecks.parse(query);
  const operation = getOperationAST(document);
  if (operation?.name === undefined)
    throw new Error('the file must have exactly one operation, and it must have a name');
  const type = operation.operation;
  const name = operation.name.value;
  if (name.length > maxNameLength) throw new Error(`the name ${name} must have at most ${maxNameLength} characters`);
  if (type === OperationTypeNode.SUBSCRIPTION) throw new Error('a tool is a query or a mutation, not a subscription');
  const description = commentAbove(operation);
  if (description === '') throw new Error('a comment above the operation must describe the tool');
  const fields = selectedFields(schema, document, operation);
  const { page, uses } = readFields(fields);
  return {
    operation: { query, document, name, operationName: name, type },
    description,
    input: inputSchema(schema, operation, uses),
    output: outputSchema(schema, fields),
    fields,
    page,
    uses,
  };
}

/** The list that is paged, and where fields use variables. @throws Error for a vector, and a list that an agent could not page through. */
function readFields(root: SelectedFields): { page: ToolPage | undefined; uses: readonly VariableUse[] } {
  const pages: ToolPage[] = [];
  const uses: VariableUse[] = [];

  function visit(fields: SelectedFields, path: readonly string[], isInList: boolean): void {
    for (const [key, field] of fields) {
      const at = [...path, key];
      const { type } = field.definition;
      if (getNamedType(type).name === 'Vector') throw new Error(`${at.join('.')}: vectors are not sent to agents`);
      const own = usesIn(field, at.join('.'));
      const after = own.find(({ argument }) => argument === 'after')?.variable;
      if (after !== undefined) pages.push({ path: at, after, lists: listsIn(field, at, isInList) });
      uses.push(...own);
      visit(field.members, at, isInList || isListType(getNullableType(type)));
    }
  }

  visit(root, [], false);
  if (pages.length > 1) throw new Error('only one list can have a variable for "after"');
  return { page: pages[0], uses };
}

/** Which lists of a connection are selected. @throws Error where an agent could not page through it. */
function listsIn({ nodes, members }: SelectedField, path: readonly string[], isInList: boolean): readonly string[] {
  const lists = ['nodes', 'edges'].filter(name => members.has(name));
  const position = members.get('pageInfo')?.members;
  const isForward = nodes.every(({ arguments: given = [] }) =>
    given.every(({ name }) => !['last', 'before', 'page'].includes(name.value)),
  );
  if (isInList || !isForward || lists.length === 0 || !position?.has('hasNextPage') || !position.has('endCursor')) {
    throw new Error(
      `${path.join('.')}: a list with a variable for "after" must be in no other list, select nodes or edges, and pageInfo { hasNextPage endCursor }, and have no last, before or page`,
    );
  }
  return lists;
}
