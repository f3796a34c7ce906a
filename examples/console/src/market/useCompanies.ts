import { useApolloClient, useQuery } from '@apollo/client/react';
import { useMemo, useState } from 'react';
import { graphql } from '../gql';
import type { CompaniesQuery, CompaniesQueryVariables } from '../gql/graphql';
import { useNextPage } from '../graphql/useNextPage';
import { useLast } from '../ui';

export const CompaniesDocument = graphql(`
  query Companies($id: ID!, $filter: CompanyFilter, $orderBy: CompanyOrder, $after: String) {
    market(id: $id) {
      nodeId id
      companies(first: 50, after: $after, filter: $filter, orderBy: $orderBy) {
        totalCount
        edges {
          cursor
          node { id domain name score overallMomentum actualRevenue operatesIn naics { code name isPrimary } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

type Connection = NonNullable<NonNullable<CompaniesQuery['market']>['companies']>;
export type Company = Connection['edges'][number]['node'];

/**
 * Reads a list of companies page by page. The cache keeps each page by itself: it would go through all the companies that it joins, thousands of them,
 * for each page that arrives.
 */
export function useCompanies(variables: CompaniesQueryVariables) {
  const client = useApolloClient();
  const { data, error, loading, refetch } = useQuery(CompaniesDocument, { variables });
  const found = data?.market?.companies;
  /** Of the last filter, while the list of this one is being read or cannot be read. */
  const first = useLast(found);

  // They belong to the first page as it was then, and are forgotten together with it.
  const [later, setLater] = useState<{ first: Connection | undefined; pages: readonly Connection[] }>();
  const pages = useMemo(() => (first ? [first, ...(later?.first === first ? later.pages : [])] : []), [first, later]);
  const edges = useMemo(() => pages.flatMap(page => page.edges), [pages]);

  /** Reads the page behind these. */
  const readBehind = async (known: readonly Connection[]) => {
    const after = known.at(-1)?.pageInfo.endCursor;
    // A page that failed is null in the cache, and has no error there.
    const options = { variables: { ...variables, after }, fetchPolicy: 'network-only' } as const;
    const { data, error } = await client.query({ query: CompaniesDocument, ...options });
    const page = data?.market?.companies;
    if (page) setLater({ first, pages: [...known.slice(1), page] });
    return { page, error };
  };
  const next = useNextPage(() => readBehind(pages), pages.at(-1)?.pageInfo);
  /** Reads the list to its end. @throws why a page of it cannot be read */
  const readAll = async () => {
    const known = [...pages];
    while (known.at(-1)?.pageInfo.hasNextPage) {
      const { page, error } = await readBehind(known);
      if (!page) throw error;
      known.push(page);
    }
    return known.flatMap(page => page.edges);
  };
  return { isCurrent: found != null, totalCount: first?.totalCount, edges, error, loading, refetch, next, readAll };
}
