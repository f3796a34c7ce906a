import { useQuery } from '@apollo/client/react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { ViewMenu } from '../app/ViewMenu';
import { graphql } from '../gql';
import {
  Button,
  countryName,
  FacetMenu,
  Form,
  formatCompanies,
  formatNumber,
  Problems,
  SearchBox,
  Skeleton,
  useLast,
} from '../ui';
import { CompanyDetail } from './CompanyDetail';
import { CompanyTable, ROW_HEIGHT, type Selected } from './CompanyTable';
import { ExportDialog } from './ExportDialog';
import styles from './Market.module.css';
import { Range } from './Range';
import { ReviewButtons } from './Review';
import { type CompanySearch, companyFilter, companyOrder, range } from './search';
import { CompaniesDocument, useCompanies } from './useCompanies';

/** Each menu counts the companies that match all other filters. */
const CompanyFacetsDocument = graphql(`
  query CompanyFacets(
    $id: ID!
    $butCountries: CompanyFilter, $butIndustries: CompanyFilter, $butRevenue: CompanyFilter, $butMomentum: CompanyFilter
  ) {
    market(id: $id) {
      nodeId id
      countries: companyFacets(filter: $butCountries) { operatesIn { value count } }
      industries: companyFacets(filter: $butIndustries) { naics { value: code label: name count } }
      actualRevenue: companyFacets(filter: $butRevenue) { histogram: actualRevenue { buckets { start end count } } }
      overallMomentum: companyFacets(filter: $butMomentum) { histogram: overallMomentum { buckets { start end count } } }
    }
  }
`);

const RANGES = [
  ['Revenue', 'actualRevenue'],
  ['Momentum', 'overallMomentum'],
] as const;

const NOTHING: ReadonlySet<string> = new Set();

