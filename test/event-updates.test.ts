// `eventUpdates` through a fleet: what a listener hears, wherever it connects again.
import { getEventListeners } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { AcceptedScopes } from '../src/auth/accepted-scopes.js';
import type { Credential, Scope } from '../src/auth/credentials.js';
import { Secret } from '../src/config/values.js';
import { known } from '../src/data/parsing.js';
import type { Watched } from '../src/data/polling/poller.js';
import { createFeedLimits, eventUpdates } from '../src/domains/events/feed.js';
import { type Event, updatedAt } from '../src/domains/events/model.js';
import { follow, type ReadBetween, type Tail } from '../src/domains/events/tail.js';
import {
  type EventUpdate,
  type FleetTail,
  Follower,
  missedSince,
  updatesAfter,
} from '../src/domains/events/updates.js';
import { cursorAt, cursorBehind, positionIn, updatesListId } from '../src/domains/events/updates-cursor.js';
import { BadUserInput, Forbidden, RateLimited, UpstreamUnavailable } from '../src/errors.js';
import { maxPageSize } from '../src/graphql/input.js';
import { MemoryBudget } from '../src/lib/memory-budget.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { forTest } from './support/cleanups.js';
import { collectGarbage } from './support/collect-garbage.js';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { counted } from './support/metrics.js';
import { startNetwork } from './support/network.mjs';
import { type RedisServer, startRedis } from './support/redis.js';
import { listenResuming, transports as resuming } from './support/resuming-listener.mjs';
import { type Heard, overSse, overWebsocket } from './support/streams.js';
import { until, untilLater } from './support/until.js';
import { eventPage, fakeWire, pageOf } from './support/wire.js';

/** A test subscribes with a filter of its own: the state of another test's poller may be older than the events of that test. */
const queryFor = (name: string) => `subscription Updates($after: String) {
  eventUpdates(after: $after, filter: { impactedEntities: ["Hot-Rolled Steel", "${name}"] }) { kind cursor gap event { id title } }
}`;
const env = { POLL_INTERVAL_MS: '200', SESSION_SECRET: 's'.repeat(32) };

let sandbox: Sandbox;
let redis: RedisServer;
let gateways: TestGateway[] = [];
let query: string;
let queries = 0;
const open: Heard[] = [];

beforeAll(async () => {
  sandbox = await startSandbox();
  redis = await startRedis();
  gateways = await Promise.all([start(), start()]);
});
afterAll(async () => {
  await Promise.all(gateways.map(gateway => gateway.close()));
  await redis.stop();
  await sandbox.close();
});
beforeEach(() => {
  queries += 1;
  query = queryFor(`Test ${queries}`);
});
afterEach(() => {
  for (const { stop } of open.splice(0)) stop();
});

const start = () => startGateway({ sandbox, redisUrl: redis.url, env });
const transports = { 'a WebSocket': overWebsocket, 'Server-Sent Events': overSse };

function listen(through: typeof overSse, gateway: TestGateway | undefined, after?: string): Heard {
  const heard = through(gateway?.url ?? '', { query, variables: { after } });
  open.push(heard);
  return heard;
}

const updatesIn = ({ results }: Heard) => results.map(({ data }) => data.eventUpdates);
const titlesIn = (heard: Heard) => updatesIn(heard).flatMap(({ event }) => event?.title ?? []);
const lastCursor = (heard: Heard) => updatesIn(heard).at(-1)?.cursor;

describe.each(Object.entries(transports))('Over %s', (_, through) => {
  test('a client that joins equal subscriptions gets a cursor at once', async () => {
    const first = listen(through, gateways[0]);
    await until(() => first.results.length === 1);
    sandbox.publishEvent({ title: 'Before' });
    await until(() => titlesIn(first).length === 1);
    const second = listen(through, gateways[0]);
    await until(() => second.results.length === 1);
    expect(updatesIn(second)).toEqual([{ kind: null, event: null, gap: false, cursor: lastCursor(first) }]);
    sandbox.publishEvent({ title: 'After' });
    await until(() => titlesIn(second).length === 1 && titlesIn(first).length === 2);
    expect(updatesIn(second).at(-1)).toEqual(updatesIn(first).at(-1));
  });

  test('a cursor that the gateway did not issue for this filter is an error', async () => {
    const first = listen(through, gateways[0]);
    await until(() => first.results.length === 1);
    const other = queryFor('Other');
    for (const [document, after] of [
      [query, ''],
      [query, 'nonsense'],
      [query, `${lastCursor(first)}A`],
      [other, lastCursor(first)],
    ]) {
      const { results, ended } = through(gateways[0]?.url ?? '', { query: document ?? '', variables: { after } });
      const error = await ended;
      const [found] = error?.[0] !== undefined ? error : results[0].errors;
      expect(found.extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'after' });
    }
  });
});

// `npm run faults:streams` does the same with processes, a balancer and hundreds of listeners, for minutes.
test('listeners on every transport whose connections are cut get every update exactly once', async () => {
  let turn = 0;
  const network = await startNetwork(() => {
    turn += 1;
    return Number(new URL(gateways[turn % gateways.length]?.url ?? '').port);
  });
  const key = demoHeaders['x-api-key'];
  const all = Array.from({ length: 12 }, (_, index) =>
    listenResuming(network.url, resuming[index % resuming.length] ?? 'sse', key),
  );
  try {
    await until(() => all.every(({ hasCursor }) => hasCursor));
    const titles: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      const before = all.map(({ connections }) => connections);
      for (let number = 0; number < 3; number += 1) {
        const { title } = sandbox.publishEvent({ title: `${round}.${number}` });
        titles.push(title);
      }
      if (round === 4) await redis.restart();
      if (round === 8) {
        const [first] = gateways.splice(0, 1);
        await first?.close();
        gateways.push(await start());
      }
      const isCut = network.cut(0.5) > 0;
      await until(() => !isCut || all.some(({ connections }, index) => connections > (before[index] ?? 0)));
    }
    await until(() => all.every(listener => titles.every(title => listener.titles.has(title))));
    for (const listener of all) {
      expect([...listener.titles].filter(([, count]) => count !== 1)).toEqual([]);
      expect(listener.gaps).toBe(0);
    }
  } finally {
    for (const { stop } of all) stop();
    await network.close();
  }
});

