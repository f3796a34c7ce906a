import type { GraphQLError } from 'graphql';
import type { Context } from '../../context.js';
import { Unauthenticated } from '../../errors.js';

/** Clears the session's cookie when the service turned down what it holds: it would be turned down for ever. */
export function lapseSession(errors: readonly GraphQLError[], { session }: Pick<Context, 'session'>): void {
  const turnedDown = errors.some(
    ({ originalError }) => originalError instanceof Unauthenticated && originalError.upstream !== undefined,
  );
  if (turnedDown) session.lapse();
}
