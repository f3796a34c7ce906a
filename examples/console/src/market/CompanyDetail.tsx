import { useQuery } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import { graphql } from '../gql';
import { Score } from '../monitor/EventRow';
import styles from '../monitor/Monitor.module.css';
import { dayBefore } from '../monitor/search';
import {
  countryName,
  ExternalLink,
  Facts,
  formatAmount,
  formatCount,
  formatMomentum,
  formatNumber,
  formatScore,
  Modal,
  Problems,
  Skeleton,
  Time,
  words,
} from '../ui';

/** The record comes from the list of companies, the ESG data and the events from two other places of the service: one query for a page of all. */
const CompanyDocument = graphql(`
  query Company($id: ID!, $domain: String!, $from: DateOrDateTime!) {
    market(id: $id) {
      nodeId id
      company(domain: $domain) {
        id domain name description score overallMomentum actualRevenue contactNumber contactEmail dunsNumbers
        operatesIn
        naics { code name isPrimary }
        esg reviewStatus
        events(first: 20, filter: { from: $from, severity: null, likelihood: null }) {
          totalCount
          edges { impact { severity likelihood } node { nodeId id title lastUpdated } }
        }
      }
    }
  }
`);

const DAYS = 30;

/** A company with its contacts, its ESG data and the events that impact it. @param id of the market */
export function CompanyDetail({ id, domain, onClose }: { id: string; domain: string; onClose: () => void }) {
  const { data, error, loading, refetch } = useQuery(CompanyDocument, {
    variables: { id, domain, from: dayBefore(DAYS - 1) },
  });
  const company = data?.market?.company;
  const esg = Object.entries(company?.esg ?? {}).filter(([name]) => name !== 'domain');
  return (
    <Modal drawer title={company?.name ?? domain} onClose={onClose}>
      <Problems error={error} retry={refetch} />
      {loading && !company && <Skeleton lines={12} />}
      {data?.market && !company && !error && <p className="empty">This market has no such company.</p>}
      {company && (
        <>
          <p>{company.description}</p>
          <Facts
            facts={{
              Website: <ExternalLink href={`https://${domain}`} label={domain} />,
              Phone: company.contactNumber && <a href={`tel:${company.contactNumber}`}>{company.contactNumber}</a>,
              'E-mail': company.contactEmail && <a href={`mailto:${company.contactEmail}`}>{company.contactEmail}</a>,
              Review: company.reviewStatus && { INCLUDE: 'Included', EXCLUDE: 'Excluded' }[company.reviewStatus],
              Score: formatScore(company.score),
              Momentum: formatMomentum(company.overallMomentum),
              Revenue: formatAmount(company.actualRevenue),
              Countries: company.operatesIn.map(countryName).join(', '),
              Industries: company.naics.map(({ code, name }) => name ?? code).join(', '),
              'D-U-N-S': company.dunsNumbers.join(', '),
            }}
          />
          <section>
            <h2>
              {company.events ? formatCount(company.events.totalCount, 'event') : 'Events'} in {DAYS} days{' '}
              <small>severity, likelihood</small>
            </h2>
            <ul className="stack">
              {company.events?.edges.map(({ impact, node: { nodeId, id, title, lastUpdated } }) => (
                <li key={id} className={styles.impact}>
                  <Score name="Severity" value={impact?.severity} />
                  <Score name="Likelihood" value={impact?.likelihood} />
                  <span>
                    <Link to="/" search={{ days: DAYS, event: id, version: nodeId }}>
                      {title}
                    </Link>{' '}
                    <small>
                      <Time at={lastUpdated} />
                    </small>
                  </span>
                </li>
              ))}
            </ul>
            {company.events && company.events.totalCount > 0 && company.name && (
              <p>
                {company.events.totalCount > company.events.edges.length &&
                  `These are the newest ${company.events.edges.length}. `}
                <Link to="/" search={{ days: DAYS, impactedEntities: [company.name] }}>
                  Show all {formatNumber(company.events.totalCount)} in the monitor
                </Link>
              </p>
            )}
          </section>
          {esg.length > 0 && (
            <section>
              <h2>ESG</h2>
              <Facts facts={Object.fromEntries(esg.map(([name, value]) => [words(name), esgText(value)]))} />
            </section>
          )}
        </>
      )}
    </Modal>
  );
}

/** The service does not document its ESG data: plain values are shown as they are, and of a time only the day. */
function esgText(value: unknown): string {
  return typeof value === 'object' ? '' : String(value).replace(/^(\d{4}-\d\d-\d\d)T.*/, '$1');
}
