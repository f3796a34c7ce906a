// What must be true of every history, whatever fails. Each rule reads only what clients, the service and the receiver of exports saw, and which faults
// there were. A rule that a fault suspends says so.
import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { documents } from './documents.mjs';
import { isKnown, rulesOfFairWeather, shown } from './fair-weather.mjs';
import { answers, names } from './service.mjs';

/** @returns the violations: the rule, and what breaks it. */
export function judge(fleet) {
  const all = Object.entries({ ...rules, ...rulesOfFairWeather });
  return all.flatMap(([rule, breaches]) => [...breaches(fleet)].map(breach => ({ rule, ...breach })));
}

/** Of each code: the faults that explain it, or the kinds of requests where it is an answer. A session of a user may be over at any time. */
const causesOf = {
  UNAUTHENTICATED: { faults: /credentialIsRevoked/, users: true },
  SIGN_IN_FAILED: { kinds: /signIn/ },
  NOT_FOUND: { kinds: /watch|export/ },
  CONFLICT: { kinds: /watch|write|export/ },
  BAD_USER_INPUT: { faults: /addressIsInside/ },
  RATE_LIMITED: { kinds: /signIn|export/, faults: /gatewayRestarts/ },
  UPSTREAM_INVALID_RESPONSE: { faults: /serviceSendsHtml|serviceCutsBodies/ },
  UPSTREAM_TIMEOUT: { faults: /serviceIs(Slow|Silent)|Paused|clock/ },
  UPSTREAM_UNAVAILABLE: { faults: /service(Fails|Resets|Cuts)|Paused|redis|connections/ },
};

