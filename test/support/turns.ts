/** Counts the turns of the event loop until it is stopped. */
export function countTurns() {
  let turns = 0;
  let timer = setImmediate(function turn() {
    turns += 1;
    timer = setImmediate(turn);
  });
  return { count: () => turns, stop: () => clearImmediate(timer) };
}

/** Takes longer than what may begin in one turn. */
export function block(): void {
  for (const end = performance.now() + 12; performance.now() < end; );
}
