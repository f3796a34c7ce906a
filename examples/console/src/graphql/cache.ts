import { defaultDataIdFromObject, InMemoryCache } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import generated from '../gql/possible-types';

const nodes = new Set<string | undefined>(generated.possibleTypes.Node);

export const cache = new InMemoryCache({
  possibleTypes: generated.possibleTypes,
  // All other objects are parts of their parent, even those with an `id`.
  dataIdFromObject: (object, context) =>
    nodes.has(object.__typename) ? defaultDataIdFromObject(object, context) : undefined,
  typePolicies: {
    Query: {
      fields: {
        // Joins the pages that `fetchMore` reads. It uses `edges`, so every document selects `edges { node }` and not `nodes`.
        events: relayStylePagination(['filter']),
        exports: relayStylePagination(['filter']),
      },
    },
    // It has no key: what one query reads of it is added to what others have read.
    Viewer: { merge: true },
    // Each version by itself: a live update does not change the one that somebody reads.
    Event: { keyFields: ['nodeId'] },
    // Their `id` is unique only within a market, or they have none: `nodeId` is unique everywhere.
    Topic: { keyFields: ['nodeId'] },
    TopicGroup: { keyFields: ['nodeId'] },
    Job: { keyFields: ['nodeId'] },
    ExportEndpoint: { keyFields: ['nodeId'] },
  },
});
