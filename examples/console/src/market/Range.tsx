import { SearchBox } from '../ui/SearchBox';

interface RangeProps {
  readonly label: string;
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly onChange: (min: number | undefined, max: number | undefined) => void;
}

/** Two fields for the ends of a range. An empty field is no end. */
export function Range({ label, min, max, onChange }: RangeProps) {
  const numberIn = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return (
    <fieldset className="range">
      <legend>{label}</legend>
      <SearchBox
        type="number"
        label={`${label}, at least`}
        placeholder="min"
        value={min?.toString()}
        onChange={text => onChange(numberIn(text), max)}
      />
      <SearchBox
        type="number"
        label={`${label}, at most`}
        placeholder="max"
        value={max?.toString()}
        onChange={text => onChange(min, numberIn(text))}
      />
    </fieldset>
  );
}
