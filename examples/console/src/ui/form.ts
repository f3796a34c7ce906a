import type { FormEvent } from 'react';

/** Handles the submission of a form. Unlike `action`, it keeps what the user has typed, for another attempt. */
export function onSubmit(handle: (form: FormData) => unknown) {
  return (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    handle(new FormData(event.currentTarget));
  };
}