test('an EventSource resumes behind its last id, which outranks the argument', async () => {
  const read = async (after: string | undefined, lastEventId: Readonly<Record<string, string>>, count: number) => {
    const { 'last-event-id': header, ...parameter } = lastEventId;
    const stopping = new AbortController();
    const params = new URLSearchParams({ query, variables: JSON.stringify({ after }), ...parameter });
    const response = await fetch(`${gateways[0]?.url}/graphql/stream?${params}`, {
      headers: { ...demoHeaders, accept: 'text/event-stream', ...(header && { 'last-event-id': header }) },
      signal: stopping.signal,
    });
    let text = '';
    const decoder = new TextDecoder();
    const events = () => [...text.matchAll(/^id: (.*)\nevent: next\ndata: (.*)\n\n/gm)];
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (events().length >= count) break;
    }
    stopping.abort();
    return events().map(([, id = '', data = '']) => ({ id, ...JSON.parse(data).data.eventUpdates }));
  };
  const [first] = await read(undefined, {}, 1);
  expect(first).toMatchObject({ id: first.cursor, event: null });
  sandbox.publishEvent({ title: 'A' });
  await untilLater();
  sandbox.publishEvent({ title: 'B' });
  const missed = await read(first.cursor, {}, 2);
  expect(missed.map(({ event }) => event.title)).toEqual(['A', 'B']);
  for (const { id, cursor } of missed) expect(id).toBe(cursor);
  // In place of the header, a polyfill sends a parameter.
  for (const name of ['last-event-id', 'lastEventId']) {
    const [rest] = await read(first.cursor, { [name]: missed[0]?.id ?? '' }, 1);
    expect(rest.event.title).toBe('B');
  }
});

describe('the cursor of a list', () => {
  test.each(['newest', 'oldest', 'id'] as const)(
    'is where updates begin, whatever page is read, of a list that is sorted by %s',
    async eventOrder => {
      sandbox.vary({ eventOrder });
      for (const title of ['Listed', 'Listed too']) sandbox.publishEvent({ title });
      const [name] = /Test \d+/.exec(query) ?? [];
      const list = `query ($after: String) { events(first: 1, after: $after,
        filter: { from: "${new Date().toISOString().slice(0, 10)}", impactedEntities: ["Hot-Rolled Steel", "${name}"] }) {
        updatesCursor pageInfo { endCursor } } }`;
      const first = (await gateways[0]?.query(list))?.data.events;
      const second = (await gateways[1]?.query(list, { after: first.pageInfo.endCursor }))?.data.events;
      for (const { updatesCursor } of [first, second]) {
        const heard = listen(overSse, gateways[1], updatesCursor);
        const title = `Behind ${updatesCursor.slice(0, 20)} ${eventOrder} ${open.length}`;
        sandbox.publishEvent({ title });
        await until(() => titlesIn(heard).includes(title));
        expect(titlesIn(heard)[0]).toMatch(/^Behind/);
        heard.stop();
      }
      sandbox.vary({ eventOrder: 'newest' });
    },
  );

  test('of a company goes on with its events', async () => {
    const { data } = (await gateways[0]?.query(
      '{ market(id: 1) { companies(first: 2) { nodes { name events { updatesCursor } } } } }',
    )) ?? { data: undefined };
    const [{ name, events }, other] = data.market.companies.nodes;
    const document = `subscription ($after: String, $name: String!) {
      eventUpdates(after: $after, filter: { impactedEntities: [$name] }) { gap event { title } } }`;
    const heard = overSse(gateways[1]?.url ?? '', {
      query: document,
      variables: { after: events.updatesCursor, name },
    });
    open.push(heard);
    for (const [title, impacted] of [
      ['Of another', other.name],
      ['Of the company', name],
    ]) {
      const impact = { likelihood: 3, severity: 3, rationale: '' };
      sandbox.publishEvent({
        title,
        taxonomicMatches: { impactedEntities: [{ name: impacted, entityType: 'company', mappedFrom: '', impact }] },
      });
    }
    await until(() => titlesIn(heard).length > 0);
    expect(updatesIn(heard)).toEqual([{ gap: false, event: { title: 'Of the company' } }]);
  });

  test('says that there is a gap after too many updates', async () => {
    const { data } = (await gateways[0]?.query('{ events(first: 1) { updatesCursor } }')) ?? { data: undefined };
    for (let index = 0; index <= 2_000; index += 1) sandbox.publishEvent({ title: `Too many ${index}` });
    const heard = overSse(gateways[1]?.url ?? '', {
      query: 'subscription ($after: String) { eventUpdates(after: $after) { gap event { id } } }',
      variables: { after: data.events.updatesCursor },
    });
    open.push(heard);
    await until(() => heard.results.length > 0);
    expect(updatesIn(heard)[0]).toEqual({ gap: true, event: null });
  });
});

test('the cursor of a list is one of a gap where too many events are ahead, because the clock of the service was put right', async () => {
  let aheadMs = 2 * 60 * 60_000;
  const service = await startSandbox({ now: () => new Date(Date.now() + aheadMs) });
  const gateway = await startGateway({ sandbox: service, env });
  for (let index = 0; index < 500; index += 1) service.publishEvent({ title: `Ahead ${index}` });
  aheadMs = 0;
  const { data } = await gateway.query('{ events(first: 1) { updatesCursor } }');
  service.publishEvent({ title: 'Normal' });
  const heard = overSse(gateway.url, {
    query: 'subscription ($after: String) { eventUpdates(after: $after) { gap event { title } } }',
    variables: { after: data.events.updatesCursor },
  });
  open.push(heard);
  await until(() => heard.results.length > 0);
  expect(updatesIn(heard)).toEqual([{ gap: true, event: null }]);
  await gateway.close();
  await service.close();
});

