// Follows the jobs that a call of a tool has started.
import {
  type GraphQLSchema,
  getArgumentValues,
  getOperationAST,
  getVariableValues,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import type { Subscriptions } from '../../subscriptions/subscriptions.js';
import type { Identity } from '../authentication.js';
import { outputSchema } from './json-schema.js';
import type { ToolOperation } from './operations.js';
import { selectedFields } from './selection.js';

/** The mutations that start jobs, and the phase of these jobs. */
const phases = new Map([
  ['startDiscovery', 'DISCOVERY'],
  ['publishMarket', 'PUBLISH'],
]);

export interface JobState {
  readonly finished: boolean;
  readonly overallProgress: number | null;
  readonly jobs: readonly { readonly workflowName: string | null; readonly status: string | null }[];
}

export interface StartedJobs {
  readonly marketId: string;
  readonly phase: string;
}

const query = `subscription JobProgress($marketId: ID!, $phase: JobPhase!) {
  jobProgress(marketId: $marketId, phase: $phase) { finished overallProgress unlisted jobs { id workflowName completion status } }
}`;

const startIn = ({ fields }: ToolOperation) =>
  [...fields.values()].find(({ definition: { name } }) => phases.has(name));

export type JobWatch = ReturnType<typeof createJobWatch>;

/** Follows jobs with the subscription `jobProgress`, whose polls all clients with the same credential share. */
export function createJobWatch(schema: GraphQLSchema, { deps }: Subscriptions) {
  const { documentChecks, executor, budget } = deps;
  const document = documentChecks.parse(query);
  const operation = { query, document, type: OperationTypeNode.SUBSCRIPTION };
  const [field] = selectedFields(schema, document, getOperationAST(document) as OperationDefinitionNode).values();
  const stateSchema = outputSchema(schema, field?.members ?? new Map());

  return {
    /** The schema of the last state that a call of a tool answers with; undefined if the tool starts no jobs. */
    schemaFor: (tool: ToolOperation) => startIn(tool) && stateSchema,

    /** The jobs that a call of a tool has started; undefined if it starts none. @param variables valid ones. */
    startedBy(tool: ToolOperation, variables: Readonly<Record<string, unknown>>): StartedJobs | undefined {
      const { definition, nodes: [node] = [] } = startIn(tool) ?? {};
      if (definition === undefined || node === undefined) return undefined;
      const { variableDefinitions = [] } = getOperationAST(tool.operation.document) ?? {};
      const { coerced } = getVariableValues(schema, variableDefinitions, variables);
      const { input } = getArgumentValues(definition, node, coerced);
      return { marketId: (input as StartedJobs).marketId, phase: phases.get(definition.name) ?? '' };
    },

    /** Reports the states of jobs until they have ended, the signal aborts, or the state cannot be read. Never rejects. */
    async follow(jobs: StartedJobs, identity: Identity, signal: AbortSignal, report: (state: JobState) => void) {
      const followed = { ...operation, variables: { ...jobs } };
      const claim = budget.claim(identity);
      try {
        for await (const value of await executor.feed(followed, identity, signal)) {
          const { data } = await executor.event(followed, value, identity, signal, claim);
          const state = (data as { readonly jobProgress: JobState | null } | null)?.jobProgress;
          if (state != null) report(state);
        }
      } catch (error) {
        // What the tool has done stands, whatever becomes of its progress. A bug is logged.
        executor.failure(error);
      } finally {
        claim.release();
      }
    },
  };
}
