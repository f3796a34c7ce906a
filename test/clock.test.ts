import { afterEach, expect, jest, test } from '@jest/globals';
import { followHost, setClock, timeNow } from '../src/lib/clock.js';

afterEach(() => {
  jest.useRealTimers();
  setClock(Date.now(), performance.now());
});

test.each([1, -1])(
  'without Redis, the clock follows a step of the host by %i h that stays, and none that is undone',
  hours => {
    jest.useFakeTimers();
    setClock(Date.now(), performance.now());
    const timer = setInterval(followHost, 10_000);
    const difference = () => Math.abs(timeNow() - Date.now());
    const step = (sign: number) => jest.setSystemTime(Date.now() + sign * hours * 3_600_000);
    step(1);
    jest.advanceTimersByTime(15_000);
    expect(difference()).toBe(3_600_000);
    step(-1);
    jest.advanceTimersByTime(60_000);
    expect(difference()).toBe(0);
    step(1);
    jest.advanceTimersByTime(15_000);
    expect(difference()).toBe(3_600_000);
    jest.advanceTimersByTime(45_000);
    expect(difference()).toBeLessThanOrEqual(1);
    clearInterval(timer);
  },
);
