import { useQuery } from '@apollo/client/react';
import { graphql } from '../gql';
import { Problems, Skeleton } from '../ui';
import { ExportRow } from './ExportRow';

const ExportDocument = graphql(`
  query Export($id: ID!) {
    export(by: { id: $id }) { id ...ExportRow }
  }
`);

/** An export that the user has just sent. */
export function ExportDetail({ id }: { id: string }) {
  const { data, error, loading, refetch } = useQuery(ExportDocument, { variables: { id } });
  if (loading) return <Skeleton />;
  return data?.export ? <ExportRow export={data.export} justSent /> : <Problems error={error} retry={refetch} />;
}
