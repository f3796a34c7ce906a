// Composes Hive's supergraph: its OpenAPI handler over the service, with the way from a reference to its observation.
import { defineConfig } from '@graphql-mesh/compose-cli';
import { loadOpenAPISubgraph } from '@omnigraph/openapi';

export const composeConfig = defineConfig({
  subgraphs: [
    {
      sourceHandler: loadOpenAPISubgraph('Service', {
        source: process.env.BENCH_OPENAPI ?? '',
        endpoint: process.env.UPSTREAM_BASE_URL ?? '',
        operationHeaders: { 'x-api-key': "{context.headers['x-api-key']}" },
      }),
    },
  ],
  additionalTypeDefs: /* GraphQL */ `
    extend type EventReference {
      observation: Observation
        @resolveTo(
          sourceName: "Service"
          sourceTypeName: "Query"
          sourceFieldName: "getObservation"
          requiredSelectionSet: "{ _id }"
          sourceArgs: { observationId: "{root._id}" }
        )
    }
  `,
});
