import { useMutation, useQuery } from '@apollo/client/react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { graphql } from '../gql';
import { Button, countryName, FacetMenu, Form, formatCompanies, Problems, SearchBox, Skeleton, useLast } from '../ui';
import { CompanyDetail } from './CompanyDetail';
import { CompanyTable, ROW_HEIGHT } from './CompanyTable';
import { ExportDialog } from './ExportDialog';
import styles from './Market.module.css';
import { Range } from './Range';
import { ReviewButtons } from './Review';
import { type CompanySearch, companyFilter, companyOrder } from './search';
import { useCompanies } from './useCompanies';

/** Each menu counts the companies that match all other filters. */
const CompanyFacetsDocument = graphql(`
  query CompanyFacets(
    $id: ID!
    $butCountries: CompanyFilter, $butIndustries: CompanyFilter, $butRevenue: CompanyFilter, $butMomentum: CompanyFilter
  ) {
    market(id: $id) {
      nodeId id
      countries: companyFacets(filter: $butCountries) { operatesIn { value count } }
      industries: companyFacets(filter: $butIndustries) { naics { value: code name count } }
      actualRevenue: companyFacets(filter: $butRevenue) { histogram: actualRevenue { buckets { start end count } } }
      overallMomentum: companyFacets(filter: $butMomentum) { histogram: overallMomentum { buckets { start end count } } }
    }
  }
`);

const CsvDocument = graphql(`
  mutation Csv($marketId: ID!, $companies: CompanySelection!) {
    exportMarketCsv(input: { marketId: $marketId, companies: $companies }) { downloadLink selected }
  }
`);

const RANGES = [
  ['Revenue', 'actualRevenue'],
  ['Momentum', 'overallMomentum'],
] as const;

/** The companies of a published market: filters, a table, and what can be done with the selected ones. */
export function Companies({ id }: { id: string }) {
  const search = useSearch({ from: '/markets/$id' });
  const navigate = useNavigate({ from: '/markets/$id' });
  const scroller = useRef<HTMLDivElement>(null);
  const [csv, csvResult] = useMutation(CsvDocument);
  const file = csvResult.data?.exportMarketCsv;
  const change = (patch: CompanySearch, replace = false) => {
    scroller.current?.scrollTo({ top: 0 });
    csvResult.reset();
    return navigate({ search: last => ({ ...last, ...patch }), resetScroll: false, replace });
  };
  const open = (company?: string) => navigate({ search: last => ({ ...last, company }), resetScroll: false });

  const filter = companyFilter(search);
  const orderBy = companyOrder(search);
  const list = useCompanies({ id, filter, orderBy });
  const { totalCount, edges, error, loading, refetch, next } = list;
  const { data } = useQuery(CompanyFacetsDocument, {
    variables: {
      id,
      butCountries: { ...filter, operatesIn: undefined },
      butIndustries: { ...filter, naics: undefined },
      butRevenue: { ...filter, actualRevenue: undefined },
      butMomentum: { ...filter, overallMomentum: undefined },
    },
  });
  const facets = useLast(data?.market);

  const clearFilters = () => navigate({ search: ({ sort, descending }) => ({ sort, descending }), resetScroll: false });

  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const toggle = (domain: string) => {
    const others = new Set(selected);
    if (!others.delete(domain)) others.add(domain);
    setSelected(others);
  };
  const selectAll = async () => setSelected(new Set((await list.readAll()).map(({ node }) => node.domain)));
  const clearSelection = () => {
    setSelected(new Set());
    // The button goes away. The focus returns to the table.
    scroller.current?.focus({ preventScroll: true });
  };

  const [exporting, setExporting] = useState(false);
  const chosen = selected.size > 0 ? { domains: [...selected] } : { matching: filter };
  /** Exactly the rows that are on the screen, also those at its edges, as a page of the list. */
  const visiblePage = () => {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    const header = scroller.current?.querySelector('thead')?.offsetHeight ?? 0;
    const start = Math.floor(scrollTop / ROW_HEIGHT);
    const end = Math.min(Math.ceil((scrollTop + clientHeight - header) / ROW_HEIGHT), edges.length);
    return { first: end - start, after: edges[start - 1]?.cursor ?? null, filter, orderBy };
  };

  return (
    <section className="stack" aria-label="Companies">
      <Form className="row filters" label="Filters" error={error} retry={refetch}>
        <SearchBox label="Search companies" value={search.search} onChange={text => change({ search: text }, true)} />
        <FacetMenu
          label="Country"
          options={facets?.countries?.operatesIn.map(facet => ({ ...facet, label: countryName(facet.value) }))}
          selected={search.operatesIn}
          onChange={operatesIn => change({ operatesIn })}
        />
        <FacetMenu
          label="Industry"
          options={facets?.industries?.naics.map(({ value, name, count }) => ({ value, label: name ?? value, count }))}
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
            onChange={range => change({ [name]: range }, true)}
          />
        ))}
        {Object.values(filter).some(Boolean) && (
          <Button label="Clear filters" className="link" onClick={clearFilters} />
        )}
      </Form>
      <div className="row">
        <h2>
          {totalCount === undefined ? 'Companies' : formatCompanies(totalCount)}
          {selected.size > 0 && `, ${selected.size} selected`}
        </h2>
        {selected.size > 0 && (
          <>
            <ReviewButtons id={id} domains={[...selected]} />
            <Button label="Clear selection" className="quiet" onClick={clearSelection} />
          </>
        )}
        <Button
          label={csvResult.loading ? 'Preparing' : 'Download CSV'}
          disabled={csvResult.loading || totalCount === 0}
          onClick={() => csv({ variables: { marketId: id, companies: chosen } })}
        />
        <Button label="Export" className="primary" disabled={totalCount === 0} onClick={() => setExporting(true)} />
      </div>
      {file && (
        <p role="status">
          <a href={file.downloadLink}>CSV file of {formatCompanies(file.selected)}</a>
        </p>
      )}
      <Problems error={csvResult.error} />
      <Problems error={next.error} retry={next.retry} />
      {totalCount === undefined && loading && (
        <div className={styles.scroller}>
          <Skeleton lines={14} />
        </div>
      )}
      {totalCount === 0 && <p className="empty">No company matches these filters.</p>}
      {totalCount !== undefined && totalCount > 0 && (
        <CompanyTable
          {...{ list, totalCount, scroller, search, selected, toggle, open }}
          sort={change}
          toggleAll={() => (selected.size >= totalCount ? clearSelection() : selectAll())}
        />
      )}
      {search.company && <CompanyDetail id={id} domain={search.company} onClose={() => open()} />}
      {exporting && (
        <ExportDialog
          marketId={id}
          choices={[
            ...(selected.size > 0 ? [{ label: `The ${selected.size} selected companies`, companies: chosen }] : []),
            { label: 'The rows on the screen', companies: { visible: visiblePage() } },
            { label: `All ${formatCompanies(totalCount ?? 0)} of the list`, companies: { matching: filter } },
          ]}
          onClose={() => setExporting(false)}
        />
      )}
    </section>
  );
}
