// Requests at a steady rate, each with an answer that is known beforehand.

import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Agent, request } from 'undici';

const lanes = 8;
const pauseMs = 20;
/** Longer than the gateway takes at most. */
const patienceMs = 15_000;
const codes = new Set(['UPSTREAM_TIMEOUT', 'UPSTREAM_UNAVAILABLE', 'UPSTREAM_INVALID_RESPONSE', 'RATE_LIMITED']);
const key = { 'x-api-key': 'demo-key-subscribed' };

/** Each read has a unique time long before all events, so the cache answers none of them and all have the same response. */
const cold = number =>
  `{ events(first: 3, filter: { from: "${new Date(Date.UTC(2000, 0, 1) + number * 1_000).toISOString()}" }) { nodes { id title } } }`;
const warm = '{ market(id: 1) { name } }';
/** Sets what it sets, however often it is asked: who lost its answer may ask again. */
const write =
  'mutation { reviewCompanies(input: { marketId: 4, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }';

let asked = 0;
const kinds = [() => cold(asked), () => warm, () => cold(asked), () => warm, () => write];

/** @param {string} origin @param {string} query @param {Agent} dispatcher */
async function post(origin, query, dispatcher) {
  const { statusCode, body } = await request(`${origin}/graphql`, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...key },
    body: JSON.stringify({ query }),
  });
  return { status: statusCode, json: JSON.parse(await body.text()) };
}

/** The right answers, from a system that is well. @param {string} origin */
export async function rightAnswers(origin) {
  const dispatcher = new Agent();
  const right = [];
  for (const kind of kinds) {
    asked += 1;
    const { json } = await post(origin, kind(), dispatcher);
    if (json.errors !== undefined) throw new Error(`A well system answers ${JSON.stringify(json.errors)}`);
    right.push(json.data);
  }
  await dispatcher.close();
  return right;
}

/**
 * Load until `stop`.
 * @param {string} origin @param {unknown[]} right
 * @param {{ repeats?: boolean, apart?: boolean }} [how] `repeats`: what broke is asked once more, as clients do; `apart`: no two requests are
 * equal, so that each is executed and none answered with a whole answer that was kept
 */
export function startLoad(origin, right, { repeats = false, apart = false } = {}) {
  const dispatcher = new Agent({ headersTimeout: patienceMs, bodyTimeout: patienceMs });
  const totals = { sent: 0, right: 0, typed: 0, lost: 0, repeated: 0 };
  /** What the first lost ones came to. @type {string[]} */
  const losses = [];
  let lastBadAt = 0;
  let stopped = false;

  async function outcomeOf(origin, which, query, mayRepeat) {
    try {
      const { status, json } = await post(origin, query, dispatcher);
      if (json.errors?.length > 0) {
        if (json.errors.every(({ extensions }) => codes.has(extensions?.code))) return 'typed';
        losses.push(`${status} ${JSON.stringify(json.errors)}`);
        return 'lost';
      }
      if (isDeepStrictEqual(json.data, right[which])) return 'right';
      losses.push(`${status} ${JSON.stringify(json)}`);
    } catch (error) {
      if (mayRepeat) {
        totals.repeated += 1;
        return outcomeOf(origin, which, query, false);
      }
      losses.push(`${query.split(' ')[0]}: ${error.code ?? ''} ${error.message}`);
    }
    return 'lost';
  }

  const all = Array.from({ length: lanes }, async () => {
    while (!stopped) {
      asked += 1;
      const which = asked % kinds.length;
      const query = `${kinds[which]?.() ?? ''}${apart ? ` # ${asked}` : ''}`;
      totals.sent += 1;
      const outcome = await outcomeOf(origin, which, query, repeats);
      totals[outcome] += 1;
      if (outcome !== 'right') lastBadAt = performance.now();
      await sleep(pauseMs);
    }
  });
  return {
    /** Ends the load when all is answered. @param {number} liftedAt when the fault was over, as `performance.now()` */
    async stop(liftedAt) {
      stopped = true;
      await Promise.all(all);
      await dispatcher.close();
      return { ...totals, losses: losses.slice(0, 3), recoveredMs: Math.max(lastBadAt - liftedAt, 0) };
    },
  };
}
