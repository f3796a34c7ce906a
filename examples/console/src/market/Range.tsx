interface RangeProps {
  readonly label: string;
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly onChange: (min: number | undefined, max: number | undefined) => void;
}

/** Two fields for the ends of a range. An empty field is no end. */
export function Range({ label, min, max, onChange }: RangeProps) {
  const numberIn = (text: string) => (text === '' || Number.isNaN(Number(text)) ? undefined : Number(text));
  return (
    <fieldset className="range">
      <legend>{label}</legend>
      <input
        key={`min ${min}`}
        type="number"
        aria-label={`${label}, at least`}
        placeholder="min"
        defaultValue={min}
        onBlur={({ target }) => numberIn(target.value) !== min && onChange(numberIn(target.value), max)}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && currentTarget.blur()}
      />
      <input
        key={`max ${max}`}
        type="number"
        aria-label={`${label}, at most`}
        placeholder="max"
        defaultValue={max}
        onBlur={({ target }) => numberIn(target.value) !== max && onChange(min, numberIn(target.value))}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && currentTarget.blur()}
      />
    </fieldset>
  );
}
