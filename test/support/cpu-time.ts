const runs = 5;

/** What work takes of the processor, in microseconds: the least of some runs. Other processes do not add to it, but a slow machine does: compare two. */
export function cpuTimeOf(work: () => void): number {
  const times = Array.from({ length: runs }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...times);
}
