// What must be true of every history. Each rule reads only what clients, the service and the receiver of exports saw, and which faults there were. A rule
// that a fault suspends says so, and by which words of the documents.
import { faults } from './fleet.mjs';

/** @returns the violations: the rule, and what breaks it. */
export function judge(fleet) {
  const violations = [];
  for (const [rule, breaches] of Object.entries(rules)) {
    for (const breach of breaches(fleet)) violations.push({ rule, ...breach });
  }
  return violations;
}

const rules = {
  *'nothing is left uncaught'({ crashes, gateways }) {
    for (const error of crashes) yield { error: String(error?.stack ?? error) };
    for (const { name, lines } of gateways) {
      for (const line of lines) if (/Unexpected|Unhandled/.test(line.msg)) yield { name, line };
    }
  },

  /** (a) After the list, each version of an event reaches a listener once, and none that the list has shown; the last version of each event reaches it. */
  *'a listener gets each update once'(fleet) {
    const { clients, service } = fleet;
    for (const listener of clients.listeners) {
      for (const { listed, shown, heard, hasGap } of listener.parts) {
        const latest = new Map();
        for (const { id, number, at } of heard) {
          if (shown.includes(number)) yield { what: 'was in the list', number, at, listener: listener.at };
          if ((latest.get(id) ?? 0) >= number)
            yield { what: 'twice, or after a newer version', number, at, listener: listener.at };
          latest.set(id, number);
        }
        const isLast = listener.parts.at(-1).heard === heard;
        if (!isLast || hasGap || !listener.isListening || !canRead(fleet, listener.account)) continue;
        for (const event of service.accounts.get(listener.account).events.values()) {
          const number = Number(event.title.split(' ')[1]);
          const isKnown = number <= listed || shown.includes(number) || latest.get(event._id) === number;
          if (!isKnown) yield { what: 'never came', number, listener: listener.at, connections: listener.connections };
        }
      }
    }
  },

  /** (b) After an answered write, no response to a later request has data of its market from before it. */
  *'no read has data from before a write'({ clients, service }) {
    const writes = clients.requests.filter(({ isDone }) => isDone);
    for (const write of writes) write.version = service.calls.find(({ requestId }) => requestId === write.id)?.version;
    for (const read of clients.requests.filter(({ kind }) => kind === 'read')) {
      if (read.text.includes('"stale":true')) continue;
      for (const [, market, version] of read.text.matchAll(/"\w m(\d+) v(\d+)"/g)) {
        const missed = writes.find(
          write => write.variables.id === market && write.end < read.at && write.version > version,
        );
        if (missed)
          yield {
            read: read.id,
            at: read.at,
            gateway: read.gateway,
            version,
            write: missed.id,
            wrote: missed.version,
            answered: missed.end,
          };
      }
    }
  },

  /** (c) What one credential can read reaches no other. */
  *'nothing reaches another credential'({ clients }) {
    const texts = clients.requests.map(({ account, text, id }) => ({ account, text, id }));
    for (const { account, parts } of clients.listeners) {
      texts.push({
        account,
        text: JSON.stringify(parts.flatMap(({ heard }) => heard.map(each => `${each.account} 1`))),
      });
    }
    for (const { account, text, id } of texts) {
      for (const [found, other] of text.matchAll(/"([abu]) (?:\d|m\d|observation)/g))
        if (other !== account) yield { account, found, id };
    }
  },

  /** (c) A session that was signed out reads nothing a second later. Sign-outs are shared through Redis, which may fail or lose them. */
  *'nothing is read after a sign-out'(fleet) {
    for (const read of fleet.clients.requests) {
      const { endedAt } = read.session ?? {};
      if (!(read.at > endedAt + 1_500) || !read.text.includes('"u m')) continue;
      if (!had(fleet, /redis|gateway|clock/, endedAt - 5_000, read.at)) yield { read: read.id, at: read.at, endedAt };
    }
  },

  /** (d) An export is sent once for each key, in at most four attempts, and its record says what the receiver saw. A Redis that loses data loses records. */
  *'an export is sent once, and its record is true'(fleet) {
    if (had(fleet, /redis(FailsOver|IsFlushed)/)) return;
    const { clients, service } = fleet;
    for (const key of new Set(service.exports.map(({ by }) => by))) {
      const sent = service.exports.filter(({ by }) => by === key);
      if (new Set(sent.map(each => each.key)).size > 1 || sent.length > 4)
        yield { key, sent: sent.map(each => [each.at, each.key, each.mode]) };
      const { body, at } =
        clients.requests.findLast(({ kind, variables }) => kind === 'readExport' && variables.key === key) ?? {};
      const status = body?.data?.export?.outcome;
      const isTaken = sent.some(({ isAnswered }) => isAnswered);
      if (status === undefined) yield { key, what: 'no record', at };
      if (status === 'DELIVERED' && !isTaken) yield { key, status };
      if (status !== 'DELIVERED' && isTaken && !had(fleet, /gateway|connections|redis/)) yield { key, status, isTaken };
    }
  },

  /** (e) An operation makes no more calls than its estimate; each call may be tried twice. */
  *'no operation makes more calls than its estimate'({ clients, service }) {
    const counts = new Map();
    for (const { requestId } of service.calls) counts.set(requestId, (counts.get(requestId) ?? 0) + 1);
    for (const { id, kind, body } of clients.requests) {
      const { estimated } = body?.extensions?.cost ?? {};
      const made = counts.get(id) ?? 0;
      if (made > 2 * estimated) yield { id, kind, estimated, made };
    }
  },

  /** (e) Once the fleet is quiet, one gateway polls for all. */
  *'one gateway polls each topic'({ service, quietFrom, quietUntil }) {
    const pollers = new Map();
    for (const { at, path, account, gateway } of service.calls) {
      if (at < quietUntil - 20_000 || at > quietUntil || at < quietFrom) continue;
      const topic = `${account} ${path.split('?')[0]}`;
      pollers.set(topic, (pollers.get(topic) ?? new Set()).add(gateway));
    }
    for (const [topic, gateways] of pollers) if (gateways.size > 1) yield { topic, gateways: [...gateways] };
  },

  /** (e) The progress of a job does not go back within a connection. */
  *'no progress goes back'({ clients }) {
    for (const { seen, market, phase } of clients.jobs) {
      const latest = new Map();
      for (const { at, connection, jobs } of seen) {
        for (const { id, progress } of jobs) {
          const name = `${connection} ${id}`;
          if (progress < latest.get(name)) yield { market, phase, id, at, progress, before: latest.get(name) };
          latest.set(name, progress);
        }
      }
    }
  },

  /** (f) Each request ends in time: three calls in a row, and what a write waits for Redis; an export with its four attempts. */
  *'each request ends in time'(fleet) {
    for (const { id, kind, at, end, gateway, hasLeft, variables } of fleet.clients.requests) {
      if (kind === 'stream' || (hasLeft && end - at < 80_000)) continue;
      const limit = kind === 'export' ? 75_000 : 27_000;
      const paused = fleet.taken
        .filter(step => step.do === 'gatewayIsPaused')
        .reduce((sum, step) => sum + step.forMs, 0);
      if (!(end - at <= limit + paused)) yield { id, kind, at, end, gateway, variables };
    }
  },

  /** (g) When all clients have left, there are no calls, claims, held bytes, requests and connections of clients; a closed gateway has no timer. */
  *'nothing is left when all have left'({ left }) {
    yield* left;
  },
};

/** Whether there was such a fault within a time. */
const had = ({ taken }, kind, from = 0, to = Number.POSITIVE_INFINITY) =>
  taken.some(
    step => step.do in faults && kind.test(step.do) && step.at <= to && step.at + (step.forMs ?? 0) + 5_000 >= from,
  );

const canRead = ({ clients }, account) => account !== 'u' || clients.credential('u').session?.endedAt === undefined;