/** The companies of a published market: filters, a table, and what can be done with the selected ones. */
export function Companies({ id }: { id: string }) {
  const search = useSearch({ from: '/markets/$id' });
  const navigate = useNavigate({ from: '/markets/$id' });
  const scroller = useRef<HTMLDivElement>(null);
  const changeFrom = (patch: (last: CompanySearch) => CompanySearch, replace = false) => {
    scroller.current?.scrollTo({ top: 0 });
    return navigate({ search: last => ({ ...last, ...patch(last) }), resetScroll: false, replace });
  };
  const change = (patch: CompanySearch, replace?: boolean) => changeFrom(() => patch, replace);
  const open = (company?: string) =>
    navigate({ search: last => ({ ...last, company }), resetScroll: false, replace: !company });

  const filter = companyFilter(search);
  const orderBy = companyOrder(search);
  const list = useCompanies({ id, filter, orderBy });
  const { isCurrent, totalCount, edges, error, loading, refetch, next } = list;
  const counts = useQuery(CompanyFacetsDocument, {
    variables: {
      id,
      butCountries: { ...filter, operatesIn: undefined },
      butIndustries: { ...filter, naics: undefined },
      butRevenue: { ...filter, actualRevenue: undefined },
      butMomentum: { ...filter, overallMomentum: undefined },
    },
  });
  const facets = useLast(counts.data?.market);

  const clearFilters = () => navigate({ search: ({ sort, descending }) => ({ sort, descending }), resetScroll: false });

  // It belongs to what is shown: with another filter, or as long as its list is not there, nothing is selected, and Back brings it again.
  const shown = JSON.stringify(filter);
  const [selection, setSelection] = useState<{ shown: string; selected: Selected }>();
  const selected = isCurrent && selection?.shown === shown ? selection.selected : NOTHING;
  const select = (selected: Selected) => setSelection({ shown, selected });
  const count = selected === 'all' ? (totalCount ?? 0) : selected.size;
  const toggle = (domain: string) => {
    const others = new Set(selected === 'all' ? [] : selected);
    if (!others.delete(domain)) others.add(domain);
    select(others);
  };
  const clearSelection = () => {
    select(NOTHING);
    // The button goes away. The focus returns to the table.
    scroller.current?.focus({ preventScroll: true });
  };

  /** What a review decides about: the service takes domains, or the whole market. */
  const reviewed = async () => {
    if (selected !== 'all') return { domains: [...selected] };
    if (!Object.values(filter).some(Boolean)) return { all: true };
    return { domains: (await list.readAll()).map(({ node }) => node.domain) };
  };

  const isNothing = totalCount === 0 || !isCurrent;
  const [exporting, setExporting] = useState<'csv' | 'endpoint'>();
  /** Exactly the rows that are on the screen, also those at its edges, as a page of the list. */
  const visiblePage = () => {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    const header = scroller.current?.querySelector('thead')?.offsetHeight ?? 0;
    const start = Math.floor(scrollTop / ROW_HEIGHT);
    const end = Math.min(Math.ceil((scrollTop + clientHeight - header) / ROW_HEIGHT), edges.length);
    return { first: end - start, after: edges[start - 1]?.cursor ?? null, filter, orderBy };
  };
  const choices = () => {
    const visible = visiblePage();
    return [
      ...(selected !== 'all' && count > 0 ? [{ count, which: 'selected', companies: { domains: [...selected] } }] : []),
      { count: totalCount ?? 0, which: 'of the list', companies: { matching: filter } },
      // None of them is read yet where the user has just scrolled to.
      ...(visible.first > 0 ? [{ count: visible.first, which: 'on the screen', companies: { visible } }] : []),
    ];
  };

  return (
    <section className="stack" aria-label="Companies">
      <Form className="stack" label="Filters" error={error ?? counts.error} retry={error ? refetch : counts.refetch}>
        <div className="row line filters">
          <SearchBox
            label="Search companies"
            value={search.search}
            onChange={text => change({ search: text }, search.search !== undefined)}
          />
          <FacetMenu
            label="Country"
            options={facets?.countries?.operatesIn.map(facet => ({ ...facet, label: countryName(facet.value) }))}
            selected={search.operatesIn}
            onChange={operatesIn => change({ operatesIn })}
          />
          <FacetMenu
            label="Industry"
            options={facets?.industries?.naics}
            selected={search.naics}
            onChange={naics => change({ naics })}
          />
          {RANGES.map(([label, name]) => (
            <Range
              key={name}
              label={label}
              name={name}
              value={search[name]}
              counts={facets?.[name]?.histogram?.buckets}
              // The other end may have changed since.
              onChange={(end, value) =>
                changeFrom(last => ({ [name]: range({ ...last[name], [end]: value }) }), search[name] !== undefined)
              }
            />
          ))}
          {Object.values(filter).some(Boolean) && (
            <Button label="Clear filters" className="link" onClick={clearFilters} />
          )}
        </div>
      </Form>
      <div className="row">
        <h2>
          {isCurrent ? formatCompanies(totalCount) : 'Companies'}
          {count > 0 && `, ${formatNumber(count)} selected`}
        </h2>
        <div className="row line">
          <ReviewButtons id={id} isPublished count={count} isAll={selected === 'all'} target={reviewed} />
          {count > 0 && <Button label="Clear selection" className="quiet" onClick={clearSelection} />}
          <ViewMenu document={CompaniesDocument} variables={{ id, filter, orderBy }} />
          <Button label="Download CSV" disabled={isNothing} onClick={() => setExporting('csv')} />
          <Button label="Export" className="primary" disabled={isNothing} onClick={() => setExporting('endpoint')} />
        </div>
      </div>
      <Problems error={next.error} retry={next.retry} />
      {totalCount === undefined && loading && (
        <div className={styles.scroller}>
          <Skeleton lines={14} />
        </div>
      )}
      {totalCount === 0 && <p className="empty">No company matches these filters.</p>}
      {totalCount !== undefined && totalCount > 0 && (
        <CompanyTable
          {...{ list, scroller, search, selected, toggle, open }}
          sort={change}
          toggleAll={() => (selected === 'all' ? clearSelection() : select('all'))}
        />
      )}
      {search.company && <CompanyDetail id={id} domain={search.company} onClose={() => open()} />}
      {exporting && (
        <ExportDialog marketId={id} to={exporting} choices={choices()} onClose={() => setExporting(undefined)} />
      )}
    </section>
  );
}
