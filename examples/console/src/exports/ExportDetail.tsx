import { useQuery } from '@apollo/client/react';
import { graphql } from '../gql';
import { Problems } from '../ui/Problems';
import { Skeleton } from '../ui/Skeleton';
import { ExportRow } from './ExportRow';

const ExportDocument = graphql(`
  query Export($id: ID!) {
    export(by: { id: $id }) { id ...ExportRow }
  }
`);

/** One export: what was sent, each call to the endpoint, and its result. */
export function ExportDetail({ id }: { id: string }) {
  const { data, error, loading, refetch } = useQuery(ExportDocument, { variables: { id } });
  if (loading) return <Skeleton />;
  return data?.export ? <ExportRow export={data.export} open /> : <Problems error={error} retry={refetch} />;
}
