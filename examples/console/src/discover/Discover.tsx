import { useMutation, useQuery } from '@apollo/client/react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { graphql } from '../gql';
import type { SearchCriteriaInput } from '../gql/graphql';
import { onSubmit } from '../ui/form';
import { Heading } from '../ui/Heading';
import { Problems } from '../ui/Problems';
import { Criteria } from './Criteria';
import { Jobs } from './Jobs';

const CreateCriteriaDocument = graphql(`
  mutation CreateCriteria($question: String!) {
    createSearchCriteria(input: { searchInput: $question }) {
      searchCriteria {
        userPrompt
        marketName
        marketType
        marketRole
        keywords { features user synonyms irrelevant attributes }
        seedDomains
        projectKind
        locations { countryCode countryName attributes }
        count
        performSearch
        attributes
      }
    }
  }
`);

const StartDiscoveryDocument = graphql(`
  mutation StartDiscovery($marketId: ID!, $criteria: SearchCriteriaInput!) {
    startDiscovery(input: { marketId: $marketId, searchCriteria: $criteria }) {
      ... on DiscoveryStarted { marketId jobs { nodeId id } }
      ... on DiscoveryAlreadyRunning { marketId jobs { nodeId id } }
    }
  }
`);

const DiscoveredMarketDocument = graphql(`
  query DiscoveredMarket($id: ID!) {
    market(id: $id) { nodeId id name companyCount }
  }
`);

/** From a question to the companies of a market: criteria, which the user edits, and the discovery, which runs for minutes. */
export function Discover() {
  const { market } = useSearch({ from: '/discover' });
  const navigate = useNavigate({ from: '/discover' });
  const [createCriteria, creating] = useMutation(CreateCriteriaDocument);
  const [start, starting] = useMutation(StartDiscoveryDocument);
  const [criteria, setCriteria] = useState<SearchCriteriaInput>();

  const ask = async (form: FormData) => {
    const { data } = await createCriteria({ variables: { question: String(form.get('question')) } });
    setCriteria(data?.createSearchCriteria?.searchCriteria);
  };
  // A discovery that is running already is what the user wants to see.
  const begin = async (marketId: string, criteria: SearchCriteriaInput) => {
    const { data } = await start({ variables: { marketId, criteria } });
    if (!data?.startDiscovery) return;
    setCriteria(undefined);
    await navigate({ search: { market: Number(marketId) } });
  };

  return (
    <div className="stack">
      <Heading>Discover</Heading>
      <form onSubmit={onSubmit(ask)} className="panel stack">
        <label>
          Question
          <textarea name="question" rows={2} required placeholder="Who makes sealed bearings in Germany?" />
        </label>
        <div className="row">
          <button type="submit" className="primary" disabled={creating.loading}>
            {creating.loading ? 'Thinking' : 'Make criteria'}
          </button>
        </div>
        <Problems error={creating.error} />
      </form>
      {criteria && (
        <Criteria
          criteria={criteria}
          change={setCriteria}
          start={begin}
          starting={starting.loading}
          error={starting.error}
        />
      )}
      {market && !criteria && (
        <Discovery
          key={market}
          id={String(market)}
          alreadyRunning={starting.data?.startDiscovery?.__typename === 'DiscoveryAlreadyRunning'}
        />
      )}
    </div>
  );
}

/** A discovery as it proceeds. */
function Discovery({ id, alreadyRunning }: { id: string; alreadyRunning: boolean }) {
  const { data, error, refetch } = useQuery(DiscoveredMarketDocument, { variables: { id } });
  const [finished, setFinished] = useState(false);
  const market = data?.market;
  return (
    <section className="panel stack" aria-label="Discovery">
      <h2>{market?.name ?? `Market ${id}`}</h2>
      {alreadyRunning && <p>A discovery of this market was running already. This is its progress.</p>}
      {market?.name && (
        <Jobs
          marketId={id}
          phase="DISCOVERY"
          onFinished={() => {
            setFinished(true);
            void refetch();
          }}
        />
      )}
      {finished && (
        <p role="status">
          The discovery has ended.{' '}
          <Link to="/markets/$id" params={{ id }}>
            Review {market?.companyCount ? `${market.companyCount} companies` : 'the companies'} and publish the market
          </Link>
        </p>
      )}
      <Problems error={error} retry={refetch} />
    </section>
  );
}
