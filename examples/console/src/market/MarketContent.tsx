import { useQuery } from '@apollo/client/react';
import { useState } from 'react';
import { graphql } from '../gql';
import { Problems } from '../ui/Problems';
import { Skeleton } from '../ui/Skeleton';
import styles from './Market.module.css';

const TopicsDocument = graphql(`
  query Topics($id: ID!) {
    market(id: $id) {
      nodeId
      id
      topics(sort: LABEL_ASC) { nodeId label groups { nodeId label } }
    }
  }
`);

const EsgDocument = graphql(`
  query Esg($id: ID!) {
    market(id: $id) { nodeId id esg }
  }
`);

/** Topics and ESG data of a published market. */
export function MarketContent({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(TopicsDocument, { variables: { id } });
  const topics = data?.market?.topics ?? [];
  const [esgOpened, setEsgOpened] = useState(false);
  return (
    <div className={styles.content}>
      <Problems error={error} retry={refetch} />
      {topics.length > 0 && (
        <details className="panel">
          <summary>{topics.length} topics</summary>
          <ul>
            {topics.map(({ nodeId, label, groups }) => (
              <li key={nodeId}>
                {label} <small>{groups.map(group => group.label).join(', ')}</small>
              </li>
            ))}
          </ul>
        </details>
      )}
      <details className="panel" onToggle={() => setEsgOpened(true)}>
        <summary>ESG</summary>
        {esgOpened && <Esg id={id} />}
      </details>
    </div>
  );
}

const MOST_ROWS = 20;

/** The service does not document the fields of its ESG data: the first list of objects is shown as a table, as far as it has plain values. */
function Esg({ id }: { id: string }) {
  const { data, error, loading, refetch } = useQuery(EsgDocument, { variables: { id } });
  const list = Object.values(data?.market?.esg ?? {}).find(value => Array.isArray(value)) ?? [];
  const records = list.filter((each: unknown): each is object => typeof each === 'object' && each !== null);
  const rows = records.slice(0, MOST_ROWS).map(record => new Map(Object.entries(record)));
  const names = [...(rows[0] ?? [])].filter(([, value]) => typeof value !== 'object').map(([name]) => name);
  if (loading) return <Skeleton />;
  if (error) return <Problems error={error} retry={refetch} />;
  if (names.length === 0) return <p className="empty">The service has no ESG data of this market.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without the focus, the keyboard cannot scroll it
    <section className={styles.esg} tabIndex={0} aria-label="ESG data">
      <table>
        <caption>
          The first {rows.length} of {records.length} records
        </caption>
        <thead>
          <tr>
            {names.map(name => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows never change
            <tr key={index}>
              {names.map(name => (
                <td key={name}>{String(row.get(name) ?? '–')}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
