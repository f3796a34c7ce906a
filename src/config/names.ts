export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a variable. An empty one counts as absent. */
export function valueIn(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value?.trim() === '' ? undefined : value;
}

/** Names with these prefixes belong to the gateway: an unknown one is a mistake. */
const ownPrefixes = /^(UPSTREAM|SESSION|EXPORT|MCP)_/;
/** Names of other programs that are like the gateway's: X11's session manager sets the first on every Linux desktop, and OpenTelemetry knows the others. */
const namesOfOthers = /^(SESSION_MANAGER|OTEL_EXPORTER_OTLP_LOGS_\w+)$/;
/** The share of its letters in which a name may differ from the one that was meant: more where the prefix says that it is the gateway's. */
const similar = { own: 1 / 3, other: 1 / 6 };

/** Faults for variables that look like the gateway's but have no effect. @param known the names of its own. */
export function unknownNames(env: Environment, known: readonly string[]): readonly string[] {
  return Object.keys(env)
    .filter(name => valueIn(env, name) !== undefined && !known.includes(name) && !namesOfOthers.test(name))
    .flatMap(name => {
      const isOwn = ownPrefixes.test(name);
      const meant = closestName(name, known, isOwn ? similar.own : similar.other);
      if (meant !== undefined) return [`${name}: unknown variable (did you mean ${meant}?)`];
      return isOwn ? [`${name}: unknown variable`] : [];
    });
}

/** The known name with the fewest edits between them, at most `share` of the letters of `name`. Undefined where there is none. */
function closestName(name: string, known: readonly string[], share: number): string | undefined {
  const [closest] = known
    .map(other => ({ other, edits: editsBetween(name, other) }))
    .filter(({ edits }) => edits <= name.length * share)
    .sort((one, next) => one.edits - next.edits);
  return closest?.other;
}

/** How many letters must be inserted, deleted, replaced, or swapped with the next one, to make one text of the other (optimal string alignment). */
function editsBetween(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= one.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const swapped = isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY;
      const replaced = at(row - 1, column - 1) + (isSame ? 0 : 1);
      rows[row]?.push(Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, replaced, swapped));
    }
  }
  return at(one.length, other.length);
}
