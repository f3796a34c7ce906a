// The fleet and its world, and what each step of a history does to them. A step is plain data: when, what, and numbers that choose among what is there.
import { Clients } from './clients.mjs';
import { documents } from './documents.mjs';
import { Gateway } from './gateways.mjs';
import { readOf } from './history.mjs';
import { lineOf, reset, silence, speak, startNetwork } from './network.mjs';
import { startRedis } from './redis-server.mjs';
import { startService } from './service.mjs';
import { advanceTo, now, settle, startTime } from './time.mjs';

export class Fleet {
  gateways = [];
  /** Faults of the program itself: what nobody caught. */
  crashes = [];
  /** The steps that were taken. */
  taken = [];
  /** What should not be there when all clients have left. */
  left = [];

  /** @param note gets everything that can be seen from outside: calls of the service, and what clients got. */
  constructor(history, note) {
    const { seed, count, env } = history;
    this.note = fact => note(now(), fact);
    const world = startTime(seed);
    startNetwork(world);
    world.run(() => {
      this.redis = startRedis(seed);
      this.service = startService(seed, this.note);
      this.clients = new Clients(this);
      this.gateways = Array.from({ length: count }, (_, index) => new Gateway(index, history));
    });
    this.world = world;
    this.intervalMs = Number(env.POLL_INTERVAL_MS);
    this.limit = Number(env.EVENT_STATISTICS_LIMIT);
  }

  up = () => this.gateways.filter(({ isUp }) => isUp);

  /** Whether there was such a fault within a time, or shortly before. */
  had(kind, from = 0, to = Number.POSITIVE_INFINITY) {
    const isNear = ({ at, forMs = 0 }) => at <= to && at + forMs + 5_000 >= from;
    return this.taken.some(step => step.do in faults && kind.test(step.do) && isNear(step));
  }

  /** Whether nothing was wrong within a time, and for so long before that its effects are over, such as pauses before the next attempt. */
  isFair(from, to) {
    return !this.had(/(?<!^receiver\w+)$/, from - 45_000, to);
  }

  /** Starts something that goes on while time advances. */
  begin(work) {
    this.world.run(work).catch(error => this.crashes.push(error));
  }

  async advance(milliseconds) {
    await settle();
    await advanceTo(now() + milliseconds);
  }

  /** Takes the steps, each at its time. */
  async run(steps) {
    for (const gateway of this.gateways) this.begin(() => gateway.start());
    for (const step of steps) {
      await advanceTo(Math.max(step.at, now()));
      this.#take(step);
    }
  }

  #take(step) {
    this.taken.push(step);
    this.note({ step });
    this.begin(async () => actions[step.do](this, step));
  }

  /** Gives the fleet the time to find back from what was wrong, and reads everything; then all leave, and nothing may be left. */
  async end() {
    await this.advance(20_000);
    this.begin(() => Promise.all(this.gateways.map(gateway => gateway.isUp || gateway.start())));
    // The effects of faults last for a while.
    const restMs = this.had(/./) ? 60_000 : 15_000;
    this.quietFrom = now() + restMs;
    await this.advance(restMs + 20_000);
    this.quietUntil = now();
    const { clients, redis, service, up } = this;
    for (const [index, { name: gateway }] of up().entries()) {
      // The gateways share the documents of both markets.
      for (const [number, document] of Object.keys(documents).entries()) {
        for (const times of index === 0 ? [0, 1] : [0]) {
          const market = String(1 + ((index + number + times) % 2));
          const read = {
            gateway,
            account: 'aab'[index + times] ?? 'b',
            market,
            ...readOf(document, this.world.random),
          };
          this.begin(() => clients.read(read));
        }
      }
      if (index > 0) continue;
      for (const key of new Set(service.exports.map(({ by }) => by)))
        this.begin(() => clients.export({ gateway, what: 'read', key }));
      this.begin(() => clients.export({ gateway, what: 'list' }));
    }
    this.begin(() => clients.guess());
    await this.advance(10_000);
    this.againFrom = now();
    // One after the other, twice: what one has cached, the next one need not read.
    for (const { name: gateway } of [...up(), ...up()]) {
      for (const document of Object.keys(documents).filter(name => documents[name].isCached))
        for (const market of ['1', '2']) this.begin(() => clients.read({ gateway, account: 'a', market, document }));
      await this.advance(1_000);
    }
    await this.advance(3_000);
    const forMs = 2.2 * this.intervalMs + 2_500;
    this.refusal = { at: now(), do: 'credentialIsRevoked', account: 'a', forMs };
    this.#take(this.refusal);
    await this.advance(forMs);
    clients.leaveAll();
    await this.advance(40_000);
    const leftAt = now();
    await this.advance(15_000);
    for (const { at, path } of service.calls) if (at > leftAt) this.left.push({ call: path, at });
    for (const key of redis.data.keys.keys())
      if (key.endsWith(':lock') && redis.data.call('EXISTS', key) > 0) this.left.push({ key });
    for (const gateway of up()) this.begin(() => this.#leave(gateway));
    await this.advance(20_000);
  }

  /** What a gateway has without clients, and once it is closed. */
  async #leave(gateway) {
    const { name, host } = gateway;
    for (const { line } of host.sockets)
      if (line !== lineOf('redis')) this.left.push({ name, socketOf: line.host.name });
    const { text } = await this.clients.get(name, '/metrics');
    for (const [line] of text.matchAll(
      /^gateway_(held_bytes|operations_running|live_pollers|live_listeners\S*) (?!0$).*/gm,
    ))
      this.left.push({ name, line });
    await gateway.stop(0);
    // That a fault is over is logged ten seconds later.
    await new Promise(resolve => setTimeout(resolve, 11_000));
    // Those of the library that limits rates last for its windows.
    const timers = [...host.timers]
      .map(({ startedBy }) => String(startedBy))
      .filter(code => !code.includes('this._storage.delete'));
    for (const timer of timers) this.left.push({ name, timer: timer.slice(0, 200) });
    for (const { line } of host.sockets) this.left.push({ name, openSocketOf: line.host.name });
  }
}

