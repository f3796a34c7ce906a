import { useMutation } from '@apollo/client/react';
import { useState } from 'react';
import { Jobs } from '../discover/Jobs';
import { graphql } from '../gql';
import type { CompanyReviewStatus } from '../gql/graphql';
import { Problems } from '../ui/Problems';

export const ReviewDocument = graphql(`
  mutation Review($marketId: ID!, $reviewStatus: CompanyReviewStatus!, $target: ReviewTarget!) {
    reviewCompanies(input: { marketId: $marketId, reviewStatus: $reviewStatus, target: $target }) { marketId }
  }
`);

/** The review of a market that is not published. The service does not list its companies yet, so they are named by their domains. */
export function Review({ id }: { id: string }) {
  const [review, { data, error, loading }] = useMutation(ReviewDocument);
  const [text, setText] = useState('');
  const domains = text.split(/[\s,]+/).filter(Boolean);
  const decide = (reviewStatus: CompanyReviewStatus) =>
    review({
      variables: { marketId: id, reviewStatus, target: domains.length > 0 ? { domains } : { all: true } },
    });
  const which = domains.length > 0 ? `${domains.length} companies` : 'all companies';
  return (
    <section className="panel stack" aria-label="Review">
      <h2>Review</h2>
      <p>
        The companies are listed once the market is published. Decide first which of the discovered companies it gets.
      </p>
      <Jobs marketId={id} phase="DISCOVERY" />
      <label>
        Domains, separated by spaces. Leave it empty to decide about all companies.
        <textarea rows={2} value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <div className="row">
        <button type="button" disabled={loading} onClick={() => decide('INCLUDE')}>
          Include {which}
        </button>
        <button type="button" disabled={loading} onClick={() => decide('EXCLUDE')}>
          Exclude {which}
        </button>
        {data?.reviewCompanies && <span role="status">The decision is saved.</span>}
      </div>
      <Problems error={error} />
    </section>
  );
}
