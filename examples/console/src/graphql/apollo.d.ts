import type { GraphQLCodegenDataMasking } from '@apollo/client/masking';

declare module '@apollo/client' {
  /** The types of masked fragments are those that graphql-codegen writes. */
  export interface TypeOverrides extends GraphQLCodegenDataMasking.TypeOverrides {}

  /** The types know the defaults of `client.ts`. */
  namespace ApolloClient.DeclareDefaultOptions {
    interface Query {
      errorPolicy: 'all';
    }
    interface WatchQuery {
      errorPolicy: 'all';
    }
    interface Mutate {
      errorPolicy: 'all';
    }
  }
}
