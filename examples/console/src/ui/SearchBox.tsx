import { useEffect, useEffectEvent, useState } from 'react';

interface SearchBoxProps {
  readonly label: string;
  readonly value: string | undefined;
  /** Called when the user has stopped typing. Undefined: no text. */
  readonly onChange: (text: string | undefined) => void;
}

export function SearchBox({ label, value = '', onChange }: SearchBoxProps) {
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
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={({ target }) => setText(target.value)}
    />
  );
}
