import { lazy, Suspense, useState } from 'react';
import { loadPart } from './loadPart';
import { Button } from './parts';

export interface FacetMenuProps {
  readonly label: string;
  /** Undefined: not read yet. */
  readonly options: readonly FacetOption[] | undefined;
  /** Undefined: nothing. */
  readonly selected: readonly string[] | undefined;
  readonly onChange: (selected: string[] | undefined) => void;
  /** Called when the menu is opened, so that its options can be read then. */
  readonly onOpen?: () => void;
}

export interface FacetOption {
  readonly value: string;
  /** Left out: the value itself. */
  readonly label?: string;
  readonly count: number;
}

const FacetList = lazy(() => loadPart(() => import('./FacetList')));

/** A menu of values with their counts, of which several can be selected. The menu itself is loaded when it is opened first. */
export function FacetMenu(props: FacetMenuProps) {
  const [used, setUsed] = useState(false);
  const open = () => {
    setUsed(true);
    props.onOpen?.();
  };
  const button = (
    <Button
      label={`${facetTitle(props)} ▾`}
      aria-haspopup="menu"
      aria-pressed={props.selected !== undefined}
      onClick={open}
    />
  );
  return used ? (
    <Suspense fallback={button}>
      <FacetList {...props} />
    </Suspense>
  ) : (
    button
  );
}

export function facetTitle({ label, selected }: FacetMenuProps): string {
  return selected ? `${label} (${selected.length})` : label;
}
