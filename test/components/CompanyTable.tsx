import { useSuspenseQuery } from '@apollo/client/react';
import { useState } from 'react';
import type { CompanyFilter, CompanyOrder } from './gql/graphql.js';
import { graphql } from './gql/index.js';

const companyTable = graphql(`
  query CompanyTable($market: ID!, $first: Int!, $after: String, $filter: CompanyFilter, $orderBy: CompanyOrder) {
    market(id: $market) {
      nodeId
      companies(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
        totalCount
        nodes {
          nodeId
          domain
          name
          score
          actualRevenue
          overallMomentum
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
      companyFacets(filter: $filter) {
        operatesIn {
          value
          count
        }
        naics {
          code
          name
          count
        }
      }
    }
  }
`);

const columns = [
  { field: 'NAME', label: 'Name' },
  { field: 'SCORE', label: 'Score' },
  { field: 'ACTUAL_REVENUE', label: 'Revenue' },
  { field: 'OVERALL_MOMENTUM', label: 'Momentum' },
] as const;

/** The companies of a market as a table that one can sort by its heads and filter by country and industry. */
export function CompanyTable({ market }: { readonly market: string }) {
  const [filter, setFilter] = useState<CompanyFilter>({});
  const [orderBy, setOrderBy] = useState<CompanyOrder>({ field: 'SCORE', direction: 'DESC' });
  const { data, fetchMore } = useSuspenseQuery(companyTable, { variables: { market, first: 25, filter, orderBy } });
  const companies = data.market?.companies;
  const facets = data.market?.companyFacets;
  if (companies == null) return <p>The companies of this market cannot be shown.</p>;
  const { pageInfo, nodes, totalCount } = companies;
  return (
    <section>
      <select
        value={filter.operatesIn?.[0] ?? ''}
        onChange={({ target }) => setFilter({ ...filter, operatesIn: target.value === '' ? null : [target.value] })}
      >
        <option value="">All countries</option>
        {facets?.operatesIn.map(({ value, count }) => (
          <option key={value} value={value}>{`${value} (${count})`}</option>
        ))}
      </select>
      <select
        value={filter.naics?.[0] ?? ''}
        onChange={({ target }) => setFilter({ ...filter, naics: target.value === '' ? null : [target.value] })}
      >
        <option value="">All industries</option>
        {facets?.naics.map(({ code, name, count }) => (
          <option key={code} value={code}>{`${name ?? code} (${count})`}</option>
        ))}
      </select>
      <label>
        Revenue from
        <input
          type="number"
          onChange={({ target }) =>
            setFilter({ ...filter, actualRevenue: target.value === '' ? null : { min: Number(target.value) } })
          }
        />
      </label>
      <table>
        <caption>{totalCount} companies</caption>
        <thead>
          <tr>
            {columns.map(({ field, label }) => (
              <th key={field} aria-sort={ariaSort(orderBy, field)}>
                <button type="button" onClick={() => setOrderBy(sortedBy(orderBy, field))}>
                  {label}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.map(({ nodeId, name, domain, score, actualRevenue, overallMomentum }) => (
            <tr key={nodeId}>
              <td>{name ?? domain}</td>
              <td>{score}</td>
              <td>{actualRevenue?.toLocaleString()}</td>
              <td>{overallMomentum?.toFixed(1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {pageInfo.hasNextPage && (
        <button type="button" onClick={() => fetchMore({ variables: { after: pageInfo.endCursor } })}>
          More
        </button>
      )}
    </section>
  );
}

/** A click on the column that is sorted already turns its direction around. */
function sortedBy(order: CompanyOrder, field: CompanyOrder['field']): CompanyOrder {
  return { field, direction: order.field === field && order.direction === 'DESC' ? 'ASC' : 'DESC' };
}

function ariaSort(order: CompanyOrder, field: CompanyOrder['field']) {
  if (order.field !== field) return 'none';
  return order.direction === 'ASC' ? 'ascending' : 'descending';
}
