import {
  type DocumentNode,
  type GraphQLSchema,
  getArgumentValues,
  getOperationAST,
  getOperationRootType,
  getVariableValues,
  Kind,
  OperationTypeNode,
} from 'graphql';
import type { Admission } from '../../graphql/limits/admission.js';
import { RefusedOperation } from '../../graphql/limits/documents.js';
import { newOperationInfo } from '../../observability/operation-info.js';
import type { Operation } from '../../subscriptions/operations.js';
import type { Listener } from '../../subscriptions/shared-execution.js';
import type { Subscriptions } from '../../subscriptions/subscriptions.js';
import type { Identity } from '../authentication.js';
import { type ObjectSchema, outputSchema } from './json-schema.js';
import type { ToolOperation } from './operations.js';
import { createSelector } from './selection.js';

/** The mutations that start jobs, and the phase of these jobs. */
const phases = new Map([
  ['startDiscovery', 'DISCOVERY'],
  ['publishMarket', 'PUBLISH'],
]);

/** The state of jobs. */
export interface JobState {
  readonly finished: boolean;
  readonly overallProgress: number | null;
  readonly jobs: readonly { readonly workflowName: string | null; readonly status: string | null }[];
}

/** Jobs that a tool has started. */
export interface StartedJobs {
  readonly marketId: string;
  readonly phase: string;
}

/** Follows the jobs that tools start. */
export interface JobWatch {
  /** The schema of a state. */
  readonly schema: ObjectSchema;
  /** Whether a tool starts jobs. */
  starts(tool: ToolOperation): boolean;
  /** The jobs that a call of a tool has started; undefined if it starts none. @param variables valid ones. */
  startedBy(tool: ToolOperation, variables: Readonly<Record<string, unknown>>): StartedJobs | undefined;
  /** The states of jobs until they have ended, the signal aborts, or the state cannot be read. */
  states(jobs: StartedJobs, identity: Identity, signal: AbortSignal): AsyncGenerator<JobState>;
}

const query = `subscription JobProgress($marketId: ID!, $phase: JobPhase!) {
  jobProgress(marketId: $marketId, phase: $phase) { finished overallProgress jobs { id workflowName progress status } }
}`;

/** Follows jobs with the subscription `jobProgress`, whose polls all clients with the same credential share. */
export function createJobWatch(schema: GraphQLSchema, admission: Admission, subscriptions: Subscriptions): JobWatch {
  const document = admission.parse(query);
  if (document instanceof RefusedOperation) throw document;
  const operation = { query, document, type: OperationTypeNode.SUBSCRIPTION, untrusted: undefined };

  const rootOf = (tool: Operation) => {
    const definition = getOperationAST(tool.document, tool.name);
    const [field] = definition?.selectionSet.selections ?? [];
    const isStart =
      field?.kind === Kind.FIELD && tool.type === OperationTypeNode.MUTATION && phases.has(field.name.value);
    return isStart && definition ? { definition, field } : undefined;
  };

  return {
    schema: stateSchema(schema, document),
    starts: tool => rootOf(tool.operation) !== undefined,
    startedBy({ operation: tool }, variables) {
      const root = rootOf(tool);
      if (root === undefined) return undefined;
      const { definition, field } = root;
      const { coerced } = getVariableValues(schema, definition.variableDefinitions ?? [], variables);
      const mutation = getOperationRootType(schema, definition).getFields()[field.name.value];
      const { input } = mutation ? getArgumentValues(mutation, field, coerced) : {};
      return { marketId: (input as StartedJobs).marketId, phase: phases.get(field.name.value) ?? '' };
    },
    async *states(jobs, identity, signal) {
      let newest: JobState | undefined;
      let wake = () => {};
      const end = () => {
        listener.isOver = true;
        wake();
      };
      const listener: Listener & { isOver: boolean } = {
        received: 0,
        isOver: false,
        execution: undefined,
        next({ parts }) {
          newest = JSON.parse(parts.join('')).data?.jobProgress ?? undefined;
          wake();
        },
        end,
        room: async () => {},
      };
      const variables = { ...jobs };
      void subscriptions.subscribe(
        { ...operation, name: 'JobProgress', variables },
        identity,
        listener,
        newOperationInfo(),
      );
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
      try {
        while (!signal.aborted) {
          const state = newest;
          newest = undefined;
          if (state !== undefined) yield state;
          else if (listener.isOver) return;
          else
            await new Promise<void>(resolve => {
              wake = resolve;
            });
        }
      } finally {
        signal.removeEventListener('abort', end);
        listener.isOver = true;
        listener.execution?.leave(listener);
      }
    },
  };
}

/** The schema of what `query` selects of `jobProgress`. */
function stateSchema(schema: GraphQLSchema, document: DocumentNode): ObjectSchema {
  const fieldsOf = createSelector(schema, new Map());
  const definition = getOperationAST(document);
  const parent = schema.getSubscriptionType();
  const root = definition && parent ? fieldsOf([{ parent, set: definition.selectionSet, isAlways: true }]) : new Map();
  return outputSchema(schema, fieldsOf, root.get('jobProgress')?.selections ?? []);
}
