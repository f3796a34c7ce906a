import { useEffect } from 'react';

/** The heading of a screen, which is also the title of the browser's tab. */
export function Heading({ children }: { children: string }) {
  useEffect(() => {
    document.title = `${children} · Market intelligence`;
  }, [children]);
  return <h1>{children}</h1>;
}