const at = (text: string) => Date.parse(text);

const credential: Credential = { kind: 'apiKey', secret: new Secret('key') };

describe('the updates after a position', () => {
  const list = updatesListId(credential, 'filter');
  const base = Date.now() - 60 * 60_000;
  const stamp = (seconds: number) => new Date(base + seconds * 1_000).toISOString();

  /** The list of the service, and the messages of a subscription that is given each tail by hand. */
  function world() {
    const events = new Map<string, Event>();
    let fault: Error | undefined;
    let repeated: string | undefined;
    let reads = 0;
    let beforePage = (_page: number) => {};
    const read: ReadBetween = async (page, from, to, pageSize = 100) => {
      reads += 1;
      beforePage(page);
      if (fault !== undefined) throw fault;
      const inRange = [...events.values()].filter(({ lastUpdated }) => {
        const time = at(known(lastUpdated) ?? '');
        return time >= from && time <= to;
      });
      const found = inRange.flatMap(event => (event.id === repeated ? [event, event] : [event]));
      return { events: found.slice((page - 1) * pageSize, page * pageSize), totalItems: found.length };
    };
    return {
      read,
      reads: () => reads,
      /** What was set last is at the end of the list. */
      set(id: string, seconds: number) {
        events.delete(id);
        events.set(id, { id, lastUpdated: stamp(seconds) } as Event);
      },
      /** Changes the list before each page of it is read. */
      change: (before: (page: number) => void) => {
        beforePage = before;
      },
      fail: (error: Error | undefined) => {
        fault = error;
      },
      /** Lists an event on two rows. */
      repeat: (id: string) => {
        repeated = id;
      },
      tail: async (last: FleetTail | undefined, seconds: number, chain = 'one'): Promise<FleetTail> => ({
        ...(await follow(read, last, base + seconds * 1_000)),
        chain,
      }),
      /**
       * @param isLeaving whether the client leaves with the first message.
       * @param maxHeld how many events it may have read in its memory.
       */
      async messages(
        after: string | undefined,
        tails: readonly FleetTail[],
        isLeaving = false,
        maxHeld = Number.POSITIVE_INFINITY,
      ): Promise<EventUpdate[]> {
        const position = after === undefined ? undefined : positionIn(after, list);
        const states = (async function* () {
          for (const state of tails) yield { state };
        })();
        const found: EventUpdate[] = [];
        const leaving = new AbortController();
        const { signal } = leaving;
        let held = 0;
        const counted: ReadBetween = async (...range) => {
          const page = await read(...range);
          held += page.events.length;
          if (held > maxHeld) throw new RateLimited('This client holds too much memory');
          return page;
        };
        const forget = () => {
          held = 0;
        };
        const begin = async () => ({ read: counted, forget, end() {} });
        for await (const update of updatesAfter(position, states, list, signal, begin)) {
          found.push(update);
          if (isLeaving) leaving.abort();
        }
        return found;
      },
    };
  }
  /** How a gateway polls a list, with a state that it may have from another, and which states its listeners learn nothing from. */
  async function polled(read: ReadBetween) {
    const all: Watched<FleetTail>[] = [];
    const deps = {
      ...createFeedLimits(new MemoryBudget(), new AcceptedScopes()),
      events: { filterOf: () => 'filter', between: () => read },
      cache: { generations: { renew: async () => {} } },
      polling: { watch: async (_: Scope, __: string, watched: Watched<FleetTail>) => void all.push(watched) },
    };
    const { signal } = new AbortController();
    await eventUpdates({}, false, undefined)(deps as never, { credential, cancellation: { signal } } as never);
    const { ask, same } = all[0] as Watched<FleetTail>;
    return { ask: (before: FleetTail | undefined) => ask(before, signal), same };
  }
  const idsIn = (updates: readonly EventUpdate[]) => updates.flatMap(({ event }) => event?.id ?? []);

  test('are not read again where each tail of a gateway continues the one before', async () => {
    const service = world();
    const { ask } = await polled(service.read);
    const tails = [await ask(undefined)];
    for (const [seconds, id] of ['a', 'b', 'c'].entries()) {
      service.set(id, seconds);
      tails.push(await ask(tails.at(-1)));
    }
    const before = service.reads();
    expect(idsIn(await service.messages(undefined, tails))).toEqual(['a', 'b', 'c']);
    expect(service.reads()).toBe(before);
  });

  test('are announced if the first tail of another chain already has them', async () => {
    const service = world();
    const { ask, same } = await polled(service.read);
    const first = await ask(undefined);
    expect(same(first, await ask(first))).toBe(true);
    service.set('a', 0);
    const other = await (await polled(service.read)).ask(undefined);
    expect(other.updates).toEqual([]);
    expect(same(first, other)).toBe(false);
  });

  test('are each sent once to a client that is cut again and again, even if more have the same time than a cursor names', async () => {
    const service = world();
    service.set('old', 0);
    const first = await service.tail(undefined, 1);
    for (let index = 0; index < 700; index += 1) service.set(`e${index}`, index < 600 ? 2 : 3);
    const tail = await service.tail(first, 30, 'other');
    let [{ cursor } = { cursor: '' }] = await service.messages(undefined, [first]);
    const found: string[] = [];
    for (;;) {
      const cut = (await service.messages(cursor, [tail])).slice(0, 60);
      if (cut.length === 0) break;
      found.push(...idsIn(cut));
      cursor = cut.at(-1)?.cursor ?? '';
      expect(found.length).toBeLessThanOrEqual(700);
    }
    expect(new Set(found).size).toBe(700);
  });

  test('are all read from a list that is sorted by age, and changes each time that it is read', async () => {
    const service = world();
    const first = await service.tail(undefined, 0);
    const [start] = await service.messages(undefined, [first]);
    const ids = Array.from({ length: 250 }, (_, index) => `e${index}`);
    for (const [index, id] of ids.entries()) service.set(id, 10 * index);
    const second = await service.tail(first, 2_500, 'other');
    let changes = 0;
    service.change(page => {
      if (page !== 2 || changes === 3) return;
      service.set(`e${changes}`, 2_501 + changes);
      changes += 1;
    });
    // No list is counted with the one that was read before.
    const messages = await service.messages(start?.cursor, [second], false, 375);
    const third = await service.tail(second, 2_510, 'other');
    messages.push(...(await service.messages(messages.at(-1)?.cursor, [third])));
    expect(new Set(idsIn(messages))).toEqual(new Set(ids));
  });

  test('have cursors that name a tail again once it knows what the list had before it', async () => {
    const service = world();
    const chain = 'aaaaaaaaaaaa';
    const first = await service.tail(undefined, 1, chain);
    service.set('a', 2);
    const shown = [{ id: 'a', lastUpdated: stamp(2) } as Event];
    const cursor = cursorBehind({ from: base, seen: [] }, shown, list);
    const second = await service.tail(first, 3, chain);
    service.set('b', 4);
    const third = await service.tail(second, 5, chain);
    const [update] = await service.messages(cursor, [first, second, third]);
    expect(update?.event?.id).toBe('b');
    expect(positionIn(update?.cursor ?? '', list).tail).toEqual({ chain, sent: third.sent });
  });

  test('are no gap, however long the list had no updates', async () => {
    const service = world();
    const [start] = await service.messages(undefined, [await service.tail(undefined, 0)]);
    expect(start).toMatchObject({ gap: false, event: null });
    const week = { from: Date.now() - 7 * 24 * 60 * 60_000, fromHash: '', seen: new Map() };
    service.set('a', 1);
    for (const cursor of [start?.cursor, cursorAt(week, list)]) {
      const updates = await service.messages(cursor, [await service.tail(undefined, 2)]);
      expect(updates).toMatchObject([{ gap: false, event: { id: 'a' } }]);
    }
  });

  test('are a gap where more came than one poll reads, also if the listener has skipped the tail that began anew', async () => {
    const service = world();
    const first = await service.tail(undefined, 1);
    for (let index = 0; index < 10_001; index += 1) service.set(`e${index}`, 2 + index / 100);
    const second = await service.tail(first, 200);
    service.set('next', 201);
    const third = await service.tail(second, 202);
    const heard = async (...tails: FleetTail[]) =>
      (await service.messages(undefined, tails)).map(({ gap, event }) => event?.id ?? { gap });
    expect(await heard(first, second, third)).toEqual([{ gap: false }, { gap: true }, 'next']);
    expect(await heard(first, third)).toEqual([{ gap: false }, { gap: true }]);
  });

  describe('that are dated two hours ahead', () => {
    /** What follows is at the present. */
    const [present, ahead] = [60 * 60, 3 * 60 * 60];
    const setAhead = (service: ReturnType<typeof world>, count: number) => {
      for (let index = 0; index < count; index += 1) service.set(`ahead${index}`, ahead + index);
    };

    test.each([
      [400, ['normal']],
      [500, [{ gap: true }]],
      [1_500, [{ gap: true }]],
    ])('%d of them hide nothing that comes next from a client that resumes', async (count, expected) => {
      const service = world();
      const first = await service.tail(undefined, present);
      setAhead(service, count);
      let second = await service.tail(first, present + 1);
      while (second.sent < count) second = await service.tail(second, present + 1);
      const [start] = await service.messages(undefined, [first]);
      const cursor = (await service.messages(start?.cursor, [second])).at(-1)?.cursor;
      service.set('normal', present + 2);
      const third = await service.tail(second, present + 3);
      const heard = (await service.messages(cursor, [third])).map(({ gap, event }) => event?.id ?? { gap });
      expect(heard).toEqual(expected);
      service.set('next', present + 4);
      expect(idsIn(await service.messages(cursor, [third, await service.tail(third, present + 5)])).at(-1)).toBe(
        'next',
      );
    });

    test.each([400, 500, 1_500])('%d of them hide nothing from a client that begins after them', async count => {
      const service = world();
      setAhead(service, count);
      const chain = 'aaaaaaaaaaaa';
      const first = await service.tail(undefined, present, chain);
      service.set('normal', present + 1);
      const second = await service.tail(first, present + 2, chain);
      expect(idsIn(await service.messages(undefined, [first, second]))).toContain('normal');
      const [start] = await service.messages(undefined, [first]);
      expect(await service.messages(start?.cursor, [second])).not.toEqual([]);
      const position = positionIn(start?.cursor ?? '', list);
      const pulling = new Follower(position, position.tail, missed => missedSince(missed, service.read));
      const { start: begun, updates } = await pulling.next(second);
      expect(begun?.gap ?? updates.length > 0).toBe(true);
    });

    test('do not outrank what their events become once the clock of the service is right', async () => {
      const service = world();
      const first = await service.tail(undefined, present);
      service.set('a', ahead);
      const second = await service.tail(first, present + 1);
      service.set('a', present + 2);
      const third = await service.tail(second, present + 3);
      const heard = await service.messages(undefined, [first, second, third]);
      expect(heard.map(({ kind, event }) => event && [kind, event.lastUpdated])).toEqual([
        null,
        ['NEW', stamp(ahead)],
        ['UPDATED', stamp(present + 2)],
      ]);
    });

    test('are followed from the present on after the clock of the fleet was put back', async () => {
      const service = world();
      service.set('ahead', ahead);
      const first = await service.tail(undefined, ahead + 1);
      service.set('normal', present);
      const second = await service.tail(first, present + 1);
      const messages = await service.messages(undefined, [first, second]);
      expect(messages.map(({ gap }) => gap)).toEqual([false, true]);
      service.set('next', present + 2);
      const third = await service.tail(second, present + 3);
      expect(idsIn(await service.messages(messages[1]?.cursor, [third]))).toEqual(['next']);
    });
  });

  test('wait for a service that fails, and end with its refusal', async () => {
    const service = world();
    const first = await service.tail(undefined, 1);
    service.set('a', 2);
    const cursor = cursorAt({ from: base, fromHash: '', seen: new Map() }, list);
    const second = await service.tail(first, 3);
    service.fail(new UpstreamUnavailable('Away', undefined, true));
    const waiting = service.messages(cursor, [second]);
    const before = service.reads();
    await until(() => service.reads() > before);
    service.fail(undefined);
    expect(idsIn(await waiting)).toEqual(['a']);
    service.fail(new Forbidden('Not subscribed'));
    await expect(service.messages(cursor, [first])).rejects.toThrow(Forbidden);
  });

  test('have cursors of at most 4 KB, which hold no more than they need', () => {
    const many = new Map(Array.from({ length: 5_000 }, (_, index) => [String(index).padStart(12, '0'), index]));
    const cursor = cursorAt({ from: 10, fromHash: '', seen: many }, list);
    expect(cursor.length).toBeLessThan(4_096);
    expect(positionIn(cursor, list)).toMatchObject({ from: 4_519, fromHash: '000000004519' });
    expect(() => positionIn(cursor, updatesListId(credential, 'another'))).toThrow(BadUserInput);
  });
});

