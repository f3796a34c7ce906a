import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useEffectEvent, useState } from 'react';
import type { CompanyOrderField } from '../gql/graphql';
import { Button, countryName, formatAmount, formatMomentum, formatScore, useStored } from '../ui';
import styles from './Market.module.css';
import type { CompanySearch } from './search';
import type { Company, useCompanies } from './useCompanies';

export const ROW_HEIGHT = 40;

interface Column {
  readonly title: string;
  /** By what the list can be sorted. */
  readonly field?: CompanyOrderField;
  /** Until the user gives it another one. */
  readonly width: string;
  readonly cell: (company: Company) => ReactNode;
}

const COLUMNS: readonly Column[] = [
  { title: 'Company', field: 'NAME', width: 'minmax(min(13rem, 40vw), 3fr)', cell: row => row.name ?? row.domain },
  { title: 'Score', field: 'SCORE', width: '5.5rem', cell: row => formatScore(row.score) },
  { title: 'Momentum', field: 'OVERALL_MOMENTUM', width: '8.5rem', cell: row => formatMomentum(row.overallMomentum) },
  { title: 'Revenue', field: 'ACTUAL_REVENUE', width: '7.5rem', cell: row => formatAmount(row.actualRevenue) },
  { title: 'Countries', width: 'minmax(8rem, 2fr)', cell: ({ operatesIn }) => operatesIn.map(countryName).join(', ') },
  {
    title: 'Industry',
    width: 'minmax(9rem, 3fr)',
    cell: ({ naics }) => (naics.find(({ isPrimary }) => isPrimary) ?? naics[0])?.name,
  },
];

/** What the list can be sorted by are numbers, but for the name. */
const isNumber = ({ field }: Column) => field !== undefined && field !== 'NAME';

/** Domains, or all companies that match the filter. */
export type Selected = ReadonlySet<string> | 'all';

interface CompanyTableProps {
  readonly list: ReturnType<typeof useCompanies>;
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly search: CompanySearch;
  readonly sort: (order: Pick<CompanySearch, 'sort' | 'descending'>) => void;
  readonly selected: Selected;
  readonly toggle: (domain: string) => void;
  readonly toggleAll: () => void;
  readonly open: (domain: string) => void;
}

/** Thousands of rows, of which only the visible ones are in the page. */
export function CompanyTable(props: CompanyTableProps) {
  const { list, scroller, search, sort, selected, toggle, toggleAll, open } = props;
  const { isCurrent, totalCount = 0, edges, next } = list;
  // The row with the focus stays in the page while others are on the screen: else its removal would take the focus away.
  const [focused, setFocused] = useState<number>();
  const kept = focused === undefined || focused >= totalCount ? [] : [focused];
  const virtualizer = useVirtualizer({
    count: totalCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
    rangeExtractor: range => [...new Set([...defaultRangeExtractor(range), ...kept])].sort((a, b) => a - b),
  });

  // Reads the next page before the user has scrolled to it.
  const wanted = (virtualizer.range?.endIndex ?? 0) + 75;
  const isShort = isCurrent && next.canRead && edges.length < wanted;
  const readNext = useEffectEvent(next.read);
  useEffect(() => {
    if (isShort) readNext();
  }, [isShort]);

  /** In pixels. When one column gets another width, all others keep theirs. */
  const [widths, setWidths] = useStored<number[]>('column-widths', localStorage);
  const resize = (handle: HTMLElement, change: (cell: HTMLElement) => number) => {
    const cells = [...(handle.closest('tr')?.querySelectorAll<HTMLElement>('th') ?? [])].slice(1);
    setWidths(cells.map(cell => (cell === handle.parentElement ? Math.max(60, change(cell)) : cell.offsetWidth)));
  };
  const onResizeKey = ({ key, currentTarget }: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[key];
    if (step) resize(currentTarget, cell => cell.offsetWidth + step);
    if (key === 'Escape') setWidths(undefined);
  };

  return (
    <div ref={scroller} className={styles.scroller} tabIndex={-1}>
      <table
        style={columnsOf(widths)}
        className={styles.table}
        aria-label="Companies"
        aria-rowcount={totalCount + 1}
        aria-busy={!isCurrent}
      >
        <thead className={styles.header}>
          <tr className={styles.row} aria-rowindex={1}>
            <th scope="col">
              <input
                type="checkbox"
                aria-label="Select all"
                ref={box => {
                  if (box) box.indeterminate = selected !== 'all' && selected.size > 0;
                }}
                checked={selected === 'all'}
                disabled={!isCurrent}
                onChange={toggleAll}
              />
            </th>
            {COLUMNS.map((column, index) => {
              const { title, field } = column;
              const order =
                field && search.sort === field ? (search.descending ? 'descending' : 'ascending') : undefined;
              const arrow = order && <span aria-hidden="true">{order === 'descending' ? '▼' : '▲'}</span>;
              const sortBy = () => sort({ sort: field, descending: order === 'ascending' });
              return (
                <th key={title} scope="col" data-number={isNumber(column) || undefined} aria-sort={order}>
                  {field ? <Button label={[title, arrow]} className="quiet" onClick={sortBy} /> : title}
                  <span
                    className={styles.handle}
                    role="slider"
                    tabIndex={0}
                    aria-label={`Width of ${title}. Arrow keys change it, Escape resets all`}
                    aria-valuenow={Math.round(widths?.[index] ?? 0)}
                    onKeyDown={onResizeKey}
                    onDoubleClick={() => setWidths(undefined)}
                    onPointerDown={({ currentTarget, pointerId }) => currentTarget.setPointerCapture(pointerId)}
                    onPointerMove={({ buttons, clientX, currentTarget }) =>
                      buttons > 0 && resize(currentTarget, cell => clientX - cell.getBoundingClientRect().left)
                    }
                  />
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody
          className={styles.body}
          style={{ height: virtualizer.getTotalSize() }}
          onBlur={() => setFocused(undefined)}
        >
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const company = edges[index]?.node;
            const isSelected = company !== undefined && (selected === 'all' || selected.has(company.domain));
            return (
              <tr
                key={index}
                className={styles.row}
                aria-rowindex={index + 2}
                data-selected={isSelected || undefined}
                style={{ height: ROW_HEIGHT, transform: `translateY(${start}px)` }}
                onFocus={() => setFocused(index)}
              >
                <td>
                  {company && (
                    <input
                      type="checkbox"
                      aria-label={`Select ${company.name ?? company.domain}`}
                      checked={isSelected}
                      disabled={!isCurrent || selected === 'all'}
                      onChange={() => toggle(company.domain)}
                    />
                  )}
                </td>
                {company ? (
                  COLUMNS.map(column => (
                    <td key={column.title} data-number={isNumber(column) || undefined}>
                      {column.field === 'NAME' ? (
                        <Button
                          label={company.name ?? company.domain}
                          className="link cover"
                          onClick={() => open(company.domain)}
                        />
                      ) : (
                        column.cell(company)
                      )}
                    </td>
                  ))
                ) : (
                  <td>…</td>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The last column takes what is left of the table. */
function columnsOf(widths: readonly number[] | undefined) {
  if (!widths) return { '--columns': COLUMNS.map(({ width }) => width).join(' ') };
  const pixels = widths.map(width => `${width}px`);
  return {
    '--columns': `${pixels.slice(0, -1).join(' ')} minmax(${pixels.at(-1)}, 1fr)`,
    minWidth: `calc(2.5rem + ${pixels.join(' + ')})`,
  };
}
