// Executes an operation by its plan, or with graphql-js.
import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  type DocumentNode,
  defaultFieldResolver,
  execute,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLSchema,
  getNullableType,
  getOperationAST,
  getVariableValues,
  isListType,
  locatedError,
  OperationTypeNode,
  responsePathAsArray,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { isLeftOut, present } from '../../data/parsing.js';
import { RecordLeftOut } from '../../errors.js';
import { andThen, type MaybePromise, oncePerValue, runYielding } from '../../lib/run.js';
import { type PlannedResult, withLaterParts } from './defer.js';
import { type OperationPlan, planOperation } from './plan.js';
import { maxErrors, moreErrors, type PlanInput, runPlan } from './run-plan.js';

/** One operation of a valid document, and what it is executed with. */
export interface ExecutionInput extends Pick<PlanInput, 'turn' | 'counted'> {
  readonly document: DocumentNode;
  readonly operationName: string | null | undefined;
  /** As the client sent them. */
  readonly variables: Readonly<Record<string, unknown>> | undefined;
  readonly context: object;
  /** The value of a subscription that is executed. */
  readonly rootValue?: unknown;
  /** Whose turn it is where the operation is not planned yet. */
  readonly client?: string | undefined;
  /** Whether the client takes a result in parts. If not, `@defer` changes nothing. */
  readonly defers?: boolean;
}

/** Executes an operation by a plan. @returns undefined where graphql-js has to execute it. A promise that it returns never rejects. */
export type PlanExecutor = (input: ExecutionInput) => MaybePromise<PlannedResult | undefined>;

/** Of all cached plans. A field takes about 300 bytes, including V8's layout of response objects. */
const maxCachedFields = 20_000;

/**
 * The compiled executor, which plans every query and subscription. It leaves to graphql-js: mutations, invalid variables, and `@skip` or `@include` by a
 * variable that is null.
 */
export function createPlanExecutor(schema: GraphQLSchema): PlanExecutor {
  let lastNumber = 0;
  /** With its plans, by one operation and what is left out of it: they keep the whole document, so they live only as long as it does. */
  const partsOf = oncePerValue((document: DocumentNode) => {
    lastNumber += 1;
    const plans = new Map<string, OperationPlan>();
    return { number: lastNumber, plans, weakPlans: new WeakRef(plans), ...fragmentsAndConditions(document) };
  });
  /** Where the plans are that were used last, of all documents. */
  const cached = new LRUCache<string, WeakRef<Map<string, OperationPlan>>>({
    maxSize: maxCachedFields,
    dispose: (plans, key) => plans.deref()?.delete(key),
  });

  return given => {
    const { document, operationName, context, rootValue, turn, client, counted, defers = false } = given;
    const operation = getOperationAST(document, operationName);
    if (operation == null || operation.operation === OperationTypeNode.MUTATION) return undefined;
    const definitions = operation.variableDefinitions ?? [];
    const { coerced: variables } = getVariableValues(schema, definitions, given.variables ?? {}, { maxErrors: 1 });
    if (variables === undefined) return undefined;
    const { number, plans, weakPlans, fragments, conditions, hasDefer } = partsOf(document);
    const values = conditions.map(name => variables[name]);
    if (values.includes(null)) return undefined;

    const isDeferred = defers && hasDefer;
    // Another operation of the document may have a variable that this one does not, or that has another type here.
    const conditionValues = values.map(value => (typeof value === 'boolean' ? value : undefined));
    const key = `${number} ${operation.name?.value} ${isDeferred} ${conditionValues}`;
    const plan = () => planOperation({ schema, fragments, operation, variables }, isDeferred);
    return andThen(plans.get(key) ?? runYielding(client, plan), planned => {
      cached.set(key, weakPlans, { size: planned.size });
      if (cached.has(key)) plans.set(key, planned);
      const input = { schema, fragments, operation, variables, context, turn, counted, errors: { left: maxErrors } };
      return andThen(runPlan(planned.root, input, rootValue), ({ deferred, whole }) =>
        deferred.length === 0 ? whole : withLaterParts(whole, deferred, input),
      );
    });
  };
}

/** Executes an operation by a plan, or with graphql-js. The result has its first errors, and one that stands for the others. */
export const executeOperation = (
  { schema, executePlanned }: { readonly schema: GraphQLSchema; readonly executePlanned: PlanExecutor | undefined },
  input: ExecutionInput,
): MaybePromise<PlannedResult> =>
  andThen(executePlanned?.(input), planned => planned ?? executeUnplanned(schema, input));

async function executeUnplanned(schema: GraphQLSchema, input: ExecutionInput): Promise<PlannedResult> {
  const { document, operationName, variables: variableValues, context: contextValue, rootValue } = input;
  const given = { document, operationName, variableValues, contextValue, rootValue };
  const { errors: failed = [], ...result } = await execute({ schema: leavingOut(schema), ...given });
  const errors = [...failed, ...leftOutIn(contextValue)];
  if (errors.length === 0) return result;
  return { ...result, errors: errors.length > maxErrors ? [...errors.slice(0, maxErrors), moreErrors] : errors };
}

/**
 * The fragments of a document, and the variables that `@skip`, `@include` and `@defer` use: each combination of their values needs a plan of its own. No
 * other directive of a query has variables.
 */
function fragmentsAndConditions(document: DocumentNode) {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  const conditions = new Set<string>();
  let hasDefer = false;
  visit(document, {
    FragmentDefinition: definition => {
      fragments[definition.name.value] = definition;
    },
    Directive(directive) {
      hasDefer ||= directive.name.value === 'defer';
      visit(directive, { Variable: ({ name }) => void conditions.add(name.value) });
    },
  });
  return { fragments, conditions: [...conditions], hasDefer };
}

/** What graphql-js has left out, by the context of the execution. */
const leftOutIn = oncePerValue((_context: object): GraphQLError[] => []);

/** A schema for graphql-js, whose lists leave out the records that cannot be read, as the lists of a plan do. */
const leavingOut = oncePerValue((schema: GraphQLSchema) =>
  mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: config => {
      if (!isListType(getNullableType(config.type))) return undefined;
      const { resolve = defaultFieldResolver } = config;
      return {
        ...config,
        resolve: (source, args, context, info) =>
          andThen(resolve(source, args, context, info), list => {
            if (!Array.isArray(list) || !list.some(isLeftOut)) return list;
            const errors = list.filter(isLeftOut).map(({ $leftOut }) => new RecordLeftOut($leftOut));
            const path = responsePathAsArray(info.path);
            leftOutIn(context).push(...errors.map(error => locatedError(error, info.fieldNodes, path)));
            return present(list);
          }),
      };
    },
  }),
);