describe('eventChanges', () => {
  const document = `query Changes($after: String, $first: Int, $names: [String!]) {
    eventChanges(filter: { impactedEntities: $names }, after: $after, first: $first) {
      nodes { kind cursor gap event { id title } } cursor hasMore gap
    }
  }`;
  const names = () => ['Hot-Rolled Steel', `Test ${queries}`];
  const pull = async (gateway: TestGateway | undefined, variables: object) => {
    const headers = { ...demoHeaders, 'graphql-cost': '1' };
    const { data, errors, extensions } =
      (await gateway?.query(document, { names: names(), ...variables }, headers)) ?? {};
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
    const { nodes, ...rest } = data.eventChanges;
    const titles: string[] = nodes.map(({ event }: { event: Event }) => event.title);
    return { ...rest, nodes, titles, calls: extensions.cost.upstreamCalls };
  };

  test('returns each update once, in order, through each gateway, where nobody polls', async () => {
    const [one, other] = gateways;
    const start = await pull(one, {});
    expect(start).toMatchObject({ titles: [], hasMore: false, gap: false });
    const { _id } = sandbox.publishEvent({ title: 'A, in an old version' });
    for (const title of ['B', 'C']) {
      await untilLater();
      sandbox.publishEvent({ title });
    }
    await untilLater();
    sandbox.touchEvent(_id, { title: 'A' });
    const first = await pull(other, { after: start.cursor, first: 2 });
    expect(first).toMatchObject({ titles: ['B', 'C'], hasMore: true, gap: false });
    expect(first.nodes[0]).toMatchObject({ kind: 'NEW', gap: false });
    const rest = await pull(one, { after: first.cursor });
    expect(rest).toMatchObject({ titles: ['A'], hasMore: false });
    expect(await pull(other, { after: first.nodes[0].cursor })).toMatchObject({ titles: ['C', 'A'] });
    expect(await pull(other, { after: rest.cursor })).toMatchObject({ titles: [], hasMore: false, gap: false });
    sandbox.publishEvent({ title: 'D' });
    expect(await pull(other, { after: rest.cursor })).toMatchObject({ titles: ['D'] });
    const list =
      'query ($names: [String!]) { events(filter: { impactedEntities: $names }) { nodes { title } updatesCursor } }';
    const { data } = (await one?.query(list, { names: names() })) ?? {};
    expect(data.events.nodes[0].title).toBe('D');
    expect(await pull(other, { after: data.events.updatesCursor })).toMatchObject({ titles: [] });
  });

  test('begins behind nothing that a cached list still hides', async () => {
    const [gateway] = gateways;
    const list = 'query ($names: [String!]) { events(filter: { impactedEntities: $names }) { nodes { title } } }';
    const newest = async () => (await gateway?.query(list, { names: names() }))?.data.events.nodes[0]?.title;
    await newest();
    sandbox.publishEvent({ title: 'Before the cursor' });
    const { cursor } = await pull(gateway, {});
    expect(await newest()).toBe('Before the cursor');
    expect(await pull(gateway, { after: cursor })).toMatchObject({ titles: [], gap: false });
  });

  test('needs no call in any gateway where a poll has what follows, and takes turns with a subscription', async () => {
    const service = await startSandbox();
    // What a poll has found is used for three intervals, also on a busy machine.
    const slowly = { sandbox: service, redisUrl: redis.url, env: { ...env, POLL_INTERVAL_MS: '3000' } };
    const [one, other] = await Promise.all([startGateway(slowly), startGateway(slowly)]);
    const start = await pull(other, {});
    const heard = listen(overSse, one);
    await until(() => heard.results.length === 1);
    /** Always the same, and without a call as soon as the gateway has the state of the poll. */
    const pullFreely = async (gateway: TestGateway | undefined, after: string, titles: string[]) => {
      let found = await pull(gateway, { after });
      const isFree = async () => {
        found = await pull(gateway, { after });
        expect(found).toMatchObject({ titles, hasMore: false, gap: false });
        return found.calls === 0;
      };
      await until(isFree);
      return found;
    };
    let { cursor } = start;
    // Nobody polled then: where the poll is, it has to find out.
    await until(async () => {
      const { cursor: next, calls } = await pull(other, { after: cursor });
      cursor = next;
      return calls === 0;
    });
    for (const title of ['A', 'B', 'C']) {
      await untilLater();
      service.publishEvent({ title });
    }
    await until(() => titlesIn(heard).length === 3);
    for (const gateway of [one, other]) {
      await pullFreely(gateway, cursor, ['A', 'B', 'C']);
      await pullFreely(gateway, updatesIn(heard)[0].cursor, ['A', 'B', 'C']);
      await pullFreely(gateway, updatesIn(heard)[1].cursor, ['B', 'C']);
    }
    const two = await pull(one, { after: cursor, first: 2 });
    expect(two).toMatchObject({ titles: ['A', 'B'], hasMore: true });
    const again = listen(overSse, other, two.cursor);
    await until(() => again.results.length === 1);
    service.publishEvent({ title: 'D' });
    await until(() => titlesIn(again).length === 2);
    expect(titlesIn(again)).toEqual(['C', 'D']);
    await pullFreely(one, updatesIn(again)[0].cursor, ['D']);
    const pulled = await pullFreely(one, two.cursor, ['C', 'D']);
    for (const { stop } of open.splice(0)) stop();
    service.publishEvent({ title: 'E' });
    for (const after of [lastCursor(again), pulled.cursor]) {
      await until(async () => (await pull(other, { after })).titles.length > 0);
      expect(await pull(other, { after })).toMatchObject({ titles: ['E'], gap: false });
    }
    await Promise.all([one.close(), other.close()]);
    await service.close();
  });

  test('refuses a cursor of another filter or credential, and a size that it does not have', async () => {
    const [gateway] = gateways;
    const { cursor } = await pull(gateway, {});
    const refusalOf = async (variables: object, headers = demoHeaders) => {
      const { errors } = (await gateway?.query(document, { names: names(), ...variables }, headers)) ?? {};
      return errors?.map(({ extensions }) => [extensions.code, extensions.argument]);
    };
    const refused = [['BAD_USER_INPUT', 'after']];
    expect(await refusalOf({ after: cursor, names: ['Other'] })).toEqual(refused);
    expect(await refusalOf({ after: cursor }, { 'x-api-key': 'demo-key-markets-only' })).toEqual(refused);
    expect(await refusalOf({ after: 'none' })).toEqual(refused);
    for (const first of [0, -1, 1_001]) expect(await refusalOf({ first })).toEqual([['BAD_USER_INPUT', 'first']]);
    const { errors } = (await gateway?.query('{ eventChanges(filter: { to: "2026-01-01" }) { cursor } }')) ?? {};
    expect(errors?.[0].extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'filter.to' });
  });

  test('returns a thousand updates at once, and says that there is a gap where more were missed than it reads', async () => {
    let events: object[] = [];
    const { wire } = fakeWire(call => pageOf(call, events));
    const gateway = forTest(await startGateway({ wire, env }));
    const { cursor: after } = await pull(gateway, {});
    const grow = (length: number) => {
      events = Array.from({ length }, (_, index) => ({ _id: `e${index}`, lastUpdated: new Date().toISOString() }));
    };
    grow(1_100);
    const first = await pull(gateway, { after, first: 1_000 });
    expect(first).toMatchObject({ hasMore: true, gap: false, calls: 11 });
    const rest = await pull(gateway, { after: first.cursor, first: 1_000 });
    expect(rest).toMatchObject({ hasMore: false, gap: false });
    const ids = [...first.nodes, ...rest.nodes].map(({ event }) => event.id);
    expect([ids.length, new Set(ids).size]).toEqual([1_100, 1_100]);
    grow(2_001);
    expect(await pull(gateway, { after })).toMatchObject({ nodes: [], hasMore: false, gap: true });
  });
});

