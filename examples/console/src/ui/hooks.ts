import { useEffect, useState, useSyncExternalStore } from 'react';

/** The time now, renewed every second as long as it is `running`, for ages and remaining times. */
export function useNow(running: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}

/** The last value that there was, so that a page keeps what it shows while the next is being read, and if that fails. */
export function useLast<T>(value: T | null | undefined): T | undefined {
  const [last, setLast] = useState(value ?? undefined);
  if (value != null && value !== last) setLast(value);
  return value ?? last;
}

function onStorage(listener: () => void) {
  addEventListener('storage', listener);
  return () => removeEventListener('storage', listener);
}

/** A state that outlives a reload of the tab, or with `localStorage` the tab, and is the same in all tabs. Undefined if there is none. */
export function useStored<T>(key: string, storage = sessionStorage): [T | undefined, (value: T | undefined) => void] {
  const stored = useSyncExternalStore(onStorage, () => storage.getItem(key));
  const store = (value: T | undefined) => {
    if (value === undefined) storage.removeItem(key);
    else storage.setItem(key, JSON.stringify(value));
    // The browser tells only the other tabs.
    dispatchEvent(new Event('storage'));
  };
  return [JSON.parse(stored ?? 'null') ?? undefined, store];
}

/** A `ref` that calls `onVisible` when its element comes near the visible part of the page. */
export const whenVisible = (onVisible: () => void) => (element: Element | null) => {
  if (!element) return;
  const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && onVisible(), { rootMargin: '600px' });
  observer.observe(element);
  return () => observer.disconnect();
};
