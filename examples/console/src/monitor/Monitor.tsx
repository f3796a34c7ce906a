import { useQuery } from '@apollo/client/react';
import { useSearch } from '@tanstack/react-router';
import { graphql } from '../gql';
import { listFilter } from './search';

const EventsDocument = graphql(`
  query Events($filter: EventFilter, $after: String) {
    events(first: 25, after: $after, filter: $filter) {
      totalCount
      edges { cursor node { id title } }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

export function Monitor() {
  const search = useSearch({ from: '/' });
  const { data } = useQuery(EventsDocument, { variables: { filter: listFilter(search) } });
  return <h1>{data?.events?.totalCount} events</h1>;
}