test('eventChanges counts a list that it reads again in place of the one before', async () => {
  let events: object[] = [];
  // One that is on no page: the list is read three times.
  const { wire, calls } = fakeWire(call => pageOf(call, events, events.length + 1));
  const kibibyte = 1_024;
  // A list of 200 KB takes three times as much.
  const memory = { total: 4_000 * kibibyte, perOwner: 1_000 * kibibyte, perResponse: 1_000 * kibibyte };
  const gateway = forTest(await startGateway({ wire, env, seams: { memory } }));
  const changes = (after: string | null) =>
    gateway.query('query ($after: String) { eventChanges(after: $after) { cursor nodes { event { id } } } }', {
      after,
    });
  const { data } = await changes(null);
  events = Array.from({ length: 100 }, (_, index) => {
    return { _id: `e${index}`, lastUpdated: new Date().toISOString(), summary: 'x'.repeat(2 * kibibyte) };
  });
  const before = calls.length;
  const { data: later, errors } = await changes(data.eventChanges.cursor);
  expect(errors).toBeUndefined();
  expect(later.eventChanges.nodes).toHaveLength(100);
  expect(calls.length - before).toBe(6);
});

test('eventChanges says that there is a gap, and where to continue, where more was missed than fits in the memory of its client', async () => {
  let events: { lastUpdated: string }[] = [];
  const { wire } = fakeWire(call => {
    const from = new URL(call.url).searchParams.get('from') ?? '';
    return pageOf(
      call,
      events.filter(({ lastUpdated }) => lastUpdated >= from),
    );
  });
  const kibibyte = 1_024;
  // A page takes 200 KB, and in memory three times as much: one fits.
  const memory = { total: 4_000 * kibibyte, perOwner: 1_000 * kibibyte, perResponse: 1_000 * kibibyte };
  const gateway = forTest(await startGateway({ wire, env, seams: { memory } }));
  const changes = async (after: string | null) => {
    const query = 'query ($after: String) { eventChanges(after: $after) { gap cursor nodes { event { id } } } }';
    const { data, errors } = await gateway.query(query, { after });
    expect(errors).toBeUndefined();
    return data.eventChanges;
  };
  const { cursor } = await changes(null);
  const now = Date.now();
  // More than a hundred in the last five minutes, so that several pages are read to find where to continue.
  events = Array.from({ length: 800 }, (_, index) => {
    const lastUpdated = new Date(now - index * 2_500).toISOString();
    return { _id: `e${index}`, lastUpdated, summary: 'x'.repeat(2 * kibibyte) };
  });
  const later = await changes(cursor);
  expect(later).toMatchObject({ gap: true, nodes: [] });
  expect(await changes(later.cursor)).toMatchObject({ gap: false, nodes: [] });
});

