import { describe, expect, test } from '@jest/globals';
import { type Event, updatedAt } from '../src/domains/events/model.js';
import { follow, type ReadBetween, type Tail } from '../src/domains/events/tail.js';
import { maxPageSize } from '../src/graphql/input.js';

type Compare = (one: Event, other: Event) => number;

const byTime: Compare = (one, other) => ((one.lastUpdated ?? '') < (other.lastUpdated ?? '') ? -1 : 1);
/** An order that has nothing to do with times. */
const byLastDigit: Compare = (one, other) => (lastDigit(one) < lastDigit(other) ? -1 : 1);
const lastDigit = ({ id }: Event) => `${id.at(-1)} ${id}`;

/** The event list as the service shows it, in pages. An event without rows is counted, but not listed. */
function listIn(order: Compare, rowsOf = (_: Event) => 1) {
  const events = new Map<string, Event>();
  /** In the order of the list, once it is read after a change. */
  let listed: Event[] | undefined;
  const asked: { page: number; from: number; to: number }[] = [];
  return {
    asked,
    set(id: string, lastUpdated: string) {
      events.set(id, { id, lastUpdated } as Event);
      listed = undefined;
    },
    remove(id: string) {
      events.delete(id);
      listed = undefined;
    },
    read: (async (page, from, to) => {
      asked.push({ page, from, to });
      listed ??= [...events.values()].sort(order);
      const found = listed.filter(event => updatedAt(event) >= from && updatedAt(event) <= to);
      const rows = found.flatMap(event => Array<Event>(rowsOf(event)).fill(event));
      return {
        events: rows.slice((page - 1) * maxPageSize, page * maxPageSize),
        totalItems: Math.max(rows.length, found.length),
      };
    }) as ReadBetween,
  };
}

const at = (text: string) => Date.parse(text);
const told = ({ updates }: Tail) => updates.map(({ event }) => `${event.id} ${event.lastUpdated}`);
const newIn = (tail: Tail, before: Tail) => told(tail).filter(update => !told(before).includes(update));

