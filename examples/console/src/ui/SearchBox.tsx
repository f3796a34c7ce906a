import { useEffect, useEffectEvent, useState } from 'react';

interface SearchBoxProps {
  readonly label: string;
  /** As the gateway names the argument: `Form` marks the field by it. */
  readonly name?: string;
  readonly type?: 'search' | 'number';
  /** Left out: the label. */
  readonly placeholder?: string;
  readonly value: string | undefined;
  /** Called when the user has stopped typing. Undefined: no text. */
  readonly onChange: (text: string | undefined) => void;
}

/** A field that filters while the user types. */
export function SearchBox({
  label,
  placeholder = label,
  name = 'search',
  type = 'search',
  value = '',
  onChange,
}: SearchBoxProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const report = useEffectEvent((text: string) => {
    if (text.trim() !== value) onChange(text.trim() || undefined);
  });
  useEffect(() => {
    const timer = setTimeout(() => report(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type={type}
      step="any"
      name={name}
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onChange={({ target }) => setText(target.value)}
    />
  );
}
