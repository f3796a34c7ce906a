import { describe, expect, test } from '@jest/globals';
import { utcTime } from '../src/data/wire-types.js';
import { readTime } from '../src/lib/time.js';

describe('a time', () => {
  test.each([
    ['2026-01-31T08:30:00.000Z', '2026-01-31T08:30:00.000Z'],
    ['2024-02-29T23:59:59.123456789Z', '2024-02-29T23:59:59.123456789Z'],
    ['2026-01-31', '2026-01-31T00:00:00Z'],
    ['2026-01-31T08:30Z', '2026-01-31T08:30:00Z'],
    ['2026-01-31 08:30:00', '2026-01-31T08:30:00Z'],
    ['2026-01-31T08:30:00+0200', '2026-01-31T08:30:00+02:00'],
    ['2026-01-31T08:30-03:30', '2026-01-31T08:30:00-03:30'],
    ['2026-11-25t10:00:00z', '2026-11-25T10:00:00Z'],
    ['2026-11-25T10:00:00.5z', '2026-11-25T10:00:00.5Z'],
    ['2026-11-25T10:00:00+02', '2026-11-25T10:00:00+02:00'],
    ['2026-11-25T10:00:00+0000', '2026-11-25T10:00:00+00:00'],
    ['2026-11-25T10:00:00-00:00', '2026-11-25T10:00:00-00:00'],
    ['2026-12-31T23:59:60Z', '2026-12-31T23:59:59Z'],
    ['2026-12-31T18:59:60.25-05:00', '2026-12-31T18:59:59.25-05:00'],
    ['2024-02-29T00:00:00+14:00', '2024-02-29T00:00:00+14:00'],
  ])('%s is sent in RFC 3339 as %s', (text, expected) => {
    expect(utcTime.parse(text)).toBe(expected);
    expect(readTime(text)).toBe(expected);
    expect(Date.parse(expected)).not.toBeNaN();
  });

  test('may have a hundred characters', () => {
    const text = `2026-01-31T08:30:00.${'1'.repeat(79)}Z`;
    expect([readTime(text), readTime(text.replace('.', '.1'))]).toEqual([text, undefined]);
  });

  test.each([
    '2026-02-29T08:30:00Z',
    '2026-04-31',
    '2026-01-31T24:00:00Z',
    '2026-01-31T08:60:00Z',
    '',
    'soon',
    '2026-13-01',
    '2026-13-01T08:30:00Z',
    '2026-04-00T08:30:00Z',
    '2026-01-31T08:30:61Z',
    '2026-01-31T08:30:00+24:00',
    '2026-01-31T08:30:00+02:',
    '2026-01-31T08:30:00+02:60',
    '2026-01-31T08:30:00 Z',
    '2026-01-31T08:30:00,5Z',
    '2026-01-31Z',
    '2026-01-31T',
    '2026-01-31T08Z',
    '+002026-01-31T08:30:00Z',
    '2026-01-31T08:30:00.Z',
    '2026-01-31T08:30:00Z\n',
    '٢٠٢٦-01-31T08:30:00Z',
  ])('%j is not sent', text => {
    expect(utcTime.safeParse(text).success).toBe(false);
    expect(readTime(text)).toBeUndefined();
  });

  test('may be on any day of the calendar, and on no other', () => {
    const twoDigits = (number: number) => String(number).padStart(2, '0');
    for (const year of [2023, 2024]) {
      for (let month = 1; month <= 12; month += 1) {
        const days = new Date(year, month, 0).getDate();
        for (let day = 1; day <= 31; day += 1) {
          const text = `${year}-${twoDigits(month)}-${twoDigits(day)}T08:30:00Z`;
          expect([text, utcTime.safeParse(text).success]).toEqual([text, day <= days]);
        }
      }
    }
  });
});
