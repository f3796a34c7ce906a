import { Kind, parse } from 'graphql';

/** The name under which an operation is counted; there is a bound on how many there are. */
export type OperationNames = (name: string | undefined) => string;

/** Where no documents are trusted, clients choose the names. */
const mostNames = 100;
const longestName = 60;

/**
 * Operations of trusted documents count under their names, and where there are none the first hundred that pass validation; all others
 * count as `other`.
 */
export function createOperationNames(trusted: ReadonlyMap<string, string>): OperationNames {
  const known = new Set([...trusted.values()].flatMap(namesIn));
  const isFixed = known.size > 0;
  return name => {
    if (name === undefined) return 'unnamed';
    if (known.has(name)) return name;
    if (isFixed || known.size >= mostNames || name.length > longestName) return 'other';
    known.add(name);
    return name;
  };
}

/** A document that cannot be read has none; it is refused when it is asked for. */
function namesIn(text: string): string[] {
  try {
    return parse(text).definitions.flatMap(definition =>
      definition.kind === Kind.OPERATION_DEFINITION && definition.name ? [definition.name.value] : [],
    );
  } catch {
    return [];
  }
}
