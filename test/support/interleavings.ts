import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway, type TestGateway } from './gateway.js';
import { type Draw, drawFrom } from './seeded.js';
import { type Heard, overSse } from './streams.js';
import { until } from './until.js';
import { eventMeta, fakeWire } from './wire.js';

interface WireEvent {
  readonly _id: string;
  /** The number of its update: all updates of a world are numbered in the order in which the service lists them. */
  readonly title: string;
  readonly lastUpdated: string;
}

/** The event list that the service has for one credential. */
class World {
  readonly draw: Draw;
  readonly events = new Map<string, WireEvent>();
  updates = 0;
  /** Whether events come while a list is being read. */
  readonly isBusy: boolean;
  readonly #order: (events: WireEvent[]) => WireEvent[];
  #latest = 0;

  constructor(seed: string) {
    this.draw = drawFrom(seed);
    this.isBusy = this.draw.chance(0.5);
    this.#order = this.draw.pick([
      events => events.reverse(),
      events => events,
      events => events.sort((one, other) => (one._id.at(-1) ?? '').localeCompare(other._id.at(-1) ?? '')),
    ]);
    const ageMs = this.draw.pick([1_000, 120_000]);
    for (let count = this.draw.pick([0, 3, 150]); count > 0; count -= 1) this.#set(Date.now() - count * ageMs);
  }

  /** A new event, which may be late, or a new version of one. */
  post(): void {
    const isUpdate = this.events.size > 0 && this.draw.chance(0.4);
    const isLate = !isUpdate && this.draw.chance(0.2);
    this.#latest = Math.max(this.#latest + 1, Date.now());
    const id = isUpdate ? this.draw.pick([...this.events.keys()]) : undefined;
    this.#set(isLate ? this.#latest - this.draw.below(120_000) : this.#latest, id);
  }

  #set(time: number, id = `e${this.events.size}`): void {
    this.updates += 1;
    this.events.set(id, { _id: id, title: String(this.updates), lastUpdated: new Date(time).toISOString() });
  }

  answer(url: URL): object {
    const [from = '', to = ''] = [url.searchParams.get('from') ?? undefined, url.searchParams.get('to') ?? '9'];
    const found = [...this.events.values()].filter(event => event.lastUpdated >= from && event.lastUpdated <= to);
    const sorted = this.#order(found.sort((one, other) => (one.lastUpdated < other.lastUpdated ? -1 : 1)));
    const meta = eventMeta(url, sorted.length);
    const start = (meta.currentPage - 1) * meta.pageSize;
    // The number before filtering says how many updates the list had when it was read.
    return {
      meta: { ...meta, unfilteredTotalItems: this.updates },
      data: sorted.slice(start, start + meta.pageSize),
    };
  }
}

/** What a client has since it read the list the last time. */
interface Session {
  readonly gateway: TestGateway;
  /** How many updates the list had. */
  readonly listed: number;
  readonly shown: ReadonlySet<number>;
  heard: Heard | undefined;
  readonly cursor: string;
}

const list = 'query ($first: Int!) { events(first: $first) { nodes { title } unfilteredTotalCount updatesCursor } }';
const plainList = 'query ($first: Int!) { events(first: $first) { unfilteredTotalCount } }';
const updates = 'subscription ($after: String) { eventUpdates(after: $after) { gap event { id title } } }';

const sizes = [1, 3, 100];

const numbersIn = (session: Session): number[] =>
  (session.heard?.results ?? []).flatMap(({ data }) =>
    data.eventUpdates.event === null ? [] : Number(data.eventUpdates.event.title),
  );

/**
 * One client that posts, reads, subscribes and reloads in any order, through any gateway, and again where a gateway has too much to do beside a busy
 * machine.
 * @throws Error for an update that is missing or comes twice.
 */
