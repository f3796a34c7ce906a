import { jest } from '@jest/globals';

/** Takes the timers that end the attempts of exports: a test fires the last one. All other timers keep their time. */
export function takeAttemptTimers() {
  const { setTimeout: start } = globalThis;
  const taken = { set: 0, fire: () => {}, onSet: () => {}, restore: () => mock.mockRestore() };
  const mock = jest.spyOn(globalThis, 'setTimeout');
  mock.mockImplementation(((fire: () => void, milliseconds?: number, ...given: unknown[]) => {
    if (milliseconds !== 15_000) return start(fire, milliseconds, ...(given as []));
    taken.set += 1;
    taken.fire = fire;
    taken.onSet();
    return undefined;
  }) as typeof setTimeout);
  return taken;
}
