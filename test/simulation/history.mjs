// Histories: what happens, by a seed. Swarm: each seed takes some of the operations and some of the faults only, so that none drowns the others.
import { documents } from './documents.mjs';
import { faults, operations } from './fleet.mjs';
import { drawsFrom } from './time.mjs';

/** What strikes in the middle of an operation: its gateway dies, Redis loses it, or cannot know of it; its receiver moves. */
const inTheMiddle = { write: ['gatewayIsKilled', 'redisFailsOver', 'redisIsFull'], export: ['addressIsInside'] };

/** @param only the faults to choose from; undefined: all. */
export function historyOf(seed, minutes, only = Object.keys(faults)) {
  const random = drawsFrom(`history ${seed}`);
  const below = end => Math.floor(random() * end);
  const pick = list => list[below(list.length)];
  const some = (list, share) => list.filter(() => random() < share);
  const chosen = { operations: some(Object.keys(operations), 0.6), faults: some(only, pick([0, 0.1, 0.3])) };
  if (chosen.operations.length < 2) chosen.operations = Object.keys(operations);
  const pauseMs = 150 + below(850);
  const faultShare = chosen.faults.length === 0 ? 0 : 0.03 + random() * 0.12;
  const steps = [];
  const end = minutes * 60_000;
  for (let at = 3_000; at < end; at += below(2 * pauseMs)) {
    const isFault = random() < faultShare;
    // Most faults strike in the middle of an operation.
    const last = steps.at(-1)?.at ?? at;
    const step = {
      at: isFault && random() < 0.7 ? Math.min(at, last + below(60)) : at,
      do: pick(isFault ? chosen.faults : chosen.operations),
      via: below(100),
      number: below(100),
      account: pick(['a', 'a', 'b', 'u']),
      market: String(1 + below(2)),
    };
    if (isFault) Object.assign(step, { forMs: 200 + below(random() < 0.5 ? 3_000 : 20_000), share: random() });
    if (step.do === 'post') {
      Object.assign(step, {
        count: random() < 0.04 ? 90 + below(60) : 1 + below(3),
        lateMs: random() < 0.2 ? below(200_000) : 0,
      });
      if (random() < 0.4) step.updates = 1 + below(1_000);
    }
    if (step.do === 'read')
      Object.assign(step, { ...readOf(pick(Object.keys(documents)), random), isAgain: random() < 0.4 });
    if (step.do === 'read' || step.do === 'write') step.leavesAfterMs = random() < 0.1 ? below(300) : undefined;
    if (step.do === 'write') step.racesAfterMs = random() < 0.5 ? below(60) : undefined;
    if (step.do === 'write') step.what = pick(['start', 'publish', 'review', 'review']);
    if (step.do === 'listen') step.first = pick([1, 3, 100]);
    if (step.do === 'listen') step.transport = pick(['sse', 'ws', 'pull', 'both', 'watch']);
    // A session may have no endpoints.
    if ((step.transport === 'watch' || step.document?.startsWith('refused')) && step.account === 'u')
      step.account = 'a';
    if (step.do === 'followJobs') step.transport = pick(['sse', 'ws']);
    if (step.do === 'followJobs') step.phase = pick(['DISCOVERY', 'PUBLISH']);
    if (step.do === 'signIn') step.password = pick(['p', 'p', 'wrong']);
    if (step.do === 'drop') step.isEnd = random() < 0.3;
    if (step.do === 'export')
      Object.assign(step, {
        key: `k${below(12)}`,
        isAgain: random() < 0.3,
        what: pick(['send', 'send', 'retry', 'test', 'update', 'rotate', 'list']),
      });
    if (step.do === 'listen') step.isFromEnd = random() < 0.2;
    if (step.do === 'listen' && step.transport !== 'watch') step.isFromNow = random() < 0.15;
    steps.push(step);
    for (const fault of inTheMiddle[step.do] ?? []) {
      if (!chosen.faults.includes(fault) || random() > 0.4) continue;
      if (step.do === 'write') step.racesAfterMs ??= below(60);
      const strikesAt = at + below(fault === 'redisFailsOver' ? 1_000 : 40);
      const chance = { number: step.via + below(2), forMs: 2_000 + below(20_000), share: random() };
      steps.push({ ...step, ...chance, at: strikesAt, do: fault });
    }
  }
  const env = {
    POLL_INTERVAL_MS: String(1_000 * (1 + below(4))),
    RESPONSE_CACHE: String(random() < 0.7),
    EVENT_STATISTICS_LIMIT: pick(['100', '2000']),
  };
  const isAlone = random() < 0.15;
  return { seed, minutes, isAlone, count: isAlone ? 1 : 1 + below(3), env, steps };
}

/** A document, and its variables by chance. */
export function readOf(document, random) {
  const below = end => Math.floor(random() * end);
  return { document, variables: documents[document].draw?.({ below, pick: list => list[below(list.length)] }) };
}

/** The pairs of an operation and a fault that a history has within a minute of each other. */
export function pairsIn({ steps }) {
  const pairs = new Set();
  for (const fault of steps.filter(step => step.do in faults)) {
    const near = steps.filter(step => step.do in operations && Math.abs(step.at - fault.at) < 60_000);
    for (const step of near) pairs.add(`${step.do} ${fault.do}`);
  }
  return pairs;
}
