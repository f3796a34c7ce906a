// Requests as many clients send them: most are repeated, some are known documents over cached records, some come from new clients.
import { post } from './load.mjs';

/** How the mix is described to people. */
export const mixedTitle =
  '70 % repeated requests of 200 clients, 20 % known documents over cached records, 10 % new clients, 2 % of whom write';

/** @param {string} query @param {string} key @param {number} [number] makes the body unlike all others */
export function request(query, key, number) {
  const extensions = number === undefined ? undefined : { number };
  return post('/graphql', JSON.stringify({ query, extensions }), { 'x-api-key': key });
}

/** @param {number} number @returns {'repeated' | 'known' | 'new' | 'write'} */
export function kindOf(number) {
  const kind = number % 10;
  if (kind < 7) return 'repeated';
  if (kind < 9) return 'known';
  return number % 500 === 499 ? 'write' : 'new';
}

/** Ten fields of the flagship, each included if a variable says so: the same records, and a response that no cache has. */
function knownOf(flagship) {
  let count = 0;
  const selection = flagship.replace(
    /\b(title|summary|lastUpdated|content|sourceService|publishedAt|url)\b/g,
    field => `${field} @include(if: $with${count++})`,
  );
  const names = Array.from({ length: count }, (_, at) => `with${at}`);
  const query = selection.replace(
    /query (\w+)/,
    `query $1Known(${names.map(name => `$${name}: Boolean!`).join(', ')})`,
  );
  /** All of them in the first combination. */
  return combination => ({
    query,
    variables: Object.fromEntries(names.map((name, at) => [name, ((combination >> at) & 1) === 0])),
  });
}

/**
 * The mix, in a server's words.
 * @param {{ flagship: string, write: string }} words @returns {(number: number) => string} never the same `number` twice in a process
 */
export function mixedOf({ flagship, write }) {
  const known = knownOf(flagship);
  const repeated = Array.from({ length: 200 }, (_, client) => request(flagship, `client-${client}`));
  return number => {
    const turn = Math.floor(number / 10);
    switch (kindOf(number)) {
      case 'repeated':
        return repeated[(turn * 7 + (number % 10)) % 200] ?? '';
      case 'known': {
        const index = turn * 2 + ((number + 1) % 2);
        const body = JSON.stringify(known(Math.floor(index / 200)));
        return post('/graphql', body, { 'x-api-key': `client-${index % 200}` });
      }
      case 'new':
        return request(flagship, `new-${number}`);
      default:
        return request(write, `new-${number}`);
    }
  };
}