test('embeddings come through the gateway that polls as through one that does not', async () => {
  query = query.replace('title', 'title vectorIndex { embeddings }');
  const heard = gateways.map(gateway => listen(overSse, gateway));
  await until(() => heard.every(({ results }) => results.length === 1));
  sandbox.publishEvent({ title: 'With a vector' });
  await until(() => heard.every(each => titlesIn(each).length === 1));
  const vectors = heard.map(each => updatesIn(each).at(-1).event.vectorIndex.embeddings);
  expect(vectors[0].length).toBeGreaterThan(100);
  expect(vectors[1]).toEqual(vectors[0]);
});

test('a thousand updates of 4 KB come through each gateway, over links on which all of them take longer than a command may', async () => {
  let events: object[] = [];
  const { wire } = fakeWire(call => pageOf(call, events));
  const link = await startNetwork(() => redis.port, 4_000_000);
  const redisUrl = link.url.replace('http:', 'redis:');
  const slowly = { ...env, POLL_INTERVAL_MS: '1000' };
  const fleet = await Promise.all([1, 2].map(() => startGateway({ wire, redisUrl, env: slowly })));
  try {
    const selections = ['', ' vectorIndex { embeddings }'];
    const documents = selections.map(selected => `subscription { eventUpdates { gap event { id${selected} } } }`);
    const heard = fleet.flatMap(({ url }) => documents.map(query => overSse(url, { query })));
    open.push(...heard);
    await until(() => heard.every(({ results }) => results.length === 1));
    const embeddings = Array<number>(300).fill(0.123456);
    events = Array.from({ length: 1_000 }, (_, index) => {
      const vectorIndex = { anchorText: 'a', embeddings };
      return { _id: `e${index}`, lastUpdated: new Date().toISOString(), summary: 's'.repeat(4_000), vectorIndex };
    });
    await until(() => heard.every(({ results }) => results.length === 1_001));
    for (const each of heard) {
      expect(updatesIn(each).some(({ gap }) => gap)).toBe(false);
      expect(new Set(updatesIn(each).map(({ event }) => event?.id)).size).toBe(1_001);
    }
    const admin = new Redis(redis.url);
    for (const key of await admin.keys('mig:live:*')) {
      if (key.endsWith(':pieces')) expect(`${await admin.hvals(key)}`).not.toContain('0.123456');
      else expect(await admin.strlen(key)).toBeLessThan(250_000);
    }
    admin.disconnect();
  } finally {
    for (const { stop } of open.splice(0)) stop();
    await Promise.all(fleet.map(gateway => gateway.close()));
    await link.close();
  }
});