const after = (milliseconds, undo) => setTimeout(undo, milliseconds);

/** A fault for a time: what begins it, and what ends it. */
const during = (begin, end) => (fleet, step) => {
  begin(fleet, step);
  after(step.forMs, () => end(fleet, step));
};

const trouble = kind =>
  during(
    ({ service }, { share }) => (service.trouble = { kind, share }),
    ({ service }) => (service.trouble = undefined),
  );
const receives = mode => fleet => (fleet.service.receiver = mode);
const receiver = mode => during(receives(mode), receives('ok'));
const refuses = words => fleet => fleet.redis.refuseWrites(words);
const refusing = words => during(refuses(words), refuses(undefined));

/** What clients and the world do. */
export const operations = {
  post({ service }, { account, count, lateMs, updates }) {
    service.host.run(() => {
      for (let left = count; left > 0; left -= 1)
        service.accounts.get(account).post(Date.now(), { lateMs, updates: updates && updates + left });
    });
  },
  read: ({ clients }, step) => clients.read({ ...step, gateway: clients.pick(step.via) }),
  write: ({ clients }, step) => clients.write({ ...step, gateway: clients.pick(step.via) }),
  listen: ({ clients }, step) => clients.listen(step),
  followJobs: ({ clients }, step) => clients.followJobs(step),
  drop: ({ clients }, { number, isEnd }) => clients.drop(number, isEnd),
  signIn: ({ clients }, step) => clients.signIn({ ...step, gateway: clients.pick(step.via) }),
  signOut: ({ clients }, step) => clients.signOut({ ...step, gateway: clients.pick(step.via) }),
  export: ({ clients }, step) => clients.export({ ...step, gateway: clients.pick(step.via) }),
  scrape: ({ clients }, step) => clients.get(clients.pick(step.via), '/metrics').catch(() => {}),
};

/** What goes wrong. */
export const faults = {
  redisRefuses: during(
    ({ redis }) => {
      lineOf('redis').isRefusing = true;
      redis.breakConnections();
    },
    () => (lineOf('redis').isRefusing = false),
  ),
  redisHangs: during(
    () => silence('redis'),
    () => speak('redis'),
  ),
  redisIsCutOff: during(
    (fleet, step) => {
      step.cutOff = chosen(fleet, step).host;
      silence('redis', step.cutOff);
    },
    (_, { cutOff }) => speak('redis', cutOff),
  ),
  redisIsSlow: during(
    (_, { share }) => (lineOf('redis').delayMs = Math.round(share * 200)),
    () => (lineOf('redis').delayMs = 0),
  ),
  redisIsReadOnly: refusing("READONLY You can't write against a read only replica."),
  redisIsFull: refusing("OOM command not allowed when used memory > 'maxmemory'."),
  redisFailsOver: ({ redis }, { share }) => redis.failOver(share * 3_000),
  redisIsFlushed: ({ redis }) => redis.data.call('FLUSHALL'),
  redisEvicts: ({ redis }, { share }) => redis.data.evict(() => redis.host.random() < share),
  serviceFails: trouble('error'),
  serviceRefuses: trouble('refuse'),
  serviceSendsHtml: trouble('html'),
  serviceCutsBodies: trouble('cut'),
  serviceIsSlow: trouble('slow'),
  serviceIsSilent: trouble('silent'),
  serviceResets: trouble('reset'),
  credentialIsRevoked: during(
    ({ service }, { account }) => (service.accounts.get(account).revoked += 1),
    ({ service }, { account }) => (service.accounts.get(account).revoked -= 1),
  ),
  receiverFails: receiver('fail'),
  receiverRejects: receiver('reject'),
  receiverHangs: receiver('hang'),
  receiverIsLate: receiver('late'),
  receiverResets: receiver('reset'),
  gatewayIsKilled(fleet, step) {
    const gateway = chosen(fleet, step);
    if (!gateway?.isUp) return;
    gateway.kill();
    after(step.forMs, () => !gateway.isUp && fleet.begin(() => gateway.start()));
  },
  addressIsInside: during(
    () => (lineOf('receiver.test').insideSince = now()),
    () => (lineOf('receiver.test').insideSince = undefined),
  ),
  async gatewayRestarts(fleet, step) {
    const gateway = chosen(fleet, step);
    if (!gateway?.isUp) return;
    await gateway.stop(step.forMs % 5_000);
    if (!gateway.isUp) await gateway.start();
  },
  gatewayIsPaused: during(
    (fleet, step) => {
      step.paused = chosen(fleet, step).host;
      step.paused.pause();
    },
    (_, { paused }) => paused.resume(),
  ),
  clockJumps: during(
    (fleet, step) => (chosen(fleet, step).host.skewMs += (step.share - 0.5) * 600_000),
    (fleet, step) => (chosen(fleet, step).host.skewMs -= (step.share - 0.5) * 600_000),
  ),
  connectionsBreak: (fleet, step) => reset(chosen(fleet, step).host),
};

const chosen = ({ gateways }, { number }) => gateways[number % gateways.length];
const actions = { ...operations, ...faults };
