const code = (character: string) => character.charCodeAt(0);
const [quote, backslash, colon, space] = [code('"'), code('\\'), code(':'), code(' ')] as const;
const [opening, closing, brace] = [code('['), code(']'), code('{')] as const;
const controls = [code('\n'), code('\r'), code('\t')];
const nothing = Buffer.from('null');

interface Found {
  /** Where the `[` stands, and its `]`. */
  readonly from: number;
  readonly to: number;
}

/**
 * The body with every flat array under a member of this name replaced by null, so that numbers nobody asked for are never parsed.
 * Anything else under the name stays as it is. The body must be JSON in UTF-8.
 */
export function cutNumberArrays(body: Buffer, member: string): Buffer {
  const pieces: Buffer[] = [];
  let kept = 0;
  for (const { from, to } of flatArrays(body, member)) {
    pieces.push(body.subarray(kept, from), nothing);
    kept = to + 1;
  }
  return kept === 0 ? body : Buffer.concat([...pieces, body.subarray(kept)]);
}

/**
 * The body with every flat array under a member of this name turned into a string of its text, `[1, 2]` into `"1, 2"`, which is parsed
 * at the speed of copying. Works in place: the body given is the body changed.
 */
export function quoteNumberArrays(body: Buffer, member: string): Buffer {
  for (const { from, to } of flatArrays(body, member)) {
    body[from] = quote;
    body[to] = quote;
    // Between numbers these are white space; inside a string they are not allowed.
    const inside = body.subarray(from + 1, to);
    for (const control of controls) {
      for (let at = inside.indexOf(control); at !== -1; at = inside.indexOf(control, at)) inside[at] = space;
    }
  }
  return body;
}

function* flatArrays(body: Buffer, member: string): Generator<Found> {
  const key = Buffer.from(JSON.stringify(member));
  for (let at = body.indexOf(key); at !== -1; at = body.indexOf(key, at)) {
    const value = valueAfter(body, at, at + key.length);
    at += key.length;
    if (value === undefined || body[value] !== opening) continue;
    const to = body.indexOf(closing, value + 1);
    if (to === -1) return;
    const inside = body.subarray(value + 1, to);
    if (inside.includes(quote) || inside.includes(opening) || inside.includes(brace)) continue;
    yield { from: value, to };
    at = to;
  }
}

/** Where the value of a key begins; undefined where the quotes found are no key: escaped ones, or a value's. */
function valueAfter(body: Buffer, start: number, end: number): number | undefined {
  let slashes = 0;
  while (body[start - 1 - slashes] === backslash) slashes += 1;
  if (slashes % 2 === 1) return undefined;
  const separator = skipSpace(body, end);
  return body[separator] === colon ? skipSpace(body, separator + 1) : undefined;
}

function skipSpace(body: Buffer, from: number): number {
  let at = from;
  while (at < body.length && (body[at] ?? 0) <= space) at += 1;
  return at;
}