async function interleave(world: World, key: string, gateways: readonly TestGateway[], isShared: boolean) {
  const { draw } = world;
  const headers = { 'x-api-key': key };
  let session: Session | undefined;

  const fail = (what: string) => {
    throw new Error(`${key}: ${what} ${JSON.stringify({ ...session, heard: session && numbersIn(session) })}`);
  };

  /** What was delivered must be in the list; without Redis, only a gateway's own subscriptions make its lists stale. */
  async function read(document: string, gateway: TestGateway, first = draw.pick(sizes)) {
    const delivered = session === undefined || !(isShared || gateway === session.gateway) ? [] : numbersIn(session);
    for (let posts = world.isBusy ? draw.below(4) : 0; posts > 0; posts -= 1)
      setTimeout(() => world.post(), draw.below(8));
    const ask = () => gateway.query(document, { first }, headers);
    let { data, errors } = await ask();
    while (errors?.[0].extensions.code === 'RATE_LIMITED') {
      await sleep(errors[0].extensions.retryAfterSeconds * 1_000);
      ({ data, errors } = await ask());
    }
    if (errors !== undefined) fail(JSON.stringify(errors));
    if (data.events.unfilteredTotalCount < Math.max(0, ...delivered)) fail('a list without what was delivered');
    return data.events;
  }

  async function reload(): Promise<void> {
    session?.heard?.stop();
    const events = await read(list, draw.pick(gateways));
    session = {
      gateway: draw.pick(gateways),
      listed: events.unfilteredTotalCount,
      shown: new Set(events.nodes.map(({ title }: { title: string }) => Number(title))),
      cursor: events.updatesCursor,
      heard: undefined,
    };
  }

  function missing({ listed, shown, ...of }: Session): number[] {
    const heard = of.heard?.results.map(({ data }) => data.eventUpdates.event?.title) ?? [];
    const has = new Set([...shown, ...heard.map(Number)]);
    return [...world.events.values()]
      .map(({ title }) => Number(title))
      .filter(number => number > listed && !has.has(number));
  }

  function listen(to: Session): void {
    const heard = overSse(to.gateway.url, { query: updates, variables: { after: to.cursor } }, headers);
    to.heard = heard;
    void heard.ended.then(error => {
      if (error?.response?.status === 503 && to.heard === heard) to.heard = undefined;
    });
  }

  /** Subscribes, and perhaps reads what is kept of each list as soon as all updates are there. */
  async function subscribe(to: Session, isReading: boolean): Promise<void> {
    if (to.heard === undefined) listen(to);
    if (!isReading) return;
    await until(() => {
      if (to.heard === undefined) listen(to);
      return missing(to).length === 0;
    }).catch(() => fail(`without ${missing(to)}`));
    const gateway = draw.pick(gateways);
    for (const first of sizes) await read(draw.pick([list, plainList]), gateway, first);
  }

  function check(of: Session): void {
    const numbers = numbersIn(of);
    if (new Set(numbers).size !== numbers.length) fail('twice');
    if (numbers.some(number => of.shown.has(number))) fail('on the page and delivered');
    // What comes just before the page is read, and is not on it, is behind the cursor.
    if (!world.isBusy && numbers.some(number => number <= of.listed)) fail('in the list and delivered');
    if ((of.heard?.results ?? []).some(({ data }) => data.eventUpdates.gap)) fail('a gap');
  }

  await reload();
  for (let steps = 4 + draw.below(8); steps > 0; steps -= 1) {
    const step = draw.next();
    if (step < 0.4) world.post();
    else if (step < 0.6) await read(draw.pick([list, plainList]), draw.pick(gateways));
    else if (step < 0.75) await sleep(draw.below(150));
    else if (step < 0.9) session === undefined || (await subscribe(session, draw.chance(0.5)));
    else await reload();
    if (session !== undefined) check(session);
  }
  const last = session as Session | undefined;
  if (last === undefined) throw new Error('There was no list');
  world.post();
  await subscribe(last, true);
  check(last);
  last.heard?.stop();
}

const together = 40;

/** Lets clients of two gateways post, read, subscribe and reload in random order. @param redisUrl undefined: the gateways know nothing of each other. */
export async function runInterleavings(count: number, redisUrl: string | undefined): Promise<void> {
  const worlds = new Map<string, World>();
  const { wire } = fakeWire(call => ({ body: worlds.get(call.headers['x-api-key'] ?? '')?.answer(call.url) }));
  const env = { POLL_INTERVAL_MS: '100', SESSION_SECRET: 's'.repeat(40) };
  const start = () => startGateway({ wire, env, ...(redisUrl !== undefined && { redisUrl }) });
  const gateways = [await start(), await start()];
  let begun = 0;
  const runSome = async () => {
    while (begun < count) {
      begun += 1;
      const key = `interleaving-${begun}`;
      const world = new World(key);
      worlds.set(key, world);
      await interleave(world, key, gateways, redisUrl !== undefined);
    }
  };
  try {
    await Promise.all(Array.from({ length: together }, runSome));
  } finally {
    await Promise.all(gateways.map(gateway => gateway.close()));
  }
}
