// Requests at a steady rate, each with an answer that is known beforehand.

import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Agent, request } from 'undici';

/** Longer than the gateway takes at most. */
const patienceMs = 15_000;
const codes = new Set(['UPSTREAM_TIMEOUT', 'UPSTREAM_UNAVAILABLE', 'UPSTREAM_INVALID_RESPONSE', 'RATE_LIMITED']);

/** Each read has a unique time long before all events, so the cache answers none of them and all have the same response. */
const cold = number =>
  `{ events(first: 3, filter: { from: "${new Date(Date.UTC(2000, 0, 1) + number * 1_000).toISOString()}" }) { nodes { id title } } }`;
const warm = '{ market(id: 1) { name } }';
/** Sets what it sets, however often it is asked: who lost its answer may ask again. */
const write =
  'mutation { reviewCompanies(input: { marketId: 4, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }';

/** @typedef {{ query: string, key?: string, extensions?: object }} Request */

let asked = 0;
/** @type {((number: number) => Request)[]} */
const everyday = [cold, () => warm, cold, () => warm, () => write].map(queryOf => number => ({
  query: queryOf(number),
}));

/** @param {string} origin @param {Request} sent @param {Agent} dispatcher */
async function post(origin, { key = 'demo-key-subscribed', ...sent }, dispatcher) {
  const { statusCode, headers, body } = await request(`${origin}/graphql`, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify(sent),
  });
  return { status: statusCode, retryAfter: headers['retry-after'], text: await body.text() };
}

/** The right answers, from a system that is well. @param {string} origin */
export async function rightAnswers(origin, kinds = everyday) {
  const dispatcher = new Agent();
  const right = [];
  for (const kind of kinds) {
    asked += 1;
    const { text } = await post(origin, kind(asked), dispatcher);
    const { data, errors } = JSON.parse(text);
    if (errors !== undefined) throw new Error(`A well system answers ${JSON.stringify(errors)}`);
    right.push({ text, data });
  }
  await dispatcher.close();
  return right;
}

/**
 * Load until `stop`.
 * @param {string} origin @param {{ text: string, data: unknown }[]} right
 * @param {{ repeats?: boolean, apart?: boolean, kinds?: ((number: number) => Request)[], lanes?: number, pauseMs?: number }} [how] `repeats`:
 * what broke is asked once more, as clients do; `apart`: no two requests are equal, so that each is executed and none answered with a whole
 * answer that was kept; `lanes`: clients, each of which rests for `pauseMs` after an answer
 */
export function startLoad(
  origin,
  right,
  { repeats = false, apart = false, kinds = everyday, lanes = 8, pauseMs = 20 } = {},
) {
  const dispatcher = new Agent({ headersTimeout: patienceMs, bodyTimeout: patienceMs });
  const totals = { sent: 0, right: 0, typed: 0, lost: 0, repeated: 0 };
  /** What the first lost ones came to. @type {string[]} */
  const losses = [];
  let lastBadAt = 0;
  let stopped = false;

  async function outcomeOf(origin, which, sent, mayRepeat) {
    try {
      const { status, retryAfter, text } = await post(origin, sent, dispatcher);
      if (text === right[which].text) return 'right';
      const json = JSON.parse(text);
      // The balancer says that the outcome is unknown.
      if (status === 502) throw new Error(`502 ${text}`);
      if (json.errors?.length > 0) {
        const tellsWhen = status !== 503 || retryAfter !== undefined;
        if (tellsWhen && json.errors.every(({ extensions }) => codes.has(extensions?.code))) return 'typed';
        losses.push(`${status} ${JSON.stringify(json.errors)}`);
        return 'lost';
      }
      if (isDeepStrictEqual(json.data, right[which].data)) return 'right';
      losses.push(`${status} ${text.slice(0, 500)}`);
    } catch (error) {
      if (mayRepeat) {
        totals.repeated += 1;
        return outcomeOf(origin, which, sent, false);
      }
      losses.push(`${sent.query.split(' ')[0]}: ${error.code ?? ''} ${error.message}`);
    }
    return 'lost';
  }

  // All connections first: Node accepts one in each turn of its event loop, and the turns of a busy gateway are long.
  const connected = Promise.all(
    Array.from({ length: lanes }, async () => (await request(`${origin}/healthz`, { dispatcher })).body.dump()),
  );
  const all = Array.from({ length: lanes }, async () => {
    await connected;
    while (!stopped) {
      asked += 1;
      const which = asked % kinds.length;
      const sent = kinds[which](asked);
      totals.sent += 1;
      const outcome = await outcomeOf(
        origin,
        which,
        apart ? { ...sent, query: `${sent.query} # ${asked}` } : sent,
        repeats,
      );
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
