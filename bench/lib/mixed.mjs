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

/**
 * The mix, in a server's words.
 * @param {{ flagship: string, write: string }} words @returns {(number: number) => string} never the same `number` twice in a process
 */
export function mixedOf({ flagship, write }) {
  const repeated = Array.from({ length: 200 }, (_, client) => request(flagship, `client-${client}`));
  return number => {
    const turn = Math.floor(number / 10);
    switch (kindOf(number)) {
      case 'repeated':
        return repeated[(turn * 7 + (number % 10)) % 200] ?? '';
      case 'known':
        return request(flagship, `client-${(turn * 2 + (number % 2)) % 200}`, number);
      case 'new':
        return request(flagship, `new-${number}`);
      default:
        return request(write, `new-${number}`);
    }
  };
}
