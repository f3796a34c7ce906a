import { useQuery } from '@apollo/client/react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { graphql } from '../gql';
import { Button, Form, formatCompanies, Heading, Problems, SearchBox, Skeleton, words } from '../ui';
import { useRecentMarkets } from './recent';

const SuggestDocument = graphql(`query SuggestMarkets($keyword: String!) { suggestMarkets(keyword: $keyword) }`);

/** Finds a market by a word. The service has no list of markets and names only, so those that the user has opened are remembered. */
export function Markets() {
  const { ids, markets, forget, error, loading, refetch } = useRecentMarkets();
  const [keyword, setKeyword] = useState<string>();
  const suggestions = useQuery(SuggestDocument, { variables: { keyword: keyword ?? '' }, skip: !keyword });
  const names = suggestions.data?.suggestMarkets ?? [];
  return (
    <div className="stack">
      <Heading>Markets</Heading>
      <section className="panel stack" aria-label="Search">
        <h2>What is the market about?</h2>
        <Form className="stack" error={suggestions.error} retry={suggestions.refetch}>
          <SearchBox name="keyword" label="A word of its name" value={keyword} onChange={setKeyword} />
        </Form>
        {suggestions.data && names.length === 0 && (
          <p>
            No market has this in its name.{' '}
            <Link to="/discover" search={{ question: keyword }}>
              Ask a question about it
            </Link>
          </p>
        )}
        {names.map(name => {
          const known = markets.find(market => market.name === name);
          return known ? (
            <Link key={name} to="/markets/$id" params={{ id: known.id }}>
              {name}
            </Link>
          ) : (
            <OpenByNumber key={name} name={name} />
          );
        })}
      </section>
      <h2>Your recent markets</h2>
      {loading && <Skeleton lines={4} />}
      <Problems error={error} retry={refetch} />
      {ids.length === 0 && (
        <p className="empty">
          The markets that you open are listed here. <Link to="/discover">Find companies with a question</Link>
        </p>
      )}
      <ul className="columns">
        {markets.map(({ id, name, reviewStatus, companyCount }) => (
          <li key={id} className="panel row">
            <Link to="/markets/$id" params={{ id }} className="wide">
              {name}
            </Link>
            <small>
              {words(reviewStatus ?? 'unknown')} · {formatCompanies(companyCount)}
            </small>
            <Button label="Forget" className="link" aria-label={`Forget ${name}`} onClick={() => forget(id)} />
          </li>
        ))}
      </ul>
      <OpenByNumber />
    </div>
  );
}

/** Opens a market that is not remembered. @param name of it, if it is known. */
function OpenByNumber({ name }: { name?: string }) {
  const navigate = useNavigate();
  const label = name ? `Number of ${name}` : 'Number of a market';
  return (
    <Form className="row" onSubmit={form => navigate({ to: '/markets/$id', params: { id: String(form.get('id')) } })}>
      {name && (
        <span>
          {name} <small>You have not opened it yet. Its owner can tell you its number:</small>
        </span>
      )}
      <input name="id" aria-label={label} placeholder={name ? 'Its number' : label} pattern="[0-9]+" required />
      <button type="submit">Open</button>
    </Form>
  );
}
