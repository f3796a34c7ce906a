import { type ComponentProps, Fragment, type ReactNode, useEffect, useState } from 'react';
import { formatTime, formatZoned } from './format';

/** A button that does something at once, or with `type` submits its form. */
export const Button = ({ label, ...props }: { label: ReactNode } & ComponentProps<'button'>) => (
  <button type="button" {...props}>
    {label}
  </button>
);

/** The button that submits a form. While the form is being sent, it says so and waits. */
export const Submit = ({ label, busy, sending }: { label: string; busy: string; sending: boolean }) => (
  <Button type="submit" label={sending ? busy : label} className="primary" disabled={sending} />
);

type CopyButtonProps = { done: string; text: () => string } & ComponentProps<typeof Button>;

/** A button that copies a text, and says so. Without TLS, browsers have no clipboard. */
export function CopyButton({ label, done, text, ...props }: CopyButtonProps) {
  const [result, setResult] = useState<string>();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setResult(done);
    } catch {
      setResult('This browser does not copy it');
    }
  };
  return <Button label={result ?? label} onClick={copy} onBlur={() => setResult(undefined)} {...props} />;
}

/** A field with its name above it. */
export const Field = ({ label, ...props }: { label: string } & ComponentProps<'input'>) => (
  <label>
    {label}
    <input {...props} />
  </label>
);

/** A link to a page of others, in a new window. */
export const ExternalLink = ({ label, ...props }: { label: ReactNode } & ComponentProps<'a'>) => (
  <a target="_blank" rel="noreferrer" {...props}>
    {label}
  </a>
);

/** A point in time as the reader's clock shows it. Its zone is in the title. */
export const Time = ({ at }: { at: string | null | undefined }) =>
  at ? (
    <time dateTime={at} title={formatZoned(at)}>
      {formatTime(at)}
    </time>
  ) : (
    '–'
  );

/** The heading of a screen, which is also the title of the browser's tab. */
export function Heading({ children }: { children: string }) {
  useEffect(() => {
    document.title = `${children} · Market intelligence`;
  }, [children]);
  return <h1>{children}</h1>;
}

/** Gray lines where content will be, each as high as a row of a list. */
export const Skeleton = ({ lines = 3 }: { lines?: number }) => (
  <div className="skeleton" role="status" aria-label="Loading">
    {Array.from({ length: lines }).map((_, line) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the lines never change
      <div key={line} />
    ))}
  </div>
);

/** Facts by their names. Those without a value are left out. */
export const Facts = ({ facts }: { facts: Readonly<Record<string, ReactNode>> }) => (
  <dl className="facts">
    {Object.entries(facts).map(([name, value]) =>
      value == null || value === '' ? null : (
        <Fragment key={name}>
          <dt className="muted">{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ),
    )}
  </dl>
);
