import { ApolloLink, HttpLink, ServerError } from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { map } from 'rxjs';

/**
 * Subscribes again after each lost connection. By default, it gives up after five in the life of a subscription, and the waits have no limit. A gateway that
 * shuts down says `RATE_LIMITED`, and one that is full refuses with 429 or 503; a refusal with any lower status stays one.
 */
const subscribesAgain = new RetryLink({
  delay: { max: 10_000 },
  attempts: (_, { operationType }, problem) =>
    operationType === 'subscription' && !(ServerError.is(problem) && problem.statusCode < 429),
});

/** `subscribesAgain` sends the same variables again: `eventUpdates(after: $after)` continues behind its last `cursor`. */
const resumes = new ApolloLink((operation, forward) =>
  forward(operation).pipe(
    map(result => {
      const cursor = result.data?.eventUpdates?.cursor;
      if (cursor) operation.variables.after = cursor;
      return result;
    }),
  ),
);

/**
 * The links of an Apollo Client without a WebSocket.
 * @param gateway the address of the gateway, `location.origin` on its own origin or behind a proxy @param headers such as `x-api-key`
 */
export const createApolloLink = (gateway: string, headers: Record<string, string> = {}) =>
  ApolloLink.from([
    subscribesAgain,
    resumes,
    new HttpLink({ uri: `${gateway}/graphql`, credentials: 'include', headers }),
  ]);
