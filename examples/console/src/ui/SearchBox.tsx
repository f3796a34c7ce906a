import { useEffect, useEffectEvent, useState } from 'react';

interface SearchBoxProps {
  readonly label: string;
  /** As the gateway names the argument: `Form` marks the field by it. */
  readonly name?: string;
  readonly title?: string;
  /** Left out: the label. */
  readonly placeholder?: string;
  readonly value: string | undefined;
  /** What is not valid is marked, and not reported. */
  readonly isValid?: (text: string) => boolean;
  /** Called when the user has stopped typing. Undefined: no text. */
  readonly onChange: (text: string | undefined) => void;
}

/** A field that filters while the user types. */
export function SearchBox({
  label,
  placeholder = label,
  name = 'search',
  title,
  value = '',
  isValid = () => true,
  onChange,
}: SearchBoxProps) {
  const [text, setText] = useState(value);
  const isInvalid = (text: string) => text !== '' && !isValid(text);
  useEffect(() => setText(value), [value]);
  const report = useEffectEvent((text: string) => {
    const trimmed = text.trim();
    if (trimmed !== value && !isInvalid(trimmed)) onChange(trimmed || undefined);
  });
  useEffect(() => {
    const timer = setTimeout(() => report(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      title={title}
      aria-invalid={isInvalid(text.trim()) || undefined}
      name={name}
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onChange={({ target }) => setText(target.value)}
    />
  );
}
