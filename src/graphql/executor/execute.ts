import {
  type DocumentNode,
  type ExecutionResult,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { MaybePromise } from '../../lib/maybe-promise.js';
import { type Plan, planOf } from './plan.js';
import { runPlan } from './run-plan.js';

/** A valid document, and what one of its operations is executed with. */
export interface Asked {
  readonly document: DocumentNode;
  readonly operationName: string | null | undefined;
  /** As the client sent them. */
  readonly variables: Readonly<Record<string, unknown>> | undefined;
  readonly context: unknown;
}

/** Executes an operation by its plan; undefined where it is for graphql-js to execute. What it returns never rejects. */
export type QueryExecutor = (asked: Asked) => MaybePromise<ExecutionResult> | undefined;

/** What decides how an operation is executed. */
export interface ExecutorDeps {
  /** Whether an operation is so large that a plan pays the first time, too. */
  isLarge(operation: OperationDefinitionNode): boolean;
}

/** Answers about the schema itself; those who ask for it are few tools, each with a document of its own. */
const mostSchemaAnswers = 4;

/** Of all plans that are kept. A field takes about 300 bytes, with what the engine knows of the layout of answers. */
const mostFields = 20_000;

/** A query that came again. */
interface Known {
  readonly number: number;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  /** The variables that `@skip` and `@include` go by: for each of their values there is another plan. */
  readonly conditions: readonly string[];
}

/**
 * Executes by a plan the queries of documents that come again, and large ones at once. For graphql-js remain mutations and subscriptions, a
 * small document that is new, variables that do not fit, and what cannot be planned. What the schema is, is worked out once for each document.
 */
export function createQueryExecutor(schema: GraphQLSchema, { isLarge }: ExecutorDeps): QueryExecutor {
  /** By the operation, which lives as long as the door keeps its document parsed. */
  const met = new WeakMap<OperationDefinitionNode, Known | 'new' | 'unplannable'>();
  const plans = new LRUCache<string, Plan>({ maxSize: mostFields, sizeCalculation: ({ size }) => size });
  const schemaAnswers = new LRUCache<OperationDefinitionNode, ExecutionResult>({ max: mostSchemaAnswers });
  let queries = 0;

  function knownOf(operation: OperationDefinitionNode, document: DocumentNode): Known | undefined {
    const before = met.get(operation);
    if (before === undefined && !isLarge(operation)) {
      met.set(operation, 'new');
      return undefined;
    }
    if (before === 'unplannable') return undefined;
    if (typeof before === 'object') return before;
    queries += 1;
    const known = { number: queries, fragments: fragmentsOf(document), conditions: conditionsOf(document) };
    met.set(operation, known);
    return known;
  }

  return ({ document, operationName, variables: given, context }) => {
    const operation = getOperationAST(document, operationName);
    if (operation?.operation !== OperationTypeNode.QUERY) return undefined;
    const answered = schemaAnswers.get(operation);
    if (answered !== undefined) return answered;
    const isNew = !met.has(operation);
    const known = knownOf(operation, document);
    if (known === undefined) return undefined;
    const { coerced: variables } = getVariableValues(schema, operation.variableDefinitions ?? [], given ?? {}, {
      maxErrors: 1,
    });
    if (variables === undefined) return undefined;

    const { number, fragments, conditions } = known;
    const values = conditions.map(name => variables[name]);
    if (!values.every(value => typeof value === 'boolean')) return undefined;
    const key = `${number} ${values}`;
    const plan = plans.get(key) ?? planOf({ schema, fragments, operation, variables });
    if (plan === undefined) {
      met.set(operation, 'unplannable');
      return undefined;
    }
    // One that may not come again must not drive out those that did.
    if (!isNew) plans.set(key, plan);
    const result = runPlan(plan, { schema, fragments, operation, variables, context });
    if (isAboutSchema(operation) && !(result instanceof Promise)) schemaAnswers.set(operation, result);
    return result;
  };
}

/** Whether it asks for the schema and for nothing else, and has the same answer each time. */
function isAboutSchema({ operation, selectionSet, variableDefinitions }: OperationDefinitionNode): boolean {
  return (
    operation === OperationTypeNode.QUERY &&
    (variableDefinitions ?? []).length === 0 &&
    selectionSet.selections.every(each => each.kind === Kind.FIELD && /^__(?:schema|type)$/.test(each.name.value))
  );
}

function fragmentsOf({ definitions }: DocumentNode): Known['fragments'] {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const definition of definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  }
  return fragments;
}

/** No directive but `@skip` and `@include` may stand in a query. */
function conditionsOf(document: DocumentNode): readonly string[] {
  const names = new Set<string>();
  visit(document, { Directive: node => visit(node, { Variable: ({ name }) => void names.add(name.value) }) });
  return [...names];
}