test('a listener learns of a gap at once, even if nothing more comes', async () => {
  let totalItems = 0;
  const { wire } = fakeWire(() => eventPage([], totalItems));
  const gateway = forTest(await startGateway({ wire, env: { ...env, POLL_INTERVAL_MS: '100' } }));
  const heard = overSse(gateway.url, { query: 'subscription { eventUpdates { gap } }' });
  open.push(heard);
  await until(() => heard.results.length === 1);
  totalItems = 10_001;
  await until(() => heard.results.length > 1);
  expect(updatesIn(heard).slice(0, 2)).toEqual([{ gap: false }, { gap: true }]);
});

test('a client that missed more than its credential may hold in memory learns of a gap, and then nothing is held', async () => {
  let events: object[] = [];
  const { wire } = fakeWire(() => eventPage(events));
  const memory = { total: 100_000_000, perOwner: 1_000_000, perResponse: 1_000_000 };
  const gateway = forTest(await startGateway({ wire, env, seams: { memory } }));
  const hear = (selection: string, after?: string) => {
    const document = `subscription ($after: String) { eventUpdates(after: $after) { ${selection} } }`;
    const heard = overSse(gateway.url, { query: document, variables: { after } });
    open.push(heard);
    return heard;
  };
  const start = hear('cursor');
  await until(() => start.results.length === 1);
  const embeddings = Array<number>(2_000).fill(0.123456);
  events = Array.from({ length: 60 }, (_, index) => {
    return { _id: `e${index}`, lastUpdated: new Date().toISOString(), vectorIndex: { embeddings } };
  });
  const plain = hear('gap event { id }', lastCursor(start));
  await until(() => plain.results.length === 60);
  const large = hear('gap event { vectorIndex { embeddings } }', lastCursor(start));
  await until(() => large.results.length > 0);
  expect(updatesIn(large)).toEqual([{ gap: true, event: null }]);
  expect(updatesIn(plain).some(({ gap }) => gap)).toBe(false);
  for (const { stop } of [start, plain, large]) stop();
  await until(async () => (await counted(gateway.url, 'gateway_held_bytes')) === 0);
});

