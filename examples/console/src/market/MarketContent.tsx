import { useQuery } from '@apollo/client/react';
import { graphql } from '../gql';
import { Problems } from '../ui/Problems';
import styles from './Market.module.css';

const MarketContentDocument = graphql(`
  query MarketContent($id: ID!) {
    market(id: $id) {
      nodeId
      id
      topics(sort: LABEL_ASC) { nodeId label groups { nodeId label } }
      esg
    }
  }
`);

/** Topics and ESG data of a published market. */
export function MarketContent({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(MarketContentDocument, { variables: { id } });
  const { topics, esg } = data?.market ?? {};
  // The service does not document the fields of its ESG data: what is no object or list is shown.
  const facts = Object.entries(esg ?? {}).filter(([, value]) => value === null || typeof value !== 'object');
  return (
    <div className={styles.content}>
      <Problems error={error} retry={refetch} />
      {topics && topics.length > 0 && (
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
      {facts.length > 0 && (
        <details className="panel">
          <summary>ESG</summary>
          <dl className={styles.facts}>
            {facts.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{String(value)}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </div>
  );
}