describe.each<[string, Compare]>([
  ['newest first', (one, other) => byTime(other, one)],
  ['oldest first', byTime],
  ['in no order', byLastDigit],
])('when the service lists events %s', (_, order) => {
  const list = () => listIn(order);

  test('sends nothing again because a time is written in another way', async () => {
    const service = list();
    service.set('a', '2026-03-10T09:59:00.000Z');
    let tail = await follow(service.read, undefined, at('2026-03-10T10:00:00Z'));
    for (const time of ['09:59:00+00:00', '10:59:00.0+01:00', '09:59:00Z', '09:59:00.000Z', '09:59:00.000000Z']) {
      service.set('a', `2026-03-10T${time}`);
      tail = await follow(service.read, tail, at('2026-03-10T10:00:30Z'));
      expect(told(tail)).toEqual([]);
    }
    service.set('a', '2026-03-10T09:59:00.0001Z');
    tail = await follow(service.read, tail, at('2026-03-10T10:00:30Z'));
    expect(told(tail)).toEqual(['a 2026-03-10T09:59:00.0001Z']);
  });

  test('has no gap at midnight UTC, nor after days without updates', async () => {
    const service = list();
    let tail = await follow(service.read, undefined, at('2026-03-10T23:59:50Z'));
    service.set('a', '2026-03-10T23:59:55.000Z');
    service.set('b', '2026-03-11T00:00:01.000Z');
    let next = await follow(service.read, tail, at('2026-03-11T00:00:20Z'));
    expect(newIn(next, tail)).toEqual(['a 2026-03-10T23:59:55.000Z', 'b 2026-03-11T00:00:01.000Z']);
    tail = next;
    service.set('c', '2026-03-11T00:00:30.000Z');
    next = await follow(service.read, tail, at('2026-03-15T12:00:00Z'));
    expect(newIn(next, tail)).toEqual(['c 2026-03-11T00:00:30.000Z']);
    for (const { from, to } of service.asked) expect([from, to]).toEqual([expect.any(Number), expect.any(Number)]);
    // A service whose clock is ahead may already live in the next day.
    expect(service.asked[1]?.to).toBe(at('2026-03-12T23:59:59.999Z'));
  });

  test('loses nothing if a record leaves the list between two pages', async () => {
    const service = list();
    service.set('old', '2026-03-10T08:00:00.000Z');
    let tail = await follow(service.read, undefined, at('2026-03-10T08:00:01Z'));
    for (let index = 0; index < 150; index += 1) {
      service.set(`e${index}`, new Date(at('2026-03-10T09:00:00Z') + index * 20_000).toISOString());
    }
    let onFirstPage = '';
    const slipping: ReadBetween = async (page, from, to) => {
      // The first event of the second page slips onto the first page after that was read.
      if (page === 2) service.remove(onFirstPage);
      const read = await service.read(page, from, to);
      if (page === 1) onFirstPage = (read.events[0] as Event | undefined)?.id ?? '';
      return read;
    };
    const ids: string[] = [];
    for (const read of [slipping, service.read]) {
      const next = await follow(read, tail, at('2026-03-10T10:00:00Z'));
      ids.push(...newIn(next, tail).map(update => update.split(' ')[0] ?? ''));
      tail = next;
    }
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(Array.from({ length: 150 }, (_, index) => `e${index}`).toSorted());
  });

  test('knows an event that is updated all the time, however many others are new', async () => {
    const service = list();
    const start = at('2026-03-10T10:00:00Z');
    let tail = await follow(service.read, undefined, start);
    for (let poll = 1; poll <= 11; poll += 1) {
      const now = start + poll * 30_000;
      service.set('x', new Date(now).toISOString());
      for (let index = 0; index < 100; index += 1) service.set(`${poll} ${index}`, new Date(now).toISOString());
      tail = await follow(service.read, tail, now);
    }
    expect(tail.known.length).toBe(1_000);
    expect(new Map(tail.known).get('x')).toBe(start + 30_000);
  });

  test('begins at the newest update of a long list in few calls', async () => {
    const service = list();
    const newest = at('2026-03-10T09:59:00Z');
    for (let index = 0; index < 2_000; index += 1)
      service.set(`e${index}`, new Date(newest - index * 60_000).toISOString());
    const tail = await follow(service.read, undefined, at('2026-03-10T10:00:00Z'));
    expect(service.asked.length).toBeLessThan(15);
    expect(tail.from).toBe(newest - 5 * 60_000);
    service.set('e7', '2026-03-10T10:00:10.000Z');
    service.set('new', '2026-03-10T09:58:30.000Z');
    expect(told(await follow(service.read, tail, at('2026-03-10T10:00:30Z')))).toEqual([
      'new 2026-03-10T09:58:30.000Z',
      'e7 2026-03-10T10:00:10.000Z',
    ]);
  });

  test.each([3_000, 20_000])('begins in at most 36 calls if %d events were updated in the last minute', async count => {
    const service = list();
    const start = at('2026-03-10T09:59:00Z');
    for (let index = 0; index < count; index += 1)
      service.set(`e${index}`, new Date(start + (index * 59_000) / count).toISOString());
    const tail = await follow(service.read, undefined, at('2026-03-10T10:00:00Z'));
    expect(service.asked.length).toBeLessThanOrEqual(36);
    service.set('new', '2026-03-10T10:00:10.000Z');
    const next = await follow(service.read, tail, at('2026-03-10T10:00:30Z'));
    expect(told(next)).toEqual(['new 2026-03-10T10:00:10.000Z']);
  });

  test.each([1, 12, 30, 47, 47.99])(
    'begins in at most 36 calls if 2,000 events were updated %d hours ago',
    async hours => {
      const service = list();
      const now = at('2026-03-10T23:59:59Z');
      const start = now - hours * 3_600_000;
      for (let index = 0; index < 2_000; index += 1)
        service.set(`e${index}`, new Date(start + index / 4).toISOString());
      for (let index = 0; index < 1_000; index += 1)
        service.set(`late${index}`, new Date(start + 1_500 + (index * (now - start - 1_500)) / 5e5).toISOString());
      const { updates, sent } = await follow(service.read, undefined, now);
      expect([updates, sent]).toEqual([[], 0]);
      expect(service.asked.length).toBeLessThanOrEqual(36);
    },
  );

  test.each([
    ['', 1],
    [', and has some events twice', 2],
  ])('goes on while the list grows each time that it is read%s', async (_, rows) => {
    const service = listIn(order, ({ id }) => (id.endsWith('7') ? rows : 1));
    const start = at('2026-03-10T10:00:00Z');
    for (let index = 0; index < 50; index += 1) service.set(`old${index}`, new Date(start + index).toISOString());
    let now = start + 60_000;
    let tail = await follow(service.read, undefined, now);
    let added = 0;
    let left = 0;
    const growing: ReadBetween = async (...range) => {
      for (let times = 0; times < 5 && left > 0; times += 1) {
        left -= 1;
        added += 1;
        now += 100;
        service.set(`e${added}`, new Date(now).toISOString());
      }
      return service.read(...range);
    };
    const found: string[] = [];
    for (let poll = 0; poll < 40; poll += 1) {
      now += 20_000;
      left = 30;
      const before = service.asked.length;
      const next = await follow(growing, tail, now);
      expect(service.asked.length - before).toBeLessThan(25);
      found.push(...newIn(next, tail).map(update => update.split(' ')[0] ?? ''));
      tail = next;
    }
    expect(tail.from).toBeGreaterThan(now - 6 * 60_000);
    now += 20_000;
    found.push(...newIn(await follow(service.read, tail, now), tail).map(update => update.split(' ')[0] ?? ''));
    expect(found.toSorted()).toEqual(Array.from({ length: added }, (_, index) => `e${index + 1}`).toSorted());
  });

  test.each([
    ['two rows of an event', 2],
    ['no row of an event that it counts', 0],
  ])('goes on where the list has %s', async (_, rows) => {
    const service = listIn(order, ({ id }) => (id === 'odd' ? rows : 1));
    let now = at('2026-03-10T10:00:00Z');
    let tail = await follow(service.read, undefined, now);
    service.set('odd', '2026-03-10T10:00:30.500Z');
    const found: string[] = [];
    for (let poll = 0; poll < 60; poll += 1) {
      now += 30_000;
      service.set(`e${poll}`, new Date(now).toISOString());
      const before = service.asked.length;
      const next = await follow(service.read, tail, now);
      expect(service.asked.length - before).toBeLessThanOrEqual(2);
      found.push(...newIn(next, tail).map(update => update.split(' ')[0] ?? ''));
      tail = next;
    }
    expect(tail.from).toBe(now - 5 * 60_000);
    expect(found.filter(id => id !== 'odd')).toEqual(Array.from({ length: 60 }, (_, index) => `e${index}`));
  });
});
