import { useSuspenseQuery } from '@apollo/client/react';
import type { EventFilter } from './gql/graphql.js';
import { graphql } from './gql/index.js';

const eventPage = graphql(`
  query EventPage($page: Int!, $size: Int!, $filter: EventFilter) {
    events(first: $size, page: $page, filter: $filter) {
      totalCount
      nodes {
        nodeId
        title
        severity
        likelihood
        lastUpdated
      }
    }
  }
`);

const size = 20;

interface EventPagesProps {
  readonly page: number;
  readonly filter: EventFilter;
  addressOf(page: number): string;
}

/** One page of events, with links to all pages by their numbers. */
export function EventPages({ page, filter, addressOf }: EventPagesProps) {
  const { data } = useSuspenseQuery(eventPage, { variables: { page, size, filter } });
  if (data.events == null) return <p>The events cannot be shown.</p>;
  const pages = Math.ceil(data.events.totalCount / size);
  return (
    <section>
      <ol start={(page - 1) * size + 1}>
        {data.events.nodes.map(({ nodeId, title, severity, likelihood, lastUpdated }) => (
          <li key={nodeId}>
            <strong>{title}</strong>
            <span>{severity === null ? '' : `Severity ${severity}`}</span>
            <span>{likelihood === null ? '' : `Likelihood ${likelihood}`}</span>
            {lastUpdated !== null && <time dateTime={lastUpdated}>{new Date(lastUpdated).toLocaleString()}</time>}
          </li>
        ))}
      </ol>
      <nav aria-label="Pages">
        {Array.from({ length: pages }, (_, index) => index + 1).map(number => (
          <a key={number} href={addressOf(number)} aria-current={number === page ? 'page' : undefined}>
            {number}
          </a>
        ))}
      </nav>
    </section>
  );
}