test('what is new in many filters takes no more memory than the credential may keep: each listener gets it, or learns of a gap', async () => {
  let events: object[] = [];
  const { wire } = fakeWire(call => pageOf(call, events));
  const memory = { total: 16_000_000, perOwner: 8_000_000, perResponse: 1_000_000 };
  const gateway = forTest(await startGateway({ wire, env: { ...env, POLL_INTERVAL_MS: '3000' }, seams: { memory } }));
  const used = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const query =
    'subscription ($name: String!) { eventUpdates(filter: { affectedDatapoints: [$name] }) { gap event { id } } }';
  const heard = Array.from({ length: 40 }, (_, index) =>
    overSse(gateway.url, { query, variables: { name: `D${index}` } }),
  );
  open.push(...heard);
  const idsIn = (each: Heard) => new Set(updatesIn(each).flatMap(({ event }) => event?.id ?? []));
  await until(() => heard.every(({ results }) => results.length === 1));
  const before = used();
  events = Array.from({ length: 300 }, (_, index) => {
    return { _id: `e${index}`, lastUpdated: new Date().toISOString(), summary: `${index}`.padEnd(4_000) };
  });
  let most = 0;
  await until(async () => {
    const held = await counted(gateway.url, 'gateway_held_bytes');
    most = Math.max(most, held);
    const areTold = heard.every(each => idsIn(each).size === 300 || updatesIn(each).some(({ gap }) => gap));
    return areTold && held < memory.perOwner;
  });
  expect(most).toBeGreaterThan(1_000_000);
  expect(used() - before).toBeLessThan(25_000_000);
  for (const { stop } of heard) stop();
  await until(async () => (await counted(gateway.url, 'gateway_held_bytes')) === 0);
});

test('a poll that reads several pages reads each of them once', async () => {
  const events = Array.from({ length: 150 }, (_, index) => ({
    _id: `e${index}`,
    lastUpdated: new Date().toISOString(),
  }));
  const pages: number[] = [];
  const { wire } = fakeWire(call => {
    pages.push(Number(call.url.searchParams.get('page')));
    return pageOf(call, events);
  });
  const gateway = forTest(await startGateway({ wire, env }));
  open.push(overSse(gateway.url, { query }));
  const count = (page: number) => pages.filter(each => each === page).length;
  await until(() => count(2) > 2);
  const others = count(1) - count(2);
  await until(() => count(2) > 6);
  expect(count(1) - count(2)).toBeLessThanOrEqual(others + 1);
});

test('eight listeners of a credential catch up at a time, the next begins when one ends, and another credential does not wait', async () => {
  const budget = new MemoryBudget();
  const { beginBackfill: begin } = createFeedLimits(budget, new AcceptedScopes());
  const { signal } = new AbortController();
  const [one, other] = ['one', 'other'] as Scope[] as [Scope, Scope];
  const begun = await Promise.all(Array.from({ length: 8 }, () => begin(one, signal)));
  let hasBegun = false;
  const ninth = begin(one, signal).then(backfill => {
    hasBegun = true;
    return backfill;
  });
  const leaving = new AbortController();
  const tenth = begin(one, leaving.signal);
  (await begin(other, signal)).end();
  leaving.abort(new Error('The client has gone'));
  await expect(tenth).rejects.toThrow('The client has gone');
  expect(hasBegun).toBe(false);
  begun[0]?.claim.reserveForParsing(1_000);
  expect(budget.held).toBe(3_000);
  begun[0]?.end();
  expect(budget.held).toBe(0);
  (await ninth).end();
  // The signal is that of the whole subscription, which catches up again and again.
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('an update that cannot be read is skipped, counted as drift, and sent once the service has mended it', async () => {
  const at = () => new Date().toISOString();
  let events: object[] = [];
  const { wire } = fakeWire(call => pageOf(call, events));
  const gateway = forTest(await startGateway({ wire, env }));
  const heard = [overSse, overWebsocket].map(through => through(gateway.url, { query }));
  open.push(...heard);
  await until(() => heard.every(({ results }) => results.length === 1));
  const good = (id: string) => ({ _id: id, title: id, lastUpdated: at() });
  const bad = good('mended');
  const untimed = good('timed');
  events = [{ ...bad, _id: 7 }, null as unknown as object, { ...untimed, lastUpdated: 'today' }, good('first')];
  await until(() => heard.every(each => titlesIn(each).length === 1));
  events = [...events, good('second')];
  await until(() => heard.every(each => titlesIn(each).length === 2));
  expect(await counted(gateway.url, 'gateway_upstream_drift_total', { field: 'Event._id' })).toBeGreaterThan(0);
  events = [bad, untimed, ...events.slice(3)];
  await until(() => heard.every(each => titlesIn(each).length === 4));
  for (const each of heard) {
    expect(titlesIn(each).slice(0, 2)).toEqual(['first', 'second']);
    expect(titlesIn(each).slice(2).sort()).toEqual(['mended', 'timed']);
    expect(each.results.some(({ errors }) => errors)).toBe(false);
  }
});

type Compare = (one: Event, other: Event) => number;

const byTime: Compare = (one, other) => ((one.lastUpdated ?? '') < (other.lastUpdated ?? '') ? -1 : 1);
/** An order that has nothing to do with times. */
const byLastDigit: Compare = (one, other) => (lastDigit(one) < lastDigit(other) ? -1 : 1);
const lastDigit = ({ id }: Event) => `${id.at(-1)} ${id}`;

/** The event list as the service shows it, in pages. An event without rows is counted, but not listed. */
function listIn(order: Compare, rowsOf = (_: Event) => 1) {
  const events = new Map<string, { readonly event: Event; readonly time: number }>();
  const asked: { page: number; from: number; to: number }[] = [];
  return {
    asked,
    set(id: string, lastUpdated: string) {
      const event = { id, lastUpdated } as Event;
      events.set(id, { event, time: updatedAt(event) });
    },
    remove: (id: string) => events.delete(id),
    read: (async (page, from, to) => {
      asked.push({ page, from, to });
      const inRange = [...events.values()].filter(({ time }) => time >= from && time <= to);
      const found = inRange.map(({ event }) => event).sort(order);
      const rows = found.flatMap(event => Array<Event>(rowsOf(event)).fill(event));
      return {
        events: rows.slice((page - 1) * maxPageSize, page * maxPageSize),
        totalItems: Math.max(rows.length, found.length),
      };
    }) as ReadBetween,
  };
}

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
