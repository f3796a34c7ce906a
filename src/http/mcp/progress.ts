import {
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
import type { Listener } from '../../subscriptions/shared-execution.js';
import type { Subscriptions } from '../../subscriptions/subscriptions.js';
import type { Identity } from '../authentication.js';
import type { JsonSchema } from './json-schema.js';
import type { ToolOperation } from './operations.js';

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
  /** Whether a tool starts jobs. */
  starts(tool: ToolOperation): boolean;
  /** The jobs that a call of a tool has started; undefined if it starts none. @param variables valid ones. */
  startedBy(tool: ToolOperation, variables: Readonly<Record<string, unknown>>): StartedJobs | undefined;
  /** Reports the states of jobs until they have ended, the signal aborts, or the state cannot be read. Never rejects. */
  follow(jobs: StartedJobs, identity: Identity, signal: AbortSignal, report: (state: JobState) => void): Promise<void>;
}

const query = `subscription JobProgress($marketId: ID!, $phase: JobPhase!) {
  jobProgress(marketId: $marketId, phase: $phase) { finished overallProgress jobs { id workflowName progress status } }
}`;

/** The schema of what `query` selects of a state. */
export const stateSchema: JsonSchema = {
  properties: {
    finished: { type: 'boolean' },
    overallProgress: {},
    jobs: { items: { properties: { id: {}, workflowName: {}, progress: {}, status: {} } } },
  },
};

/** Follows jobs with the subscription `jobProgress`, whose polls all clients with the same credential share. */
export function createJobWatch(schema: GraphQLSchema, admission: Admission, subscriptions: Subscriptions): JobWatch {
  const document = admission.parse(query);
  if (document instanceof RefusedOperation) throw document;
  const operation = { query, document, type: OperationTypeNode.SUBSCRIPTION };

  const rootOf = ({ operation: { document, name, type } }: ToolOperation) => {
    const definition = getOperationAST(document, name);
    const [field] = definition?.selectionSet.selections ?? [];
    const isStart = field?.kind === Kind.FIELD && type === OperationTypeNode.MUTATION && phases.has(field.name.value);
    return isStart && definition ? { definition, field } : undefined;
  };

  return {
    starts: tool => rootOf(tool) !== undefined,
    startedBy(tool, variables) {
      const root = rootOf(tool);
      if (root === undefined) return undefined;
      const { definition, field } = root;
      const { coerced } = getVariableValues(schema, definition.variableDefinitions ?? [], variables);
      const mutation = getOperationRootType(schema, definition).getFields()[field.name.value];
      const { input } = mutation ? getArgumentValues(mutation, field, coerced) : {};
      return { marketId: (input as StartedJobs).marketId, phase: phases.get(field.name.value) ?? '' };
    },
    follow: (jobs, identity, signal, report) =>
      new Promise(resolve => {
        const listener: Listener & { isOver: boolean } = {
          received: 0,
          isOver: false,
          execution: undefined,
          next({ parts }) {
            const state: JobState | undefined = JSON.parse(parts.join('')).data?.jobProgress;
            if (state != null) report(state);
          },
          end,
          room: async () => {},
        };
        function end(): void {
          listener.isOver = true;
          listener.execution?.leave(listener);
          signal.removeEventListener('abort', end);
          resolve();
        }
        signal.addEventListener('abort', end);
        const variables = { ...jobs };
        void subscriptions.subscribe(
          { ...operation, name: 'JobProgress', variables },
          identity,
          listener,
          newOperationInfo(),
        );
        if (signal.aborted) end();
      }),
  };
}
