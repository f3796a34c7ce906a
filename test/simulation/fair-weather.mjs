// What must be true of a history where nothing is wrong, and at its end, when all has recovered: requests succeed, in time, and cost no call too many.
import { isDeepStrictEqual } from 'node:util';
import { documents } from './documents.mjs';

export const rulesOfFairWeather = {
  /** Without faults each request succeeds, at once, with all that was selected. */
  *'in fair weather each request succeeds'(fleet) {
    for (const request of fleet.clients.requests) {
      const { kind, at, end, account, document, hasLeft, isWhole, status, text, body } = request;
      if (/stream|signOut|watch/.test(kind) || !fleet.isFair(at, end) || account === 'u') continue;
      if (hasLeft && (end - at <= 2_500 || kind.startsWith('export'))) continue;
      const codes = body?.errors?.map(({ extensions }) => extensions.code) ?? [];
      const isBusy = /write|export/.test(kind) && codes.every(code => code === 'CONFLICT' || code === 'RATE_LIMITED');
      // A Redis that lost its data has lost the endpoint.
      const isLost = codes.join() === 'NOT_FOUND' && fleet.had(/redis(FailsOver|IsFlushed|Evicts)/, 0, at);
      const isRefused = isBusy || (isLost && kind.startsWith('export')) || documents[document]?.refused;
      const isQuick = end - at <= 2_500 || kind.startsWith('export');
      const inParts = text.includes('"hasNext":false') && !text.includes('"errors"');
      const hasAll = documents[document]?.accept ? inParts : body?.data !== undefined;
      if (!isWhole || status !== 200 || !hasAll || !isQuick || (codes.length > 0 && !isRefused)) yield shown(request);
    }
  },

  /** Each answer is what the service has, or had within the 30 seconds for which it may be cached. At the end that holds whatever went wrong before. Clocks
   * that were wrong may have made entries live longer, and what was cached beside an unanswered write of a stranger, or one that no Redis heard of, lives
   * as long as it does without writes. */
  *'each answer is right'(fleet) {
    const { accounts, calls, markets } = fleet.service;
    for (const request of fleet.clients.requests) {
      const { at, end, document, variables, account: name, body, isWhole, text } = request;
      const { expected, refused, isMixed, isOfMarket } = documents[document] ?? {};
      if (expected === undefined || name === 'u' || !isWhole || fleet.had(/clock/, 0, end)) continue;
      const isUnsettled = call =>
        call.version &&
        call.path.includes(`/${variables.market}/`) &&
        (fleet.had(/gatewayIsKilled/, call.at, call.at + 1_000)
          ? !isKnown(fleet, call) || fleet.had(/redis/, call.at - 10_000, call.at)
          : !isKnown(fleet, call) && call.acceptedAt === undefined);
      const isQuiet = at >= fleet.quietUntil;
      if (isQuiet ? calls.some(isUnsettled) : isOfMarket || !fleet.isFair(at, end)) continue;
      const account = accounts.get(name);
      const changes = account.updates.map(update => update.at).filter(time => time > at - 31_000 && time <= end);
      const times = [at - 31_000, ...new Set(changes)];
      if (isMixed && times.length > 1) continue;
      const rightAt = time => ({
        data: expected(account, variables, time, markets.get(Number(variables.market)), body),
        errors: refused?.(account, variables, time) || [],
      });
      const errors = (body?.errors ?? []).map(({ path, extensions: { code, argument } }) =>
        [(path ?? []).join('.'), code, argument].filter(Boolean),
      );
      errors.sort(([one], [other]) => (one < other ? -1 : 1));
      const isRight = right => right.data === undefined || isDeepStrictEqual({ data: body?.data, errors }, right);
      if (!times.map(rightAt).some(isRight))
        yield { ...shown(request), text, right: JSON.stringify(rightAt(times[0])) };
    }
  },

  /** (a) Without faults an update comes with the next poll, which is at most twice as late while nothing changes, and no list is a gap. */
  *'in fair weather updates come in time'(fleet) {
    const firstHeard = new Map();
    for (const { account, parts, at: joinedAt, connections, transport } of fleet.clients.listeners) {
      const { at, heard, listed, hasGap } = parts.at(-1) ?? {};
      // What a watch sends comes once its endpoint takes it.
      if (connections !== 1 || account === 'u' || transport === 'watch') continue;
      if (hasGap && fleet.isFair(joinedAt, heard.at(-1)?.at ?? at)) yield { what: 'a gap', at, joinedAt };
      for (const { number, at: heardAt } of heard) {
        // All that listen at any gateway hear of it at once.
        const name = `${account} ${number}`;
        const others = firstHeard.get(name) ?? heardAt;
        firstHeard.set(name, others);
        const isFollowing = number > listed && transport !== 'pull' && transport !== 'both';
        if (isFollowing && Math.abs(heardAt - others) > 500 && fleet.isFair(at - 1_000, Math.max(heardAt, others)))
          yield { number, heardAt, others, joinedAt };
        const posted = fleet.service.accounts.get(account).updates[number - 1].at;
        const isLate = heardAt - posted > 2.2 * fleet.intervalMs + 2_000;
        if (isLate && number > listed && posted > at + 10_000 && fleet.isFair(posted, heardAt))
          yield { number, posted, heardAt, joinedAt };
      }
    }
  },

  /** Without faults and writes, what was just read with a call needs no other one. A gateway that had lost Redis makes stale what it reads first. */
  *'in fair weather a repeated read needs no call'(fleet) {
    const { calls } = fleet.service;
    const latest = new Map();
    for (const read of fleet.clients.requests) {
      const { id, document, account, variables, at, end, isWhole, body } = read;
      if (!documents[document]?.isCached || !isWhole || body?.errors !== undefined || account === 'u') continue;
      const name = JSON.stringify([document, account, variables.market]);
      const before = latest.get(name);
      const call = calls.find(({ requestId }) => requestId === id);
      if (call === undefined) continue;
      latest.set(name, read);
      if (!(at > before?.end) || at > before.at + 30_000 || !fleet.isFair(before.at, end)) continue;
      if (before.at < fleet.againFrom && at >= fleet.againFrom) continue;
      const isWrite = ({ at: calledAt, version, path }) =>
        version && path.includes(`/${variables.market}/`) && calledAt > before.at - 60_000 && calledAt < end;
      if (!calls.some(isWrite)) yield { ...shown(read), before: shown(before), call: call.path };
    }
  },
};

