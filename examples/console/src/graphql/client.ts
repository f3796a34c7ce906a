import { ApolloClient, ApolloLink } from '@apollo/client';
import { GraphQL17Alpha9Handler } from '@apollo/client/incremental';
import { RemoveTypenameFromVariablesLink } from '@apollo/client/link/remove-typename';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { cache } from './cache';
import { isRetryable, RETRY_MS } from './errors';
import { http, keepsParts, oldOperations, resumes, trustedDocuments } from './links';
import { ageOfJobs, beginsAgain, socket } from './socket';

const subscriptions = ApolloLink.from([ageOfJobs, beginsAgain, keepsParts, resumes, new GraphQLWsLink(socket)]);

export const client = new ApolloClient({
  cache,
  dataMasking: true,
  clientAwareness: { name: 'console', version: '2.0.0' },
  // Reads the parts of `@defer` as the gateway sends them.
  incrementalHandler: new GraphQL17Alpha9Handler(),
  link: ApolloLink.from([
    new RemoveTypenameFromVariablesLink(),
    trustedDocuments,
    ApolloLink.split(({ operationType }) => operationType === 'subscription', subscriptions, http),
  ]),
  // A part of a page that failed is null, and the rest is there: keep both the data and the errors.
  defaultOptions: {
    query: { errorPolicy: 'all' },
    watchQuery: { errorPolicy: 'all' },
    mutate: { errorPolicy: 'all' },
  },
});

/** Reads again what is old and what has failed. @param isDue of which errors. Left out: of those without a network or while the service did not respond. */
export function readAgain(isDue = isRetryable): void {
  const queries = [...client.getObservableQueries('active')];
  // A query that is not on the screen any more is old for nobody. The name of a subscription has its variables: it tells itself when it ends.
  const old = [...oldOperations()].filter(([name]) => / /.test(name) || queries.some(each => each.queryName === name));
  if (old.length < oldOperations().size) oldOperations(new Map(old));
  for (const query of queries) {
    const { error } = query.getCurrentResult();
    if ((error && isDue(error)) || old.some(([name]) => name === query.queryName)) void query.refetch();
  }
}
socket.on('connected', () => readAgain());
// A page without a subscription has no connection.
setInterval(readAgain, RETRY_MS);
