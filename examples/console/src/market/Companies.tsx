import { useLazyQuery, useMutation } from '@apollo/client/react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import {
  createColumnHelper,
  FlexRender,
  type Row,
  type RowSelectionState,
  rowSelectionFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { lazy, memo, Suspense, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { graphql } from '../gql';
import type { CompanyReviewStatus } from '../gql/graphql';
import { FacetMenu } from '../ui/FacetMenu';
import { formatCompanies, formatNumber, formatShortNumber } from '../ui/format';
import { Problems } from '../ui/Problems';
import { SearchBox } from '../ui/SearchBox';
import { Skeleton } from '../ui/Skeleton';
import styles from './Market.module.css';
import { Range } from './Range';
import { ReviewDocument } from './Review';
import { type CompanySearch, companyFilter, companyOrder, SORTS } from './search';
import { type Company, useCompanies } from './useCompanies';

const ExportDialog = lazy(() => import('./ExportDialog'));

const CompanyFacetsDocument = graphql(`
  query CompanyFacets($id: ID!, $filter: CompanyFilter) {
    market(id: $id) {
      nodeId
      id
      companyFacets(filter: $filter) { operatesIn { value count } naics { code name count } }
    }
  }
`);

const CsvDocument = graphql(`
  mutation Csv($marketId: ID!, $companies: CompanySelection!) {
    exportMarketCsv(input: { marketId: $marketId, companies: $companies }) { downloadLink selected }
  }
`);

const ROW_HEIGHT = 44;
const countries = new Intl.DisplayNames('en', { type: 'region' });
/** The code itself if it is not one of ISO 3166: for such a code, `Intl` throws. */
const countryName = (code: string) => (/^[a-z]{2}$/i.test(code) ? countries.of(code.toUpperCase()) : undefined) ?? code;

const features = tableFeatures({ rowSelectionFeature });
const column = createColumnHelper<typeof features, Company>();
const columns = column.columns([
  column.accessor('name', {
    id: 'NAME',
    header: 'Company',
    cell: ({ row: { original } }) => (
      <span className={styles.name}>
        {original.name ?? original.domain} <small>{original.domain}</small>
      </span>
    ),
  }),
  column.accessor('score', { id: 'SCORE', header: 'Score', cell: ({ getValue }) => formatNumber(getValue()) }),
  column.accessor('overallMomentum', {
    id: 'OVERALL_MOMENTUM',
    header: 'Momentum',
    cell: ({ getValue }) => formatNumber(getValue()),
  }),
  column.accessor('actualRevenue', {
    id: 'ACTUAL_REVENUE',
    header: 'Revenue',
    cell: ({ getValue }) => formatShortNumber(getValue()),
  }),
  column.accessor('operatesIn', {
    id: 'operatesIn',
    header: 'Countries',
    cell: ({ getValue }) => getValue().join(', ').toUpperCase(),
  }),
  column.accessor('naics', {
    id: 'naics',
    header: 'Industry',
    cell: ({ getValue }) => (getValue().find(({ isPrimary }) => isPrimary) ?? getValue()[0])?.name,
  }),
]);

/** The companies of a published market: thousands of rows, of which only the visible ones are in the page. */
export function Companies({ id }: { id: string }) {
  const search = useSearch({ from: '/markets/$id' });
  const navigate = useNavigate({ from: '/markets/$id' });
  const scroller = useRef<HTMLDivElement>(null);
  const [csv, csvResult] = useMutation(CsvDocument);
  const [review, reviewResult] = useMutation(ReviewDocument);
  /** What was done with other companies is not said of these. */
  const forgetResults = () => {
    csvResult.reset();
    reviewResult.reset();
  };
  const change = (patch: CompanySearch, replace = false) => {
    scroller.current?.scrollTo({ top: 0 });
    forgetResults();
    return navigate({ search: last => ({ ...last, ...patch }), resetScroll: false, replace });
  };
  const filter = companyFilter(search);
  const orderBy = companyOrder(search);

  const { totalCount, edges, error, loading, refetch, next } = useCompanies({ id, filter, orderBy });
  const [readFacets, facets] = useLazyQuery(CompanyFacetsDocument);
  const { operatesIn, naics } = facets.data?.market?.companyFacets ?? {};
  const openFacets = () => readFacets({ variables: { id, filter: {} } });

  const [rowSelection, setRowSelection] = useState<RowSelectionState>({});
  const domains = Object.keys(rowSelection);
  const table = useTable({
    features,
    columns,
    data: useMemo(() => edges.map(({ node }) => node), [edges]),
    getRowId: ({ domain }) => domain,
    state: { rowSelection },
    onRowSelectionChange(change) {
      setRowSelection(change);
      forgetResults();
    },
  });
  const { rows } = table.getRowModel();

  // The row with the focus stays in the page while others are on the screen: else its removal would take the focus away.
  const [focused, setFocused] = useState<number>();
  const virtualizer = useVirtualizer({
    count: totalCount ?? 0,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
    rangeExtractor: range =>
      [...new Set([...defaultRangeExtractor(range), ...(focused === undefined ? [] : [focused])])].sort(
        (a, b) => a - b,
      ),
  });
  const items = virtualizer.getVirtualItems();

  // Reads the next page before the user has scrolled to it.
  const wanted = (virtualizer.range?.endIndex ?? 0) + 75;
  const isShort = !loading && next.canRead && edges.length < wanted;
  const readNext = useEffectEvent(next.read);
  useEffect(() => {
    if (isShort) readNext();
  }, [isShort]);

  const [exporting, setExporting] = useState(false);
  const decide = (reviewStatus: CompanyReviewStatus) =>
    review({ variables: { marketId: id, reviewStatus, target: { domains } } });

  const clearSelection = () => {
    table.resetRowSelection(true);
    // The button goes away. The focus returns to the table.
    scroller.current?.focus({ preventScroll: true });
  };

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
      <div className="row">
        <SearchBox label="Search companies" value={search.search} onChange={text => change({ search: text }, true)} />
        <FacetMenu
          label="Country"
          options={(operatesIn ?? []).map(({ value, count }) => ({ value, label: countryName(value), count }))}
          selected={search.operatesIn ?? []}
          onChange={values => change({ operatesIn: values.length > 0 ? values : undefined })}
          onOpen={openFacets}
        />
        <FacetMenu
          label="Industry"
          options={(naics ?? []).map(({ code, name, count }) => ({ value: code, label: name ?? code, count }))}
          selected={search.naics ?? []}
          onChange={values => change({ naics: values.length > 0 ? values : undefined })}
          onOpen={openFacets}
        />
        {(['Revenue', 'Momentum'] as const).map(name => (
          <Range
            key={name}
            label={name}
            min={search[`min${name}`]}
            max={search[`max${name}`]}
            onChange={(min, max) => change({ [`min${name}`]: min, [`max${name}`]: max }, true)}
          />
        ))}
      </div>
      <div className="row">
        <h2>
          {totalCount === undefined ? 'Companies' : formatCompanies(totalCount)}
          {domains.length > 0 && `, ${domains.length} selected`}
        </h2>
        {domains.length > 0 && (
          <>
            <button type="button" onClick={() => decide('INCLUDE')}>
              Include
            </button>
            <button type="button" onClick={() => decide('EXCLUDE')}>
              Exclude
            </button>
            <button type="button" className="quiet" onClick={clearSelection}>
              Clear selection
            </button>
          </>
        )}
        <button
          type="button"
          disabled={csvResult.loading}
          onClick={() =>
            csv({ variables: { marketId: id, companies: domains.length > 0 ? { domains } : { matching: filter } } })
          }
        >
          CSV
        </button>
        <button type="button" className="primary" onClick={() => setExporting(true)}>
          Export
        </button>
      </div>
      {csvResult.data?.exportMarketCsv && (
        <p role="status">
          <a href={csvResult.data.exportMarketCsv.downloadLink}>
            CSV file of {formatCompanies(csvResult.data.exportMarketCsv.selected)}
          </a>
        </p>
      )}
      {reviewResult.data?.reviewCompanies && <p role="status">The decision is saved.</p>}
      <Problems error={csvResult.error ?? reviewResult.error ?? error} retry={error && refetch} />
      <Problems error={next.error} retry={next.retry} />
      {totalCount === undefined && loading && <Skeleton lines={10} />}
      {totalCount === 0 && <p className="empty">No company matches these filters.</p>}
      {totalCount !== undefined && totalCount > 0 && (
        <div ref={scroller} className={styles.scroller} tabIndex={-1}>
          <table className={styles.table} aria-label="Companies" aria-rowcount={totalCount + 1} aria-busy={loading}>
            <thead className={styles.header}>
              {table.getHeaderGroups().map(group => (
                <tr key={group.id} className={styles.row} aria-rowindex={1}>
                  <th scope="col">
                    <span className="hidden">Selected</span>
                  </th>
                  {group.headers.map(header => {
                    const sort = SORTS.find(field => field === header.column.id);
                    const isSorted = sort !== undefined && search.sort === sort;
                    return (
                      <th
                        key={header.id}
                        scope="col"
                        aria-sort={isSorted ? (search.descending ? 'descending' : 'ascending') : undefined}
                      >
                        {sort ? (
                          <button
                            type="button"
                            className="quiet"
                            onClick={() => change({ sort, descending: isSorted && !search.descending })}
                          >
                            <table.FlexRender header={header} /> {isSorted && (search.descending ? '▼' : '▲')}
                          </button>
                        ) : (
                          <table.FlexRender header={header} />
                        )}
                      </th>
                    );
                  })}
                </tr>
              ))}
            </thead>
            <tbody
              className={styles.body}
              style={{ height: virtualizer.getTotalSize() }}
              onBlur={() => setFocused(undefined)}
            >
              {items.map(({ index, start }) => (
                <CompanyRow
                  key={index}
                  row={rows[index]}
                  index={index}
                  start={start}
                  selected={rows[index]?.getIsSelected() ?? false}
                  onFocus={setFocused}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Suspense>
        {exporting && (
          <ExportDialog
            marketId={id}
            choices={[
              { label: 'The rows on the screen', companies: { visible: visiblePage() } },
              { label: `All ${totalCount ?? ''} companies of the list`, companies: { matching: filter } },
              ...(domains.length > 0
                ? [{ label: `The ${domains.length} selected companies`, companies: { domains } }]
                : []),
            ]}
            onClose={() => setExporting(false)}
          />
        )}
      </Suspense>
    </section>
  );
}

interface CompanyRowProps {
  /** Undefined: not read yet. */
  readonly row: Row<typeof features, Company> | undefined;
  readonly index: number;
  /** Distance from the first row, in pixels. */
  readonly start: number;
  readonly selected: boolean;
  readonly onFocus: (index: number) => void;
}

/** Remembers what it has rendered, so that scrolling renders only rows that are new on the screen. */
const CompanyRow = memo(function CompanyRow({ row, index, start, selected, onFocus }: CompanyRowProps) {
  return (
    <tr
      className={styles.row}
      aria-rowindex={index + 2}
      data-selected={selected || undefined}
      style={{ height: ROW_HEIGHT, transform: `translateY(${start}px)` }}
      onFocus={() => onFocus(index)}
    >
      {row && (
        <td>
          <input
            type="checkbox"
            aria-label={`Select ${row.original.name ?? row.original.domain}`}
            checked={selected}
            onChange={row.getToggleSelectedHandler()}
          />
        </td>
      )}
      {row?.getAllCells().map(cell => (
        <td key={cell.id}>
          <FlexRender cell={cell} />
        </td>
      ))}
      {!row && <td>…</td>}
    </tr>
  );
});
