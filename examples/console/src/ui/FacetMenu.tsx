import { lazy, Suspense, useState } from 'react';

export interface FacetMenuProps {
  readonly label: string;
  readonly options: readonly FacetOption[];
  readonly selected: readonly string[];
  readonly onChange: (selected: string[]) => void;
  /** Called when the menu is opened, so that its options can be read then. */
  readonly onOpen?: () => void;
}

export interface FacetOption {
  readonly value: string;
  /** Left out: the value itself. */
  readonly label?: string;
  readonly count: number;
}

const FacetList = lazy(() => import('./FacetList'));

/** A menu of values with their counts, of which several can be selected. The menu itself is loaded when it is opened first. */
export function FacetMenu(props: FacetMenuProps) {
  const [used, setUsed] = useState(false);
  const open = () => {
    setUsed(true);
    props.onOpen?.();
  };
  const button = (
    <button type="button" aria-haspopup="menu" aria-pressed={props.selected.length > 0} onClick={open}>
      {facetTitle(props)} ▾
    </button>
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
  return selected.length === 0 ? label : `${label} (${selected.length})`;
}
