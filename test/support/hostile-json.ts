import type { Draw } from './seeded.js';

const deep = (levels: number, open: string, close: string) => `${open.repeat(levels)}1${close.repeat(levels)}`;

/** JSON values that no specification foresees, as text. */
const values: readonly ((draw: Draw) => string)[] = [
  () => 'null',
  () => 'true',
  () => '""',
  () => '[]',
  () => '{}',
  () => '-0',
  () => '1e999',
  () => '-1e308',
  () => '12345678901234567890123',
  () => '0.1e-400',
  () => '"\\u0000"',
  () => '"\\ud800"',
  () => '"__proto__"',
  () => '"toString"',
  () => '"2026-13-45T99:99:99Z"',
  () => '"+275760-09-13T00:00:00.001Z"',
  () => '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  () => '{"toString":1,"valueOf":2,"toJSON":3,"then":4,"length":-1}',
  () => '{"domain":{"toString":null}}',
  () => '[{"_id":{}},{"id":[]},null,1,"a",[[]]]',
  draw => deep(draw.pick([10, 60, 100, 6_000, 6_000, 6_000]), '[', ']'),
  draw => deep(draw.pick([10, 60, 100, 6_000, 6_000, 6_000]), '{"data":', '}'),
  draw => `[${'0,'.repeat(draw.pick([10, 2_000, 60_000]))}0]`,
  draw => `{${Array.from({ length: draw.pick([10, 1_000, 60_000]) }, (_, index) => `"m${index}":${index}`).join()}}`,
  draw => `"${'x'.repeat(draw.pick([300, 5_000, 300_000]))}"`,
];

/** A text that may be JSON or not, and has nothing to do with what is expected. */
export function hostileText(draw: Draw): string {
  if (draw.chance(0.5)) return draw.pick(values)(draw);
  return draw.pick(['', ' ', '{', '[1,', 'nul', '\u{1f4a3}', '<html></html>', '}{', '"', '\u0000', 'NaN', "{'a':1}"]);
}

/** JSON in which each value is missing, null or empty with this probability. */
export const sparseJson = (text: string, draw: Draw, probability: number): string =>
  JSON.stringify(JSON.parse(text), (key, value) => {
    if (key === '' || !draw.chance(probability)) return value;
    return draw.chance(0.3) ? undefined : draw.pick([null, {}, []]);
  });

/** JSON of the shape given with some of its values replaced, members doubled or added, or cut off. */
export function hostileJson(text: string, draw: Draw): string {
  if (draw.chance(0.05)) return hostileText(draw);
  if (draw.chance(0.05)) return text.slice(0, draw.below(text.length + 1));
  // A value: what follows a colon, a comma or an opening bracket, up to where it ends if it holds no other.
  let places = [
    ...text.matchAll(/(?<=[[:,])\s*("(?:[^"\\]|\\.)*"(?!\s*:)|-?[\d.eE+-]+|true|false|null|\{\}|\[\]|\{(?="))/g),
  ];
  let changed = text;
  for (let count = 1 + draw.below(3); count > 0 && places.length > 0; count -= 1) {
    const place = places[draw.below(places.length)] as (typeof places)[number];
    // From the end of the text, so that the places before it stay where they are.
    places = places.filter(({ index }) => index < place.index);
    const end = place.index + place[0].length;
    const value = draw.pick(values)(draw);
    const replacement =
      place[1] === '{' ? `{${draw.pick(['"__proto__"', '"_id"', '"data"', '"id"'])}:${value},` : value;
    changed = changed.slice(0, place.index) + replacement + changed.slice(end);
  }
  return changed;
}
