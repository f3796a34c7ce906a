import { describe, expect, test } from '@jest/globals';
import { utcTime } from '../src/data/wire-types.js';

describe('a time', () => {
  test.each([
    ['2026-01-31T08:30:00.000Z', '2026-01-31T08:30:00.000Z'],
    ['2024-02-29T23:59:59.123456789Z', '2024-02-29T23:59:59.123456789Z'],
    ['2026-01-31', '2026-01-31T00:00:00Z'],
    ['2026-01-31T08:30Z', '2026-01-31T08:30:00Z'],
    ['2026-01-31 08:30:00', '2026-01-31T08:30:00Z'],
    ['2026-01-31T08:30:00+0200', '2026-01-31T08:30:00+02:00'],
    ['2026-01-31T08:30-03:30', '2026-01-31T08:30:00-03:30'],
  ])('%s is sent in RFC 3339 as %s', (text, expected) => {
    expect(utcTime.parse(text)).toBe(expected);
  });

  test.each([
    '2026-02-29T08:30:00Z',
    '2026-04-31',
    '2026-01-31T24:00:00Z',
    '2026-01-31T08:60:00Z',
    '',
    'soon',
    '2026-13-01',
  ])('%j is not sent', text => {
    expect(utcTime.safeParse(text).success).toBe(false);
  });
});
