import { useEffect, useEffectEvent, useRef, useState } from 'react';

interface SearchBoxProps {
  readonly label: string;
  /** As the gateway names the argument: `Form` marks the field by it. */
  readonly name?: string;
  readonly title?: string;
  /** Left out: the label. */
  readonly placeholder?: string;
  readonly value: string | undefined;
  /** What a text means: another text of the same meaning stays as it was typed. NaN is marked, and not reported. */
  readonly meaning?: (text: string) => unknown;
  /** Called when the user has stopped typing. Undefined: no text. */
  readonly onChange: (text: string | undefined) => void;
}

/** A field that filters while the user types. */
export function SearchBox({ label, name = 'search', value = '', meaning = String, onChange, ...hint }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const meant = meaning(text.trim());
  const isSame = meant === meaning(value);
  /** What was reported and is not the value yet: what was typed meanwhile stays. */
  const reported = useRef(new Set<unknown>()).current;
  const show = useEffectEvent((value: string) => reported.delete(meaning(value)) || isSame || setText(value));
  useEffect(() => void show(value), [value]);
  const report = useEffectEvent((text: string) => {
    if (isSame || Number.isNaN(meant)) return;
    reported.add(meant);
    onChange(text.trim() || undefined);
  });
  useEffect(() => {
    const timer = setTimeout(() => report(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      aria-invalid={Number.isNaN(meant) || undefined}
      name={name}
      aria-label={label}
      placeholder={label}
      {...hint}
      value={text}
      onChange={({ target }) => setText(target.value)}
    />
  );
}
