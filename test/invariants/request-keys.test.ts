import { expect, test } from '@jest/globals';
import { sessionIdsIn, withoutSessionIds } from '../../src/lib/network.js';
import { fuzz } from '../support/fuzz.js';
import type { Draw } from '../support/seeded.js';

const pieces = [
  'sessionId',
  '%73essionId',
  'sessionId=',
  '=',
  '&',
  '?',
  '%3F',
  '%26',
  '%3D',
  '%',
  '+',
  '#',
  'a',
  'query',
  'sessionid',
  '/',
  ';',
];

const randomAddress = (draw: Draw) =>
  `/graphql${draw.chance(0.9) ? '?' : ''}${Array.from({ length: draw.below(7) }, () => draw.pick(pieces)).join('')}`;

/** Another address that should often have the same key: one with other session ids, or with a part moved. */
function variant(draw: Draw, address: string): string {
  const at = draw.below(address.length + 1);
  const more = draw.pick([
    'sessionId=1',
    '&sessionId=2',
    '?sessionId=3',
    'sessionId=4&',
    '&%73essionId=5',
    draw.pick(pieces),
  ]);
  return address.slice(0, at) + more + address.slice(at);
}

/** What a request asks for besides its session ids, as every part of the gateway would parse it. */
function parsed(address: string): unknown {
  const start = address.indexOf('?');
  const parameters = start === -1 ? [] : [...new URLSearchParams(address.slice(start))];
  return [start === -1 ? address : address.slice(0, start), parameters.filter(([name]) => name !== 'sessionId')];
}

test('equal address keys imply equal parsed requests, and no key holds a session id', async () => {
  let equal = 0;
  const rounds = await fuzz(draw => {
    const one = randomAddress(draw);
    for (let count = 0; count < 50; count += 1) {
      const other = variant(draw, one);
      if (withoutSessionIds(one) === withoutSessionIds(other)) {
        equal += 1;
        expect([one, other, parsed(other)]).toEqual([one, other, parsed(one)]);
      }
      expect(sessionIdsIn(withoutSessionIds(other))).toEqual([]);
    }
  });
  expect(equal).toBeGreaterThan(rounds / 10);
});
