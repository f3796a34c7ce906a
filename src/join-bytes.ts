/** Parts as one; without a copy where there is but one. */
export function joinBytes(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}
