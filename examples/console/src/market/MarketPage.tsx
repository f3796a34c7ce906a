import { useMutation, useQuery } from '@apollo/client/react';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect, useEffectEvent } from 'react';
import { Jobs, NotYetKnown, useJobs } from '../discover/Jobs';
import { graphql } from '../gql';
import { ConfirmButton, formatCompanies, formatDay, Heading, Problems, Skeleton, words } from '../ui';
import { Companies } from './Companies';
import { Review } from './Review';
import { useRecentIds } from './recent';

const MarketDocument = graphql(`
  query Market($id: ID!) {
    market(id: $id) { nodeId id name subtitle description dateCreated companyCount reviewStatus }
  }
`);

const PublishDocument = graphql(`
  mutation Publish($marketId: ID!) {
    publishMarket(input: { marketId: $marketId }) { marketId }
  }
`);

/** One market: its record, its companies once it is published, and before that the way there. */
export function MarketPage() {
  const { id } = useParams({ from: '/markets/$id' });
  const { data, error, loading, refetch } = useQuery(MarketDocument, { variables: { id } });
  const market = data?.market;
  // The service may have none for it.
  const name = market && (market.name ?? (error ? undefined : `Market ${id}`));
  const recent = useRecentIds();
  const remember = useEffectEvent(recent.remember);
  useEffect(() => {
    if (name && recent.isKnown) remember(id);
  }, [id, name, recent.isKnown]);

  if (!market || !name) {
    return (
      <div className="stack">
        <Heading>Market</Heading>
        {loading && <Skeleton lines={16} />}
        <Problems error={error} retry={refetch} />
      </div>
    );
  }
  const isPublished = market.reviewStatus === 'PUBLISHED';
  return (
    <div className="stack">
      <header>
        <Heading>{name}</Heading>
        <p className="muted">
          Number {id} · {words(market.reviewStatus ?? '')} · {formatCompanies(market.companyCount)} · created{' '}
          {formatDay(market.dateCreated)}
        </p>
        <p>{market.description ?? market.subtitle}</p>
      </header>
      <Problems error={error} />
      {isPublished ? (
        <Companies id={id} key={id} />
      ) : (
        <Unpublished id={id} key={id} companyCount={market.companyCount} isReading={loading} onEnd={refetch} />
      )}
    </div>
  );
}

type UnpublishedProps = { id: string; companyCount: number | null; isReading: boolean; onEnd: () => void };

/** What a market needs next. Its jobs know, also after a reload: nothing can be decided while one is running. When they have ended, it has changed. */
function Unpublished({ id, companyCount, isReading, onEnd }: UnpublishedProps) {
  const discovery = useJobs(id, 'DISCOVERY', onEnd);
  const [publish, publishing] = useMutation(PublishDocument, { variables: { marketId: id } });
  const publication = useJobs(id, 'PUBLISH', onEnd, publishing.loading);
  const running = [publication, discovery].find(({ isRunning }) => isRunning);
  const hasBegun = publishing.data?.publishMarket && !publication.isKnown;
  if (running || publishing.loading || hasBegun) {
    return (
      <section className="panel stack" aria-label="Progress">
        <h2>{running === discovery ? 'Companies are being found' : 'The market is being published'}</h2>
        <p>This goes on if you leave the page.</p>
        {running && <Jobs {...running} />}
      </section>
    );
  }
  if (!discovery.isKnown || !publication.isKnown) return <NotYetKnown />;
  const hasEnded = publication.state?.finished && !isReading;
  if (companyCount === 0) {
    return (
      <section className="panel stack" aria-label="Next step">
        <h2>This market has no companies yet</h2>
        <p>
          <Link to="/discover" search={{ market: Number(id) }}>
            Ask a question
          </Link>{' '}
          to find them.
        </p>
      </section>
    );
  }
  return (
    <>
      <Problems error={discovery.error ?? publication.error} />
      <Review id={id} companyCount={companyCount} />
      <section className="panel stack" aria-label="Publication">
        <h2>Publication</h2>
        {hasEnded && <p>The last publication has ended; the market is not published.</p>}
        {hasEnded && <Jobs {...publication} />}
        <p>The market gets the companies that the review has included.</p>
        <div className="row">
          <ConfirmButton
            label="Publish"
            className="primary"
            title="Publish this market?"
            text={`This takes some minutes. ${formatCompanies(companyCount)} were found. The market gets those that the review has included. Those that it has excluded, and those that nobody has reviewed, are left out. How many these are, the service tells only afterwards.`}
            onConfirm={() => publish()}
          />
        </div>
        <Problems error={publishing.error} />
      </section>
    </>
  );
}