/** Of a request what tells it from others. */
export const shown = ({ id, kind, document, variables, gateway, at, end, status, error, text }) => {
  return { id, kind, document, variables, gateway, at, end, status, error, text: text.slice(0, 500) };
};

/** Of a call. */
const marketIn = path => /\/(?:discovery|markets)\/(\d+)/.exec(path)?.[1];

/** Whether a gateway, as it runs now, knew a second before a write that the service accepts its credential for its market; or could know it from Redis, which
 * each gateway tells again within a minute. */
export const isKnown = (fleet, { secret, gateway, at, path }) => {
  const ends = fleet.taken.filter(step => /gateway(IsKilled|Restarts)/.test(step.do) && step.at < at);
  const startedAt = ends.at(-1)?.at ?? 0;
  const isTold = ({ acceptedAt }) =>
    !fleet.had(/redis|Paused|clock|connections/, acceptedAt - 65_000, at) &&
    !fleet.had(/gateway(IsKilled|Restarts)/, acceptedAt, acceptedAt + 1_000);
  return fleet.service.calls.some(
    call =>
      call.secret === secret &&
      marketIn(call.path) === marketIn(path) &&
      call.acceptedAt < at - 1_000 &&
      ((call.gateway === gateway && call.at > startedAt) || isTold(call)),
  );
};
