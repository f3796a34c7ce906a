import { useEffect, useEffectEvent, useRef, useState } from 'react';

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

/** Calls `onVisible` when the element with this ref comes near the visible part of the page. */
export function useVisible<E extends Element>(onVisible: () => void) {
  const ref = useRef<E>(null);
  const visible = useEffectEvent(onVisible);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && visible(), { rootMargin: '600px' });
    observer.observe(element);
    return () => observer.disconnect();
  });
  return ref;
}

/** The width of the element with this ref, in pixels. 0 until it is known. */
export function useWidth<E extends Element>() {
  const ref = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}