const rules = {
  *'nothing is left uncaught'({ crashes, gateways }) {
    for (const error of crashes) yield { error: String(error?.stack ?? error) };
    for (const { name, lines } of gateways)
      for (const line of lines) if (/Unexpected|Unhandled/.test(line.msg)) yield { name, line };
  },

  /** (a) After the list, each version of an event reaches a listener once, and none that the list has shown; the last version of each event reaches it. */
  *'a listener gets each update once'(fleet) {
    for (const { at: listener, account, staysToTheEnd, connections, transport, parts } of fleet.clients.listeners) {
      for (const part of parts) {
        const { listed, shown, heard, hasGap } = part;
        const latest = new Map();
        for (const { id, number, at } of heard) {
          if (shown.includes(number)) yield { what: 'was in the list', number, at, listener };
          if (latest.get(id) >= number) yield { what: 'twice, or after a newer version', number, at, listener };
          latest.set(id, number);
        }
        if (part !== parts.at(-1) || hasGap || !staysToTheEnd || !canRead(fleet, account)) continue;
        for (const { _id, title } of fleet.service.accounts.get(account).select({})) {
          const number = Number(title.split(' ')[1]);
          const isKnown = number <= listed || shown.includes(number) || latest.get(_id) === number;
          if (!isKnown) yield { what: 'never came', number, listener, transport, connections };
        }
      }
    }
  },

  /** (a) The same change of a watch has the same `webhook-id` each time. One that another change has, too, would be missing. */
  *'a delivery is known by its webhook-id'({ service }) {
    const known = new Map();
    for (const { at, key, body } of service.deliveries) {
      const { watch, changes } = JSON.parse(body);
      const what = JSON.stringify([watch, changes[0]?.event.title]);
      if (changes.length > 0 && (known.get(what) ?? key) !== key) yield { at, key, what };
      known.set(what, key);
    }
  },

  /** (a) Once the fleet is quiet, a client that pulls needs no call where a subscription polls: what it lacked, and the tail that it follows, it has by now. */
  *'a pull uses the poll that runs'({ clients, service, quietFrom, quietUntil }) {
    const isPolled = account =>
      clients.listeners.some(
        each => /sse|ws/.test(each.transport) && each.staysToTheEnd && each.account === account && account !== 'u',
      );
    for (const { id, at, account, gateway, kind } of clients.requests) {
      if (kind !== 'pull' || at < quietFrom || at > quietUntil || !isPolled(account)) continue;
      const call = service.calls.find(({ requestId }) => requestId === id);
      if (call) yield { id, at, account, gateway, call: call.path };
    }
  },

  /** (a) An event is said to be updated if it had an earlier version; the updates of one answer come oldest first. */
  *'an update says what it is'({ clients, service }) {
    for (const { parts } of clients.listeners) {
      for (const { id, number, account, kind, at } of parts.flatMap(({ heard }) => heard)) {
        const isFirst = service.accounts.get(account).updates.find(update => update.id === id).number === number;
        if (kind !== 'NEW' && (isFirst || kind !== 'UPDATED')) yield { id, number, kind, at };
      }
    }
    for (const { id, account, body } of clients.requests) {
      const nodes = body?.data?.eventChanges?.nodes ?? [];
      const timeOf = ({ event }) =>
        event && service.accounts.get(account).updates[event.title.split(' ')[1] - 1].lastUpdated;
      const times = nodes.map(timeOf).filter(Boolean);
      if (times.some((time, index) => time < times[index - 1])) yield { id, what: 'not in order', times };
    }
  },

  /** (a) A page has no event twice, whatever changes while it is read. */
  *'a page has no event twice'({ clients }) {
    for (const { id, document, body } of clients.requests) {
      const { nodes, edges } = body?.data?.events ?? {};
      const titles = (nodes ?? edges?.map(({ node }) => node) ?? []).map(node => node?.title).filter(Boolean);
      if (new Set(titles).size < titles.length) yield { id, document, titles };
    }
  },

  /** What a subscription has delivered is in the next list, through any gateway. */
  *'a list has what was delivered'(fleet) {
    for (const { id, at, end, account, text, body } of fleet.clients.requests) {
      const count = body?.data?.events?.unfilteredTotalCount;
      if (count === undefined || isStale(text) || fleet.had(/redis|gateway|clock|connections/, at - 30_000, end))
        continue;
      const listeners = fleet.clients.listeners.filter(listener => listener.account === account);
      const heard = listeners.flatMap(({ parts }) => parts.flatMap(part => part.heard));
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
    for (const { read, market, version } of versionsRead(clients)) {
      const isMissed = write => write.variables.market === market && write.end < read.at && write.version > version;
      const missed = writes.find(isMissed);
      if (missed) yield { ...shown(read), version, missed: shown(missed), wrote: missed.version };
    }
  },

  /** (b) The same ten seconds after the service has applied a write that was never answered, also where its gateway has died: nothing is cached meanwhile.
   * Not where no gateway had seen its credential accepted for the market: what a stranger sends makes nothing stale before it is accepted. */
  *'no read has data from before an unanswered write'(fleet) {
    for (const { read, market, version } of versionsRead(fleet.clients)) {
      const isMissed = call =>
        call.version > version && call.path.includes(`/${market}/`) && call.appliedAt < read.at - 10_000;
      const missed = fleet.service.calls.find(isMissed);
      const excuses = /redis(?!IsFull)|Paused|clock|connections/;
      if (missed && !fleet.had(excuses, missed.at - 10_000, read.at) && isKnown(fleet, missed))
        yield { ...shown(read), version, missed };
    }
  },

  /** (c) What one credential can read reaches no other. */
  *'nothing reaches another credential'({ clients }) {
    for (const { account, text, id } of clients.requests)
      for (const [found, other] of text.matchAll(/"([abu]) (?:\d|m\d|observation)/g))
        if (other !== account) yield { account, found, id };
    for (const { account, parts } of clients.listeners)
      for (const heard of parts.flatMap(part => part.heard)) if (heard.account !== account) yield { account, heard };
  },

  /** (c) A session that was signed out reads nothing a second later. Sign-outs are shared through Redis, which may fail or lose them. */
  *'nothing is read after a sign-out'(fleet) {
    for (const request of fleet.clients.requests) {
      const { at, session, text, status, end, kind, isWhole } = request;
      const isOver = at > session?.endedAt + 1_500;
      if (isOver && text.includes('"u m') && !fleet.had(/redis|gateway|clock/, session.endedAt - 5_000, at))
        yield { ...shown(request), endedAt: session.endedAt };
      if (kind === 'read' && session?.endedAt > end && fleet.isFair(at, end) && isWhole && status !== 200)
        yield { ...shown(request), what: 'refused before its end' };
    }
  },

  /** (c) When the service refuses a credential at the end, the next poll ends its subscriptions to events. */
  *'a refusal ends subscriptions'({ clients, refusal: { account, at, forMs } }) {
    for (const stream of clients.streams.filter(each => each.account === account && /eventUpdates/.test(each.query)))
      if (stream.from < at - 5_000 && !(stream.to < at + forMs)) yield stream;
  },

  /** (c) Of ten attempts in a row without success, the next is refused at any gateway before the service is asked; a refusal takes half a second. */
  *'sign-ins are limited'(fleet) {
    if (fleet.had(/redis|gateway|clock|connections|service/)) return;
    let failed = 0;
    let before;
    for (const request of fleet.clients.requests.filter(({ kind }) => kind === 'signIn')) {
      const { at, end, variables, body } = request;
      // Of attempts at the same time, any may be first.
      if (at <= before?.end) return;
      before = request;
      const isRight = variables.password === 'p' && failed < 10;
      const code = body?.errors?.[0].extensions.code;
      const user = { authentication: 'COOKIE', email: 'u@b.test', name: 'Una', team: null, canExport: false };
      const isTold = isRight
        ? isDeepStrictEqual(body?.data?.signIn.viewer, user)
        : code === (failed < 10 ? 'SIGN_IN_FAILED' : 'RATE_LIMITED') && (failed >= 10 || end - at >= 500);
      if (!isTold) yield { ...shown(request), failed };
      failed = isRight ? 0 : failed + 1;
    }
  },

  /** (d) What the receiver gets is signed and has the headers of the endpoint, and a client is told what the receiver said. */
  *'an export is what was asked for'(fleet) {
    const { service, clients } = fleet;
    const { secrets } = clients;
    for (const { at, headers, body, insideSince } of service.exports) {
      // Its address is not allowed any more.
      if (insideSince < at - 1_000 && !fleet.had(/Paused/, insideSince, at)) yield { what: 'sent inside', at };
      const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature = '' } = headers;
      const isBy = ({ secret }) => {
        const key = Buffer.from(secret.slice(6), 'base64');
        return signature.includes(createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64'));
      };
      // By the newest one that its store is sure to have, or a later one.
      const sure = secrets.findLastIndex(
        secret => secret.at < at - 1_000 && !fleet.had(/redis|gateway|connections|clock/, 0, at),
      );
      if (secrets.length > 0 && !secrets.slice(Math.max(sure, 0)).some(isBy)) yield { what: 'not signed', at };
      const { meta, market, data } = JSON.parse(body);
      const has = { 'x-own': 'mine', 'content-type': 'application/json', 'webhook-id': id };
      if (Object.entries(has).some(([name, value]) => headers[name] !== value))
        yield { what: 'other headers', at, headers };
      const companies = data.map(({ name }) => name);
      const isRight = meta.isTest
        ? market.id === 0 && companies.length === 0
        : isDeepStrictEqual(companies, names) && market.name.startsWith(`a m${market.id} v`);
      if (!isRight || meta.totalItems !== companies.length) yield { what: 'another body', at, body };
    }
  },

  /** (d) Its record, and what its client is told, is what the receiver saw. */
  *'an export is told as the receiver saw it'(fleet) {
    const sent = grouped(fleet.service.exports, ({ key }) => key);
    for (const { id, kind, at, body } of fleet.clients.requests) {
      if (!kind.startsWith('export')) continue;
      const { exports, export: one, exportEndpoints } = body?.data ?? {};
      const records = exports?.nodes ?? (one ? [one] : []);
      const results = Object.values(body?.data ?? {}).filter(each => each?.exportId);
      for (const told of [...records.map(({ result }) => result), ...results]) {
        const calls = sent.get(told?.exportId);
        if (calls === undefined || !fleet.isFair(calls[0].at, calls.at(-1).at + 20_000)) continue;
        const right = endingOf(calls);
        const { attempts, exportId, ...rest } = told;
        const areRight =
          attempts.length === right.attempts.length &&
          attempts.every((attempt, index) => isAttempt(attempt, right.attempts[index]));
        if (!areRight || !isDeepStrictEqual(rest, right.rest)) yield { id, kind, at, told, right };
      }
      for (const { id: key, outcome, isTest, marketId, result, ...others } of records) {
        const [call] = sent.get(key) ?? [];
        if (call === undefined) continue;
        const { meta, market } = JSON.parse(call.body);
        const names = { ExportDelivered: 'DELIVERED', ExportRejected: 'REJECTED', ExportFailed: outcome };
        const isRight =
          isTest === (meta.isTest === true) &&
          (isTest ? marketId === null && others.idempotencyKey === null : Number(marketId) === market.id) &&
          others.endpointName === 'crm' &&
          others.user === (isTest ? 'test@example.com' : 'a@b.test') &&
          others.selected === meta.totalItems &&
          (result === null) === (outcome === 'RUNNING') &&
          (result === null || names[result.__typename] === outcome);
        if (!isRight) yield { id, kind, key, outcome, call };
      }
      for (const endpoint of exportEndpoints ?? []) {
        if (endpoint.name !== 'crm') continue;
        const { failingSince, description, ...rest } = endpoint;
        const right = { id: 'crm', name: 'crm', url: endpointUrl, headerNames: ['x-own'] };
        if (!isDeepStrictEqual(rest, right) || !/^(d|k\d+)$/.test(description)) yield { id, endpoint };
      }
      if (exports) {
        const { failed, ofMarket } = body.data;
        const idsOf = matches => records.filter(matches).map(record => record.id);
        const some = idsOf(({ marketId }) => marketId === '1');
        const shownIds = [failed, ofMarket].map(({ nodes }) => nodes.map(node => node.id));
        const right = [idsOf(({ outcome }) => outcome === 'FAILED'), some.slice(0, 3)];
        if (!isDeepStrictEqual(shownIds, right) || ofMarket.totalCount !== some.length)
          yield { id, what: 'filtered', right };
        const ended = records.filter(({ finishedAt }) => finishedAt !== null);
        const [last] = ended.sort((one, other) => (one.finishedAt < other.finishedAt ? 1 : -1));
        const { failingSince } = exportEndpoints.find(({ name }) => name === 'crm') ?? {};
        const isSure = last && at > fleet.quietFrom && !fleet.had(/redis|gateway|connections|clock/);
        if (isSure && (failingSince === null) !== (last.outcome !== 'FAILED')) yield { id, failingSince, last };
      }
      const startedAt = records.map(record => record.startedAt);
      if (startedAt.some((time, index) => time > startedAt[index - 1])) yield { id, what: 'not in order', startedAt };
    }
  },

  /** (d) Who follows an export hears how it goes on, in order, to its end. A paused clock may take an export for lost that still ends. */
  *'the progress of an export is its own'(fleet) {
    if (fleet.had(/redis|Paused|clock/)) return;
    const records = fleet.clients.requests.flatMap(({ body }) => body?.data?.export ?? []);
    for (const { id, at: followedAt, seen, staysToTheEnd } of fleet.clients.exports) {
      for (const [index, { at, connection, ...state }] of seen.entries()) {
        const before = seen[index - 1];
        const isSame = before?.connection === connection;
        // Nobody knows when that ended whose gateway was killed.
        const isKnown = !['RUNNING', 'UNKNOWN'].includes(state.outcome);
        const goesBack = isSame && (before.attempts.length > state.attempts.length || before.outcome !== 'RUNNING');
        if (state.id !== id || isKnown !== (state.finishedAt !== null) || goesBack) yield { at, id, state, before };
      }
      const last = seen.at(-1);
      const record = records.findLast(each => each.id === id);
      if (last?.finishedAt && record?.finishedAt && last.outcome !== record.outcome) yield { id, last, record };
      if (staysToTheEnd && followedAt < fleet.quietFrom) yield { id, what: 'has no end', last };
    }
  },

  /** (d) An export is sent once for each key, in at most four attempts, and its record says what the receiver saw. A Redis that loses data loses records. */
  *'an export is sent once, and its record is true'(fleet) {
    if (fleet.had(/redis(FailsOver|IsFlushed)/)) return;
    const { requests } = fleet.clients;
    for (const key of new Set(fleet.service.exports.map(({ by }) => by).filter(by => by.startsWith('k')))) {
      const sent = fleet.service.exports.filter(({ by }) => by === key);
      const reads = requests.filter(({ kind, variables }) => kind === 'export read' && variables.key === key);
      const records = reads.map(({ body }) => body?.data?.export);
      const isRetry = ({ kind, variables }) =>
        kind === 'export retry' && records.some(each => each?.id === variables.id);
      const { id, outcome } = records.at(-1) ?? {};
      const own = sent.filter(each => each.key === id);
      const isTaken = own.some(({ isAnswered }) => isAnswered);
      const isOnce = new Set(sent.map(each => each.key)).size <= 1 + requests.filter(isRetry).length && own.length <= 4;
      const isTrue = outcome !== undefined && outcome !== 'RUNNING' && (outcome !== 'DELIVERED' || isTaken);
      // What is lost with Redis is the time to record it, which is a minute.
      const isForgotten = !fleet.had(/gateway|connections/) && isTaken && outcome !== 'DELIVERED';
      if (!isOnce || !isTrue || isForgotten) yield { key, outcome, isTaken, sent };
    }
  },

  /** (c) A call has the credential of its client and no other; what writes is sent once, whatever came of it. */
  *'a write is sent once, and a call under one credential'(fleet) {
    for (const { at, path, credentials, requestId, gateway } of fleet.service.calls)
      if (credentials.length !== (path.endsWith('/sign-in') ? 0 : 1))
        yield { at, path, credentials, requestId, gateway };
    const isWrite = ({ method, path }) => method !== 'GET' && !path.endsWith('/topics');
    const writes = grouped(fleet.service.calls.filter(isWrite), ({ requestId }) => requestId);
    for (const [id, { length }] of writes)
      if (length > 1 && documents[requestOf(fleet, id)?.document] === undefined) yield { id, length };
  },

  /** (e) An operation makes no more calls than its estimate; each call may be tried twice. */
  *'no operation makes more calls than its estimate'(fleet) {
    const callsOf = grouped(fleet.service.calls, ({ requestId }) => requestId);
    for (const { id, kind, body, at, end } of fleet.clients.requests) {
      const { estimated, upstreamCalls } = body?.extensions?.cost ?? {};
      const made = callsOf.get(id)?.length;
      if (made > 2 * estimated || (upstreamCalls > estimated && fleet.isFair(at, end)))
        yield { id, kind, estimated, made, upstreamCalls };
    }
  },

  /** (e) A request makes each call once, where nothing is wrong and nothing changes. A list that says where it ends reads that apart. */
  *'no call is repeated in vain'(fleet) {
    const reads = fleet.service.calls.filter(({ method, account }) => method === 'GET' && account);
    for (const [name, calls] of grouped(reads, ({ requestId, path }) => `${requestId} ${path}`)) {
      const [first, last] = [calls[0], calls.at(-1)];
      const request = first === last ? undefined : requestOf(fleet, first.requestId);
      if (!/^(read|pull)$/.test(request?.kind) || !fleet.isFair(first.at, last.at)) continue;
      const { updates } = fleet.service.accounts.get(first.account);
      if (!updates.some(({ at }) => at > first.at - 1_000 && at <= last.at)) yield { name, kind: request.kind };
    }
  },

  /** (e) Once the fleet is quiet, one gateway polls for all, as often as it should. */
  *'one gateway polls each topic'({ clients, service, quietFrom, quietUntil, intervalMs }) {
    const most = (quietUntil - quietFrom) / intervalMs + 1;
    const pulls = new Set(clients.requests.filter(({ kind }) => kind === 'pull').map(({ id }) => id));
    const isPoll = ({ at, path, requestId }) =>
      at >= quietFrom && at <= quietUntil && !pulls.has(requestId) && !/[?&]page=(?!1&)/.test(path);
    const topics = grouped(service.calls.filter(isPoll), ({ account, path }) => `${account} ${path.split('?')[0]}`);
    for (const [topic, calls] of topics) {
      const polls = [...grouped(calls, ({ gateway }) => gateway).values()].map(({ length }) => length);
      const [count, other = 0] = polls.sort((one, another) => another - one);
      // A listener of another gateway may read once what it has missed.
      // No longer than the jobs run.
      const isOver =
        topic.endsWith('/jobs') && service.calls.some(({ version, at }) => version && at > quietFrom - 45_000);
      if (other > 1 || count > most || (!isOver && count < most / 2.5 - 2)) yield { topic, polls, most };
    }
  },

  /** (e) The state of a phase is that of its jobs, and the progress of a job does not go back within a connection. */
  *'what is told of jobs is so'(fleet) {
    for (const { seen, market, phase } of fleet.clients.jobs) {
      const latest = new Map();
      for (const { connection, ...state } of seen) {
        const { at, jobs, unlisted, finished, overallProgress, observedAt, estimatedEndAt } = state;
        const isEnded = jobs.length > 0 && jobs.every(({ progress }) => progress === 100);
        // Of a progress of 1, the scale may not be known.
        const shares = jobs.map(({ completion }) => completion).filter(share => share !== null);
        const mean = shares.length === 0 ? null : shares.reduce((sum, share) => sum + share, 0) / shares.length;
        const isMean = mean === null ? overallProgress === null : Math.abs(overallProgress - mean) < 1e-9;
        const areShares = jobs.every(({ progress, completion }) => completion === progress / 100 || progress <= 1);
        const isRight =
          state.marketId === market &&
          state.phase === phase &&
          (unlisted.length > 0 ? !finished || isEnded : finished === isEnded && isMean && areShares) &&
          (estimatedEndAt === null || (!isEnded && estimatedEndAt >= observedAt));
        const goesBack = jobs.some(({ id, progress }) => progress < latest.get(`${connection} ${id}`));
        for (const { id, progress } of jobs) latest.set(`${connection} ${id}`, progress);
        if (!isRight || goesBack) yield { at, ...state, goesBack };
      }
    }
  },

  /** An error says what was wrong: each code has its causes, and no request fails without one. */
  *'an error has its cause'(fleet) {
    const callsOf = grouped(fleet.service.calls, ({ requestId }) => requestId);
    const refusals = fleet.service.calls.filter(({ refusal }) => refusal);
    for (const request of fleet.clients.requests) {
      // Nor is a refusal of its only call kept from it, as far as it is still there.
      const [{ refusal } = {}, ...others] = callsOf.get(request.id) ?? [];
      const isTold = request.text.includes(`"code":"${refusal}"`) || isStale(request.text);
      const isWrite = request.kind === 'write' || request.document === 'embed';
      if (refusal && request.kind === 'read' && !isWrite && request.isWhole && others.length === 0 && !isTold)
        yield { ...shown(request), refusal };
      const { kind, document, at, end, account, text } = request;
      for (const [, code] of text.matchAll(/"code":"(\w+)"/g)) {
        const causes = causesOf[code];
        // What a success of a write would be, if it says that it failed, is not known.
        const isUnknown = isWrite && code === 'UPSTREAM_INVALID_RESPONSE';
        const isRefused = call => (call.refusal === code || isUnknown) && call.at > at - 20_000 && call.at < end;
        const isExplained =
          refusals.some(isRefused) ||
          // Whether it is right is told where the answer is compared.
          (documents[document]?.refused && !/^(UP|UN|IN)/.test(code)) ||
          (causes !== undefined &&
            (causes.kinds?.test(kind) ||
              (causes.users && account === 'u') ||
              // Old data is not exported, whatever the service has sent in its place.
              (kind === 'export send' && isStale(text) && fleet.had(/^service/, at - 20_000, end)) ||
              fleet.had(causes.faults ?? /^$/, at - 20_000, end)));
        if (!isExplained) yield { ...shown(request), code };
      }
    }
  },

  /** (f) Each request ends in time: three calls in a row, and what a write waits for Redis; an export with its four attempts. */
  *'each request ends in time'(fleet) {
    const pauses = fleet.taken.filter(step => step.do === 'gatewayIsPaused');
    const paused = pauses.reduce((sum, { forMs }) => sum + forMs, 0);
    for (const request of fleet.clients.requests) {
      const { kind, at, end, hasLeft } = request;
      if (kind === 'stream' || (hasLeft && end - at < 80_000)) continue;
      if (!(end - at <= (kind.startsWith('export') ? 75_000 : 27_000) + paused)) yield shown(request);
    }
  },

  /** (g) When all clients have left, there are no calls, claims, held bytes, requests and connections of clients; a closed gateway has no timer. */
  *'nothing is left when all have left'({ left }) {
    yield* left;
  },
};

/** What is told of the calls of an export. */
function endingOf(calls) {
  const attempts = calls.map(({ mode, answer, milliseconds }) => {
    if (mode === 'reset') return { status: null, fault: 'BROKEN', words: /could not be reached/ };
    if (/hang|late/.test(mode)) return { status: null, fault: 'TIMEOUT', words: /15 seconds/, milliseconds: 15_000 };
    const { status, isOdd } = answer;
    return { status, fault: null, words: isOdd && new RegExp(`answered ${status}`), milliseconds };
  });
  const { answer, mode, body } = calls.at(-1);
  const counts = { delivered: JSON.parse(body).data.length, matching: JSON.parse(body).meta.totalItems };
  return { attempts, rest: { ...(/hang|late|reset/.test(mode) ? answers.fail[0] : answer).told, ...counts } };
}

const isAttempt = (told, { status, fault, words, milliseconds = told.milliseconds }) =>
  told.status === status &&
  told.fault === fault &&
  Math.abs(told.milliseconds - milliseconds) <= 20 &&
  (words ? words.test(told.explanation) : told.explanation === null);

function grouped(list, nameOf) {
  const groups = new Map();
  for (const each of list) groups.set(nameOf(each), [...(groups.get(nameOf(each)) ?? []), each]);
  return groups;
}

const requestOf = ({ clients }, wanted) => clients.requests.find(({ id }) => id === wanted);
const endpointUrl = 'http://receiver.test/hook?by={user.name}';
const isStale = text => text.includes('"stale":true');

/** Each version of a market that a read shows as fresh. */
const versionsRead = ({ requests }) =>
  requests
    .filter(({ kind, text }) => kind === 'read' && !isStale(text))
    .flatMap(read =>
      [...read.text.matchAll(/"\w m(\d+) v(\d+)"/g)].map(([, market, version]) => ({ read, market, version })),
    );

const canRead = ({ clients }, account) => account !== 'u' || clients.credential('u').session?.endedAt === undefined;
