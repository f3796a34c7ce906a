// What must be true of every history. Each rule reads only what clients, the service and the receiver of exports saw, and which faults there were. A rule
// that a fault suspends says so.
import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { documents } from './documents.mjs';
import { faults } from './fleet.mjs';

/** @returns the violations: the rule, and what breaks it. */
export function judge(fleet) {
  const violations = [];
  for (const [rule, breaches] of Object.entries(rules)) {
    for (const breach of breaches(fleet)) violations.push({ rule, ...breach });
  }
  return violations;
}

/** How long a fault has effects, such as pauses before the next attempt, in milliseconds. */
const aftermathMs = 45_000;

const rules = {
  *'nothing is left uncaught'({ crashes, gateways }) {
    for (const error of crashes) yield { error: String(error?.stack ?? error) };
    for (const { name, lines } of gateways) {
      for (const line of lines) if (/Unexpected|Unhandled/.test(line.msg)) yield { name, line };
    }
  },

  /** Without faults each request succeeds, at once, with all that was selected. */
  *'in fair weather each request succeeds'(fleet) {
    for (const { id, kind, at, end, account, document, hasLeft, isWhole, status, text, body, gateway, error } of fleet
      .clients.requests) {
      if (kind === 'stream' || kind === 'signOut' || hasLeft || !isFair(fleet, at, end) || account === 'u') continue;
      const codes = body?.errors?.map(({ extensions }) => extensions.code) ?? [];
      const isForbidden = kind === 'export forbidden';
      const isRefused = isForbidden
        ? codes.join() === 'BAD_USER_INPUT'
        : /write|export/.test(kind) && codes.every(code => code === 'CONFLICT' || code === 'RATE_LIMITED');
      const isQuick = end - at <= 2_500 || kind.startsWith('export');
      const hasAll = documents[document]?.accept
        ? text.includes('"hasNext":false') && !text.includes('"errors"')
        : body?.data !== undefined;
      if (!isWhole || status !== 200 || !hasAll || !isQuick || ((codes.length > 0 || isForbidden) && !isRefused))
        yield { id, kind, document, at, end, gateway, status, error, text: text.slice(0, 500) };
    }
  },

  /** At the end, when nothing has changed for long, each answer is what the service has. Clocks that were wrong may have made entries live longer. */
  *'at the end each answer is right'(fleet) {
    if (had(fleet, /clock/)) return;
    const { clients, service, quietUntil } = fleet;
    for (const { id, at, document, variables, account, gateway, body } of clients.requests) {
      const { expected } = documents[document] ?? {};
      if (at < quietUntil || expected === undefined) continue;
      const right = expected(service.accounts.get(account), service.markets.get(Number(variables.market)), variables);
      if (right !== undefined && !isDeepStrictEqual(body?.data, right))
        yield { id, document, variables, gateway, data: body?.data ?? body, right };
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
          const number = numberOf(event);
          const isKnown = number <= listed || shown.includes(number) || latest.get(event._id) === number;
          if (!isKnown) yield { what: 'never came', number, listener: listener.at, connections: listener.connections };
        }
      }
    }
  },

  /** (a) Without faults an update comes with the next poll, which is at most twice as late while nothing changes, and no list is a gap. */
  *'in fair weather updates come in time'(fleet) {
    const { clients, service, intervalMs } = fleet;
    for (const { account, parts, at: joinedAt, connections } of clients.listeners) {
      const { at, heard, listed, hasGap } = parts.at(-1) ?? {};
      if (connections !== 1 || account === 'u') continue;
      if (hasGap && isFair(fleet, joinedAt, heard.at(-1)?.at ?? at)) yield { what: 'a gap', at, joinedAt };
      for (const { number, at: heardAt } of heard) {
        const posted = service.accounts.get(account).updates[number - 1].at;
        if (
          number > listed &&
          posted > at + 10_000 &&
          heardAt - posted > 2.2 * intervalMs + 2_000 &&
          isFair(fleet, posted, heardAt)
        )
          yield { number, posted, heardAt, joinedAt };
      }
    }
  },

  /** What a subscription has delivered is in the next list, through any gateway. */
  *'a list has what was delivered'(fleet) {
    const { clients } = fleet;
    for (const { id, at, end, account, text, body } of clients.requests) {
      const count = body?.data?.events?.unfilteredTotalCount;
      if (
        count === undefined ||
        text.includes('"stale":true') ||
        had(fleet, /redis|gateway|clock|connections/, at - 30_000, end)
      )
        continue;
      const heard = clients.listeners
        .filter(listener => listener.account === account)
        .flatMap(({ parts }) => parts.flatMap(part => part.heard));
      const missing = heard.find(update => update.at < at && update.number > count);
      if (missing) yield { id, at, count, missing };
    }
  },

  /** (b) After an answered write, no response to a later request has data of its market from before it. A write waits for Redis no longer than four seconds. */
  *'no read has data from before a write'({ clients, service, taken }) {
    const isPatient = ({ end }) =>
      !taken.some(({ do: fault, at, forMs }) => /^redis/.test(fault) && at < end - 4_000 && at + forMs > end - 5_000);
    const writes = clients.requests.filter(request => request.isDone && isPatient(request));
    for (const write of writes) write.version = service.calls.find(({ requestId }) => requestId === write.id)?.version;
    for (const read of clients.requests.filter(({ kind }) => kind === 'read')) {
      if (read.text.includes('"stale":true')) continue;
      for (const [, market, version] of read.text.matchAll(/"\w m(\d+) v(\d+)"/g)) {
        const missed = writes.find(
          write => write.variables.market === market && write.end < read.at && write.version > version,
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

  /** (b) The same ten seconds after the service has applied a write that was never answered, also where its gateway has died: nothing is cached meanwhile. */
  *'no read has data from before an unanswered write'(fleet) {
    const applied = fleet.service.calls.filter(({ version }) => version);
    for (const { id, at, text, gateway } of fleet.clients.requests.filter(({ kind }) => kind === 'read')) {
      if (text.includes('"stale":true')) continue;
      for (const [, market, version] of text.matchAll(/"\w m(\d+) v(\d+)"/g)) {
        const missed = applied.find(
          call => call.path.includes(`/${market}/`) && call.appliedAt < at - 10_000 && call.version > version,
        );
        if (missed && !had(fleet, /redis|Paused|clock|connections/, missed.at - 10_000, at))
          yield { id, at, gateway, version, applied: missed };
      }
    }
  },

  /** Without faults and writes, what was just read with a call needs no other one, through any gateway. */
  *'in fair weather a repeated read needs no call'(fleet) {
    const { clients, service } = fleet;
    const latest = new Map();
    for (const read of clients.requests.filter(
      ({ document, isWhole, body }) => documents[document]?.isCached && isWhole && body?.errors === undefined,
    )) {
      const name = JSON.stringify([read.document, read.account, read.variables.market]);
      const before = latest.get(name);
      const call = service.calls.find(({ requestId }) => requestId === read.id);
      if (call) latest.set(name, read);
      if (
        !(read.at > before?.end) ||
        read.at > before.at + 30_000 ||
        !isFair(fleet, before.at, read.end) ||
        read.account === 'u'
      )
        continue;
      const isWritten = service.calls.some(
        ({ at, version, path }) =>
          version && path.includes(`/${read.variables.market}/`) && at > before.at - 60_000 && at < read.end,
      );
      if (call && !isWritten)
        yield {
          read: read.id,
          at: read.at,
          gateway: read.gateway,
          before: before.id,
          beforeAt: before.at,
          call: call.path,
        };
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
    for (const { id, at, session, text, status, end, kind, isWhole } of fleet.clients.requests) {
      const isOver = at > session?.endedAt + 1_500;
      if (isOver && text.includes('"u m') && !had(fleet, /redis|gateway|clock/, session.endedAt - 5_000, at))
        yield { id, at, endedAt: session.endedAt };
      if (kind === 'read' && session?.endedAt > end && isFair(fleet, at, end) && isWhole && status !== 200)
        yield { id, at, status, what: 'refused before its end', text };
    }
  },

  /** (d) An export is sent once for each key, in at most four attempts, and its record says what the receiver saw. A Redis that loses data loses records. */
  *'an export is sent once, and its record is true'(fleet) {
    const { clients, service } = fleet;
    for (const { at, headers, body } of service.exports) {
      const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature = '' } = headers;
      const signed = clients.secrets.map(secret =>
        createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
          .update(`${id}.${time}.${body}`)
          .digest('base64'),
      );
      if (clients.secrets.length > 0 && !signed.some(each => signature.includes(each)))
        yield { what: 'not signed', at };
      if (headers['x-own'] !== 'mine') yield { what: 'without the headers of the endpoint', at };
    }
    for (const { id, kind, body } of clients.requests) {
      const [result] = /send|retry|test/.test(kind) ? Object.values(body?.data ?? {}) : [];
      const isRight =
        /^Taken \w+\nand done$/.test(`${result?.title} ${result?.messageText}`) &&
        result?.attempts?.at(-1)?.status === 200;
      if (result?.__typename === 'ExportDelivered' && !isRight) yield { id, kind, result };
    }
    if (had(fleet, /redis(FailsOver|IsFlushed)/)) return;
    for (const key of new Set(service.exports.map(({ by }) => by).filter(by => by.startsWith('k')))) {
      const sent = service.exports.filter(({ by }) => by === key);
      const records = clients.requests
        .filter(({ kind, variables }) => kind === 'export read' && variables.key === key)
        .map(({ body }) => body?.data?.export);
      const retries = clients.requests.filter(
        ({ kind, variables }) => kind === 'export retry' && records.some(record => record?.id === variables.id),
      ).length;
      const { id, outcome, attempts = [] } = records.at(-1) ?? {};
      const ids = new Set(sent.map(each => each.key));
      const own = sent.filter(each => each.key === id);
      if (ids.size > 1 + retries || own.length > 4)
        yield { key, sent: sent.map(each => [each.at, each.key, each.mode]) };
      const isTaken = own.some(({ isAnswered }) => isAnswered);
      if (outcome === undefined || outcome === 'RUNNING') yield { key, outcome };
      if (outcome === 'DELIVERED' && !isTaken) yield { key, outcome };
      // What is lost with Redis is the time to record it, which is a minute.
      const isSure = !had(fleet, /gateway|connections/);
      if (isSure && isTaken && outcome !== 'DELIVERED') yield { key, outcome, isTaken };
      if (isSure && !had(fleet, /redis/) && attempts.length !== own.length)
        yield { key, outcome, attempts, sent: own.length };
    }
  },

  /** (e) An operation makes no more calls than its estimate; each call may be tried twice. */
  *'no operation makes more calls than its estimate'(fleet) {
    const { clients, service } = fleet;
    const counts = new Map();
    for (const { requestId } of service.calls) counts.set(requestId, (counts.get(requestId) ?? 0) + 1);
    for (const { id, kind, body, at, end } of clients.requests) {
      const { estimated, upstreamCalls } = body?.extensions?.cost ?? {};
      const made = counts.get(id) ?? 0;
      if (made > 2 * estimated || (upstreamCalls > estimated && isFair(fleet, at, end)))
        yield { id, kind, estimated, made, upstreamCalls };
    }
  },

  /** (e) Once the fleet is quiet, one gateway polls for all, as often as it should. */
  *'one gateway polls each topic'({ service, quietFrom, quietUntil, intervalMs }) {
    const topics = new Map();
    for (const { at, path, account, gateway } of service.calls) {
      if (at < quietFrom || at > quietUntil || /[?&]page=(?!1&)/.test(path)) continue;
      const topic = `${account} ${path.split('?')[0]}`;
      const polls = topics.get(topic) ?? new Map();
      topics.set(topic, polls.set(gateway, (polls.get(gateway) ?? 0) + 1));
    }
    for (const [topic, polls] of topics) {
      const most = (quietUntil - quietFrom) / intervalMs + 1;
      const [count, other = 0] = [...polls.values()].sort((one, another) => another - one);
      // A listener of another gateway may read once what it has missed.
      if (other > 1 || count > most || count < most / 2.5 - 2) yield { topic, polls: [...polls], most };
    }
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
      const limit = kind.startsWith('export') ? 75_000 : 27_000;
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

const numberOf = ({ title }) => Number(title.split(' ')[1]);

/** Whether there was such a fault within a time, or shortly before. */
const had = ({ taken }, kind, from = 0, to = Number.POSITIVE_INFINITY) =>
  taken.some(
    step => step.do in faults && kind.test(step.do) && step.at <= to && step.at + (step.forMs ?? 0) + 5_000 >= from,
  );

const isFair = (fleet, from, to) => !had(fleet, /(?<!^receiver\w+)$/, from - aftermathMs, to);

const canRead = ({ clients }, account) => account !== 'u' || clients.credential('u').session?.endedAt === undefined;
