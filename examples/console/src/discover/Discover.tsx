import { useMutation, useQuery } from '@apollo/client/react';
import { Link, useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { graphql } from '../gql';
import type { SearchCriteriaInput } from '../gql/graphql';
import { Button, Form, formatCompanies, Heading, Problems, useStored } from '../ui';
import { Criteria, type Started } from './Criteria';
import styles from './Discover.module.css';
import { Jobs, NotYetKnown, useJobs } from './Jobs';

const CreateCriteriaDocument = graphql(`
  mutation CreateCriteria($question: String!) {
    createSearchCriteria(input: { searchInput: $question }) {
      searchCriteria {
        userPrompt marketName marketType marketRole
        keywords { features user synonyms irrelevant attributes }
        seedDomains projectKind
        locations { countryCode countryName attributes }
        count performSearch attributes
      }
    }
  }
`);

const DiscoveredMarketDocument = graphql(`
  query DiscoveredMarket($id: ID!) {
    market(id: $id) { nodeId id name companyCount }
  }
`);

const STEPS = [
  ['Ask', 'Say in a sentence which companies you look for.'],
  ['Refine', 'Check the criteria that follow from it, and choose the market that gets the companies.'],
  ['Discover', 'Wait 10 to 15 minutes. Then review the companies and publish the market.'],
] as const;

/** Counts what is done with the criteria, also by a screen that was left: after the next step, the answer to a question is late. */
let steps = 0;

/** From a question to the companies of a market: criteria, which the user edits, and the discovery, which runs for minutes. */
export function Discover() {
  const { market, question } = useSearch({ from: '/discover' });
  const navigate = useNavigate({ from: '/discover' });
  const { href } = useLocation();
  /** Whoever has gone somewhere else before an answer is not led back. */
  const isHere = () => location.href.endsWith(href);
  const [createCriteria, creating] = useMutation(CreateCriteriaDocument);
  const [started, setStarted] = useState<Started>();
  const [criteria, store] = useStored<SearchCriteriaInput>('criteria');
  const setCriteria = (criteria?: SearchCriteriaInput) => {
    steps += 1;
    store(criteria);
  };

  const ask = async (form: FormData) => {
    const asked = ++steps;
    const { data } = await createCriteria({ variables: { question: String(form.get('searchInput')) } });
    if (!data?.createSearchCriteria || asked !== steps) return;
    setCriteria(data.createSearchCriteria.searchCriteria);
    if (isHere()) await navigate({ search: { market }, replace: true });
  };
  const shown = steps;
  // A discovery that is running already is what the user wants to see.
  const follow = (started: Started) => {
    if (shown === steps) setCriteria(undefined);
    setStarted(started);
    return isHere() && navigate({ search: { market: Number(started.marketId) } });
  };
  /** One that comes from another screen stands above criteria that are still there. */
  const prompt = question ?? criteria?.userPrompt;
  const step = question ? 0 : criteria ? 1 : market ? 2 : 0;

  return (
    <div className="stack">
      <Heading>Discover</Heading>
      <ol className={`columns ${styles.steps}`}>
        {STEPS.map(([name, text], index) => (
          <li key={name} aria-current={index === step ? 'step' : undefined}>
            <strong>{name}</strong>
            <br />
            <small>{text}</small>
          </li>
        ))}
      </ol>
      <Form className="panel stack" onSubmit={ask} error={creating.error}>
        <label>
          Which companies do you look for?
          <textarea
            key={prompt}
            name="searchInput"
            rows={2}
            required
            defaultValue={prompt ?? undefined}
            placeholder="Who makes sealed bearings in Germany?"
          />
        </label>
        <div className="row">
          <button type="submit" className={criteria ? undefined : 'primary'} disabled={creating.loading}>
            {creating.loading ? 'Thinking' : criteria ? 'Ask again' : 'Ask'}
          </button>
          {criteria && <Button label="Start over" className="quiet" onClick={() => setCriteria(undefined)} />}
        </div>
      </Form>
      {criteria && <Criteria criteria={criteria} market={market} change={setCriteria} onStarted={follow} />}
      {market && (!criteria || started?.marketId === String(market)) && (
        <Discovery key={market} id={String(market)} started={started} />
      )}
    </div>
  );
}

/** A discovery as it proceeds. */
function Discovery({ id, started }: { id: string; started: Started | undefined }) {
  const { data, error, refetch } = useQuery(DiscoveredMarketDocument, { variables: { id } });
  const jobs = useJobs(id, 'DISCOVERY', () => void refetch());
  const market = data?.market;
  const alreadyRunning = started?.__typename === 'DiscoveryAlreadyRunning' && started.marketId === id;
  if (!market || (error && !market.name)) return <Problems error={error} retry={refetch} />;
  return (
    <section className="panel stack" aria-label="Discovery">
      <h2>{market.name ? `${market.name}, market ${id}` : `Market ${id}`}</h2>
      {alreadyRunning && <p>A discovery was running already. Your criteria were not used; this is its progress.</p>}
      {jobs.state && !jobs.isRunning && !jobs.state.finished && (
        <p>No discovery has run for this market. Ask a question to begin one.</p>
      )}
      {jobs.isKnown ? <Jobs {...jobs} /> : <NotYetKnown />}
      {jobs.state?.finished && (
        <p role="status">
          The discovery has ended.{' '}
          <Link to="/markets/$id" params={{ id }}>
            Review {market.companyCount ? formatCompanies(market.companyCount) : 'the companies'} and publish the market
          </Link>
        </p>
      )}
    </section>
  );
}
