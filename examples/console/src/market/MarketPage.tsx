import { useMutation, useQuery } from '@apollo/client/react';
import { useParams } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Jobs } from '../discover/Jobs';
import { graphql } from '../gql';
import { Confirm } from '../ui/Confirm';
import { formatCompanies, formatTime } from '../ui/format';
import { Heading } from '../ui/Heading';
import { Problems } from '../ui/Problems';
import { Skeleton } from '../ui/Skeleton';
import { Companies } from './Companies';
import styles from './Market.module.css';
import { MarketContent } from './MarketContent';
import { Review } from './Review';
import { rememberMarket } from './recent';

const MarketDocument = graphql(`
  query Market($id: ID!) {
    market(id: $id) { nodeId id name subtitle description dateCreated companyCount reviewStatus }
  }
`);

const PublishDocument = graphql(`
  mutation Publish($marketId: ID!) {
    publishMarket(input: { marketId: $marketId }) { marketId jobs { nodeId id } }
  }
`);

/** One market: its record, its companies once it is published, and before that its review. */
export function MarketPage() {
  const { id } = useParams({ from: '/markets/$id' });
  const { data, error, loading, refetch } = useQuery(MarketDocument, { variables: { id } });
  const [publish, publishing] = useMutation(PublishDocument, { variables: { marketId: id } });
  const [asking, setAsking] = useState(false);
  const market = data?.market;
  const name = market?.name;
  useEffect(() => {
    if (name) rememberMarket(id);
  }, [id, name]);

  if (loading && !market) return <Skeleton lines={8} />;
  if (!market?.name) return <Problems error={error} retry={refetch} />;
  const isPublished = market.reviewStatus === 'PUBLISHED';
  const started = publishing.data?.publishMarket != null;

  return (
    <div className="stack">
      <header className={styles.head}>
        <div>
          <Heading>{market.name}</Heading>
          <p className="muted">{market.subtitle}</p>
        </div>
        {!isPublished && !started && (
          <button type="button" className="primary" onClick={() => setAsking(true)}>
            Publish
          </button>
        )}
      </header>
      <p>{market.description}</p>
      <small>
        Market {id} · {market.reviewStatus?.toLowerCase()} · {formatCompanies(market.companyCount ?? 0)} · created{' '}
        {formatTime(market.dateCreated)}
      </small>
      <Problems error={publishing.error ?? error} />
      {/* Also after a reload. Publishing starts new jobs, so it subscribes again. */}
      {!isPublished && <Jobs key={String(started)} marketId={id} phase="PUBLISH" onFinished={refetch} />}
      {isPublished ? (
        <>
          <MarketContent id={id} />
          <Companies id={id} key={id} />
        </>
      ) : (
        !started && <Review id={id} />
      )}
      {asking && (
        <Confirm
          title="Publish this market?"
          action="Publish"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await publish();
            await refetch();
          }}
        >
          The market gets the companies that the review has included. This starts jobs that take some minutes.
        </Confirm>
      )}
    </div>
  );
}
