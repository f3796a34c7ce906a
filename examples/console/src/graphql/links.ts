import { ApolloLink, HttpLink, makeVar, ServerError } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { catchError, map, mergeMap, of, takeWhile } from 'rxjs';

/** In a built page, sends the hash of a document instead of its text, for a gateway that executes only trusted documents. */
export const trustedDocuments = import.meta.env.PROD
  ? new PersistedQueryLink({
      generateHash: document => (document as { __meta__?: { hash: string } }).__meta__?.hash ?? '',
    })
  : new ApolloLink((operation, forward) => forward(operation));

/** A link that looks at each result of an operation, and can change it. */
const eachResult = (look: (result: ApolloLink.Result, operation: ApolloLink.Operation) => ApolloLink.Result) =>
  new ApolloLink((operation, forward) => forward(operation).pipe(map(result => look(result, operation))));

/** Adds to each error the id of its request, so that the page can show it and the operator can find it in the log. */
const requestIds = eachResult((result, operation) => {
  const response: Response | undefined = operation.getContext().response;
  const requestId = response?.headers.get('x-request-id');
  if (!requestId || !('errors' in result) || !result.errors) return result;
  return {
    ...result,
    errors: result.errors.map(error => ({ ...error, extensions: { ...error.extensions, requestId } })),
  };
});

/** Reads why the gateway refuses a whole request, such as one of too many. Apollo takes that for the response of a proxy. */
const refusals = new ApolloLink((operation, forward) =>
  forward(operation).pipe(
    catchError(failure => {
      if (!ServerError.is(failure)) throw failure;
      // The page of a proxy is no JSON: that ends here, too.
      const { errors } = JSON.parse(failure.bodyText);
      if (!errors?.[0]?.message) throw failure;
      return of({ errors });
    }),
  ),
);

/** Number of the session, from 1. Each sign-in and each sign-out begins a new one. Undefined in between: then no screen is shown. */
export const session = makeVar<number | undefined>(1);

/** Whether the session of the user has ended. The screen stays as it is until somebody signs in. */
export const sessionEnded = makeVar(false);
/** How often the cookie has changed. */
export const cookies = makeVar(0);

/** What was sent with an earlier cookie and is refused is sent again. A mutation of the last user fails: what comes of it is not for the next one. */
const sessionEnds: ApolloLink = new ApolloLink((operation, forward) => {
  const [sentBy, sentWith] = [session(), cookies()];
  return forward(operation).pipe(
    takeWhile(() => operation.operationType === 'query' || session() === sentBy),
    mergeMap(result => {
      const errors = 'errors' in result ? (result.errors ?? []) : [];
      const isRefused = errors.some(({ extensions }) => extensions?.code === 'UNAUTHENTICATED');
      if (isRefused && sentWith !== cookies()) return sessionEnds.request(operation, forward);
      if (isRefused) sessionEnded(true);
      return of(result);
    }),
  );
});

/** When the operations that get only older data, because the service does not respond, had newer data, or if they had none, when the page was loaded. */
export const oldOperations = makeVar<ReadonlyMap<string, number>>(new Map());

/** @param since when its data was new. Undefined: it is. */
export function setOld(name: string, since: number | undefined): void {
  if (since === undefined && !oldOperations().has(name)) return;
  const others = [...oldOperations()].filter(([other]) => other !== name);
  oldOperations(new Map(since === undefined ? others : [...others, [name, since]]));
}

const lastFresh = new Map<string, number>();

const staleness = eachResult((result, { operationName: name = '', variables }) => {
  // A later page of a list says nothing of the first, which would be read again.
  if (variables.after) return result;
  const errors = 'errors' in result ? (result.errors ?? []) : [];
  const isSilent = errors.some(({ extensions }) => /^UPSTREAM_(TIMEOUT|UNAVAILABLE)$/.test(String(extensions?.code)));
  const isStale = 'extensions' in result && result.extensions?.stale === true;
  const isOld = isStale || (isSilent && lastFresh.has(name));
  if (!isOld) lastFresh.set(name, Date.now());
  setOld(name, isOld ? (lastFresh.get(name) ?? performance.timeOrigin) : undefined);
  return result;
});

/** The links of everything but subscriptions. A refusal says nothing of how old the data is. */
export const http = ApolloLink.from([requestIds, sessionEnds, refusals, staleness, new HttpLink({ uri: '/graphql' })]);

/** Leaves out the errors of a message of which only a part failed: Apollo would leave out all of its data. */
export const keepsParts = eachResult(result =>
  Object.values(result.data ?? {}).some(Boolean) ? { ...result, errors: undefined } : result,
);

/**
 * Remembers the last cursor of a subscription to event updates. After a lost connection graphql-ws sends the same variables
 * again, so the subscription goes on after the last update that the page has.
 */
export const resumes = eachResult((result, { variables }) => {
  const updates = result.data?.eventUpdates;
  if (updates) variables.after = updates.cursor;
  return result;
});
