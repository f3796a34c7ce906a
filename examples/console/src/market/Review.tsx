import type { ErrorLike } from '@apollo/client';
import { useMutation } from '@apollo/client/react';
import { type ReactNode, useState, useTransition } from 'react';
import { graphql } from '../gql';
import type { ReviewDecision, ReviewTarget } from '../gql/graphql';
import { ConfirmButton, capitalized, Form, formatCompanies } from '../ui';

const ReviewDocument = graphql(`
  mutation Review($marketId: ID!, $reviewStatus: ReviewDecision!, $target: ReviewTarget!, $isPublished: Boolean!) {
    reviewCompanies(input: { marketId: $marketId, reviewStatus: $reviewStatus, target: $target }) {
      marketId
      companies @include(if: $isPublished) { nodeId id domain reviewStatus }
    }
  }
`);

const DECISIONS = [
  ['INCLUDE', 'Include', 'included'],
  ['EXCLUDE', 'Exclude', 'excluded'],
] as const;

interface ReviewButtonsProps {
  /** Of the market. */
  readonly id: string;
  /** Whether its companies can be read: then what is shown of them changes, too. */
  readonly isPublished: boolean;
  /** Of the companies. */
  readonly count: number | null;
  /** All that there are: then there is a question first. */
  readonly isAll: boolean;
  /** Which they are, once the user has decided. It may have to read them, and fail. */
  readonly target: () => Promise<ReviewTarget>;
  /** The field of the domains. */
  readonly children?: ReactNode;
}

/** Decides which companies the market gets, and says of how many, also when none is left to decide about. */
export function ReviewButtons({ id, isPublished, count, isAll, target, children }: ReviewButtonsProps) {
  const [review, { error }] = useMutation(ReviewDocument);
  const [deciding, startDeciding] = useTransition();
  const [failure, setFailure] = useState<ErrorLike>();
  const [done, setDone] = useState<string>();
  const which = `${isAll ? 'all ' : ''}${formatCompanies(count)}`;
  const decide = async (reviewStatus: ReviewDecision, participle: string) => {
    setDone(undefined);
    setFailure(undefined);
    const found = await target().catch(setFailure);
    if (!found) return;
    const { data } = await review({ variables: { marketId: id, isPublished, reviewStatus, target: found } });
    const decided = found.domains ? formatCompanies(found.domains.length) : which;
    if (data?.reviewCompanies) setDone(`${capitalized(decided)} ${participle}.`);
  };
  return (
    <Form className="row" error={failure ?? error}>
      {children}
      {count !== 0 &&
        DECISIONS.map(([status, verb, participle]) => (
          <ConfirmButton
            key={status}
            label={`${verb} ${which}`}
            disabled={deciding}
            title={`${verb} ${which}?`}
            text={isAll ? 'This takes the place of each decision that was made before.' : undefined}
            onConfirm={() => startDeciding(() => decide(status, participle))}
          />
        ))}
      {(deciding || done) && <span role="status">{deciding ? 'Deciding' : done}</span>}
    </Form>
  );
}

/** The review of a market that is not published. */
export function Review({ id, companyCount }: { id: string; companyCount: number | null }) {
  const [text, setText] = useState('');
  const domains = text.split(/[\s,]+/).filter(Boolean);
  const isAll = domains.length === 0;
  return (
    <section className="panel stack" aria-label="Review">
      <h2>Review of {formatCompanies(companyCount)}</h2>
      <p>
        Decide which of the companies found this market gets, then publish it. The service lists them by name only after
        that: until then, name companies by their websites.
      </p>
      <ReviewButtons
        id={id}
        isPublished={false}
        count={isAll ? companyCount : domains.length}
        isAll={isAll}
        target={async () => (isAll ? { all: true } : { domains })}
      >
        <label className="wide">
          Websites of the companies, separated by spaces. Leave it empty to decide about all.
          <textarea name="domains" rows={2} value={text} onChange={({ target }) => setText(target.value)} />
        </label>
      </ReviewButtons>
    </section>
  );
}
