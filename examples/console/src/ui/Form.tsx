import type { ErrorLike } from '@apollo/client';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { errorsIn } from '../graphql/errors';
import { Problems } from './Problems';

interface FormProps {
  readonly className?: string;
  readonly label?: string;
  /** Of the operation that the fields are for. The field whose `name` is in its `argument` is marked. */
  readonly error?: ErrorLike;
  /** What can be said of another error is that the same can be tried again. */
  readonly retry?: () => void;
  /** Left out: the fields take effect without a submission. */
  readonly onSubmit?: (form: FormData) => unknown;
  readonly children: ReactNode;
}

/** A form that marks what the gateway refuses. Unlike one with an `action`, it keeps what the user has typed, for another attempt. */
export function Form({ className, label, error, retry, onSubmit, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  const [field, setField] = useState<string>();
  useEffect(() => {
    const argument = `.${errorsIn(error).find(({ argument }) => argument)?.argument}.`;
    const [field] = [...(form.current?.querySelectorAll<HTMLInputElement>('input, select, textarea') ?? [])]
      .filter(({ name }) => name && argument.includes(`.${name}.`))
      .sort((a, b) => b.name.length - a.name.length);
    field?.setAttribute('aria-invalid', 'true');
    field?.setAttribute('aria-describedby', id);
    setField(field?.ariaLabel ?? field?.labels?.[0]?.firstChild?.textContent ?? undefined);
    return () => {
      field?.removeAttribute('aria-invalid');
      field?.removeAttribute('aria-describedby');
    };
  }, [error, id]);
  return (
    <form
      ref={form}
      className={className}
      aria-label={label}
      onSubmit={event => {
        event.preventDefault();
        onSubmit?.(new FormData(event.currentTarget));
      }}
    >
      {children}
      <Problems id={id} field={field} error={error} retry={retry} />
    </form>
  );
}
