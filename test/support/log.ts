/** Takes the log of a gateway in this process (`seams.log`). */
export function takeLog() {
  const lines: string[] = [];
  return { lines, write: (line: string) => void lines.push(line) };
}
