// The simulated service, and the receiver of exports: what gateways call. Every text that it sends names the account that it belongs to, and the number
// of the write or of the update that it comes from, so that the oracle can tell what a client may see. `trouble` says what is wrong with it now.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { lineOf, listen } from './network.mjs';
import { Host, now } from './time.mjs';

const jobMs = 40_000;
const orders = [
  events => events.reverse(),
  events => events,
  events => events.sort((one, other) => (one._id.at(-1) < other._id.at(-1) ? -1 : 1)),
];

function serve(host, name, handle) {
  const server = createServer((request, response) => {
    response.on('error', () => {});
    void text(request).then(
      body => handle(request, response, body),
      () => {},
    );
  });
  listen(name, host, socket => server.emit('connection', socket));
}

const dayMs = 86_400_000;
/** Of companies and entities: one contains another, or differs only in its case; others are clear; for the last one the service cannot search. */
export const names = ['iron', 'zinc', 'steel', 'Steel', 'steel works', 'coal', 'coal, raw'];

/** The events of one account. All its updates are numbered, in the order in which the list gets them. */
class Account {
  events = new Map();
  updates = [];
  /** How many times at once. */
  revoked = 0;
  #latest = 0;

  constructor(name, random) {
    const one = list => list[Math.floor(random() * list.length)];
    Object.assign(this, { name, one, order: one(orders), findsParts: one([true, false]), isLoose: one([true, false]) });
    // Some are older than what a list shows by default.
    const [count, apartMs] = [one([0, 1, 5, 120]), one([60_000, dayMs / 2])];
    for (let left = count; left > 0; left -= 1) this.post(Date.now() - left * apartMs, { lateMs: 1 });
  }

  /** A new event, or a new version of one; `lateMs` older than the newest. */
  post(time, { lateMs = 0, updates }) {
    this.#latest = Math.max(this.#latest + (lateMs === 0 ? 1 : 0), time);
    const known = [...this.events.keys()];
    const id =
      updates === undefined || known.length === 0 ? `${this.name}-e${known.length}` : known[updates % known.length];
    // A new version is never older than the one before it.
    const lastUpdated = new Date(
      Math.max(this.#latest - lateMs, 1 + Date.parse(this.events.get(id)?.lastUpdated ?? 0)),
    ).toISOString();
    const number = this.updates.length + 1;
    const event = this.#event(id, number, lastUpdated);
    this.updates.push({ number, id, lastUpdated, at: now(), event });
    this.events.set(id, event);
  }

  #event(id, number, lastUpdated) {
    const { name, one } = this;
    const anyScore = () => one([0, 1, 2, 3, null]);
    const shownScore = () => one([2, 3]);
    const impactOf = score => ({ likelihood: score(), severity: score(), rationale: 'r' });
    const entity = score => ({ name: one(names), impact: one([1, 1, 1, 1, 1, 0]) ? impactOf(score) : null });
    return {
      _id: id,
      title: `${name} ${number}`,
      lastUpdated,
      references: [{ _id: `o-${id}`, title: name, url: one(['https://news.test/1', 'javascript:1', null]) }],
      relevantEntities: [{ name: one(['acme', 'zeta']), entityType: one(['company', 'planet']), propertySource: null }],
      vectorIndex: one([null, { anchorText: null, embeddings: [number, 0.5], embeddingsModelName: null }]),
      taxonomicMatches: {
        affectedDatapoints: [{ name: one(['price', 'output']), subject: 'x', direction: 'up', quantity: null }],
        alertTypes: one([[], [{ name: 'strike', similarity: 0.5 }]]),
        impactedEntities: [entity(one([1, 1, 1, 1, 0]) ? shownScore : anyScore), ...one([[], [entity(anyScore)]])],
      },
    };
  }

  /** The events that a filter selects, as they were at a time, in the order of the list. Times are inclusive, in milliseconds. */
  select({ from, to, datapoints, alerts, entities, severity = [2, 3], likelihood = [2, 3] }, at = now()) {
    const today = Date.now() - (Date.now() % dayMs);
    const [start, end] = [from ?? today - dayMs, to ?? today + dayMs - 1];
    const plain = text => (this.findsParts ? text.toLowerCase() : text);
    const isNamed = (name, wanted) => (this.findsParts ? plain(name).includes(plain(wanted)) : name === wanted);
    const named = (records, wanted) =>
      wanted === undefined ? records : records.filter(({ name }) => wanted.some(each => isNamed(name, each)));
    const isWithin = (score, [min, max]) => typeof score === 'number' && score >= min && score <= max;
    const isScored = ({ impact }) => isWithin(impact?.severity, severity) && isWithin(impact?.likelihood, likelihood);
    const matches = ({ lastUpdated, taxonomicMatches: { affectedDatapoints, alertTypes, impactedEntities } }) => {
      const impacted = named(impactedEntities, entities);
      const time = Date.parse(lastUpdated);
      return (
        time >= start &&
        time <= end &&
        impacted.length > 0 &&
        (this.isLoose ? impactedEntities : impacted).some(isScored) &&
        (datapoints === undefined || named(affectedDatapoints, datapoints).length > 0) &&
        (alerts === undefined || named(alertTypes, alerts).length > 0)
      );
    };
    const events = new Map(this.updates.filter(update => update.at <= at).map(({ id, event }) => [id, event]));
    const found = [...events.values()].filter(matches);
    return this.order(found.sort((one, other) => (one.lastUpdated < other.lastUpdated ? -1 : 1)));
  }

  /** What the service answers; undefined if it would refuse the query. */
  list(query) {
    const time = (name, rest) => {
      const text = query.get(name) ?? undefined;
      return text && Date.parse(/^[\d-]{10}$/.test(text) ? text + rest : text);
    };
    const list = name => query.get(name)?.split(',');
    const scores = name => [Number(query.get(`min${name}`) ?? 2), Number(query.get(`max${name}`) ?? 3)];
    const filter = {
      from: time('from', 'T00:00:00Z'),
      to: time('to', 'T23:59:59.999Z'),
      datapoints: list('affectedDatapoint'),
      alerts: list('alertType'),
      entities: list('impactedEntity'),
      severity: scores('Severity'),
      likelihood: scores('Likelihood'),
    };
    const [page, size] = [Number(query.get('page')), Number(query.get('pageSize'))];
    const numbers = [page, size, ...filter.severity, ...filter.likelihood, filter.from ?? 0, filter.to ?? 0];
    const isKnown = name => known.includes(name);
    if (!numbers.every(Number.isInteger) || page < 1 || size < 1 || size > 100 || ![...query.keys()].every(isKnown))
      return undefined;
    const found = this.select(filter);
    const totalItems = found.length;
    const meta = { totalItems, totalPages: Math.ceil(totalItems / size), currentPage: page, pageSize: size };
    const data = found.slice((page - 1) * size, page * size);
    return { meta: { ...meta, unfilteredTotalItems: this.updates.length }, data };
  }
}

const known =
  'pageSize page from to affectedDatapoint alertType impactedEntity minSeverity maxSeverity minLikelihood maxLikelihood'.split(
    ' ',
  );

const genericFailure = 'The export could not be delivered. Please contact your IT support.';
const unexplained = 'The endpoint rejected the export and gave no reason that can be shown.';
const failed = { __typename: 'ExportFailed', message: genericFailure };
const delivered = { __typename: 'ExportDelivered', title: 'Taken', messageText: 'ok', redirectUrl: null };
const rejected = { __typename: 'ExportRejected', title: 'No', messageText: 'why', references: [] };
const defaultDelivered = { ...delivered, title: 'Delivered', messageText: 'The endpoint accepted the export.' };
const defaultRejected = { ...rejected, title: 'Rejected', messageText: unexplained };
const reference = { title: 'r', message: 'm', url: 'http://a.test/', type: 'error' };
const toldReferences = [
  { ...reference, type: 'ERROR' },
  { title: 't', message: null, url: null, type: 'WARNING' },
];
const url = 'https://a.test/x';

/** What the receiver may answer in each mode, and what clients are told of it. `isOdd`: an explanation says what would be right. */
export const answers = {
  ok: [
    {
      status: 200,
      body: { title: 'Taken', message: '<b>ok</b>', redirectUrl: url },
      told: { ...delivered, redirectUrl: url },
    },
    {
      status: 200,
      body: { title: 'Taken', message: 'ok<br>so<script>x</script>', redirectUrl: null },
      told: { ...delivered, messageText: 'ok\nso' },
    },
    { status: 200, body: { title: 'Taken', message: 'ok', redirectUrl: 'javascript:x' }, told: delivered },
    { status: 200, body: 'done', told: defaultDelivered, isOdd: true },
  ],
  fail: [500, 503, 599].map(status => ({ status, body: {}, told: failed, isOdd: true })),
  reject: [
    { status: 422, body: { title: 'No', message: 'why' }, told: rejected },
    {
      status: 207,
      body: { title: 'No', message: 'why', references: [reference, { message: 'untitled' }, { title: 't' }] },
      told: { ...rejected, references: toldReferences },
    },
    { status: 400, body: '', told: defaultRejected, isOdd: true },
    { status: 410, body: {}, told: defaultRejected, isOdd: true },
    { status: 302, body: {}, told: failed, isOdd: true },
    { status: 204, body: '', told: failed, isOdd: true },
  ],
};

/** What the service may refuse a call with, and the code of that. */
const refusedBy = {
  '400 QUERY_VALIDATION_FAILED': 'BAD_USER_INPUT',
  '200 QUERY_VALIDATION_FAILED': 'BAD_USER_INPUT',
  413: 'BAD_USER_INPUT',
  422: 'BAD_USER_INPUT',
  '500 UNAUTHORISED': 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  410: 'NOT_FOUND',
  409: 'CONFLICT',
  429: 'RATE_LIMITED',
  418: 'UPSTREAM_INVALID_RESPONSE',
  200: 'UPSTREAM_INVALID_RESPONSE',
  '200 INTERNAL_SERVER_ERROR': 'UPSTREAM_UNAVAILABLE',
};

/** @param note is called for each call. */
export function startService(seed, note) {
  const host = new Host('service', seed);
  const accounts = new Map(['a', 'b', 'u'].map(name => [name, new Account(name, host.random)]));
  const markets = new Map([1, 2].map(id => [id, { id, version: 1, jobs: { discovery: [], markets: [] } }]));
  const calls = [];
  const service = { host, accounts, markets, calls, trouble: undefined, exports: [], deliveries: [], receiver: 'ok' };
  let jobs = 0;

  const ofAccount = headers =>
    accounts.get(/(?:key-|svc=)(\w+)/.exec(headers['x-api-key'] ?? headers.cookie ?? '')?.[1]);
  const jobOf = ({ id, name, startedAt }) => {
    const ranMs = now() - startedAt;
    const share = Math.min(1, ranMs / jobMs);
    const at = new Date(Date.now() - ranMs);
    const endTime = share < 1 ? null : new Date(at.getTime() + jobMs).toISOString();
    const status = share < 1 ? 'running' : 'done';
    const jobProgress = Math.floor(share * 100);
    return { jobId: id, workflowName: name, jobProgress, status, startTime: at.toISOString(), endTime };
  };
  const isRunning = list => list.some(job => now() - job.startedAt < jobMs);
  const start = (market, phase, names) => {
    market.jobs[phase] = names.map(name => ({ id: ++jobs, name, startedAt: now() }));
    return { metadata: { marketId: market.id }, data: market.jobs[phase].map(jobOf) };
  };

  const refused = (status, errorCode, message) => [status, { success: false, errorCode, message }];

  /** The reply to a call: a status and a body. */
  function answer(method, url, account, call) {
    const { pathname } = url;
    if (pathname.endsWith('/sign-in'))
      return JSON.parse(call.body).password === 'p'
        ? [200, { name: 'Una' }, { 'set-cookie': 'svc=u; Path=/' }]
        : refused(401, 'UNAUTHORISED', 'Wrong password');
    if (account === undefined || account.revoked > 0) return refused(401, 'UNAUTHORISED', 'Unknown key');
    if (pathname.endsWith('/events')) {
      const page = account.list(url.searchParams);
      return page ? [200, page] : refused(400, 'QUERY_VALIDATION_FAILED', 'Invalid parameters');
    }
    const tokens = { idToken: 'i', accessToken: `${account.name}-session`, refreshToken: 'r', checksum: 'c' };
    if (pathname.endsWith('/session')) return [200, { ...tokens, expiresIn: 60 }];
    const [, observation] = /observation\/(.+)$/.exec(pathname) ?? [];
    if (observation !== undefined) {
      const title = `${account.name} observation`;
      const textEmbedding = [1.5, observation.length];
      return [200, { _id: observation, title, content: [], textEmbedding, addedAt: '2026-01-01T00:00:00.000Z' }];
    }
    const [, part, id, what] = /\/(discovery|markets)\/(\d+)\/?(.*)$/.exec(pathname) ?? [];
    const market = markets.get(Number(id));
    if (market === undefined) return refused(404, 'NOT_FOUND', 'Unknown market');
    if (method !== 'GET' && what !== 'topics') return write(market, what, call);
    const name = `${account.name} m${id} v${market.version}`;
    const company = { description: name, naics: [], operatesIn: [], dunsNumbers: [] };
    const record = { id: market.id, name, subtitle: '', description: '', date_created: '2026-01-01T00:00:00.000Z' };
    const bodies = {
      jobs: () => ({ metadata: { marketId: market.id }, data: market.jobs[part].map(jobOf) }),
      companies: () => ({
        data: names.map((each, at) => ({ ...company, domain: `${at}.test`, name: each, score: names.length - at })),
      }),
      esg: () => ({ data: { note: name } }),
      'search-criteria': () => ({ userPrompt: name }),
      'search-criteria/history': () => [{ userPrompt: name }],
      topics: () => ({ data: [{ topicId: 1, label: name, groups: [] }] }),
    };
    return [200, bodies[what]?.() ?? { ...record, company_count: 1, review_status: 'published' }];
  }

  function write(market, what, call) {
    if (what === 'start' && isRunning(market.jobs.discovery)) return refused(409, 'CONFLICT', 'Running');
    market.version += 1;
    Object.assign(call, { version: market.version, appliedAt: now() });
    if (what === 'start') return [200, start(market, 'discovery', ['first_pass'])];
    return [200, what === 'publish' ? start(market, 'markets', ['enrichment', 'scrape']) : {}];
  }

  serve(host, 'service', async (request, response, body) => {
    const url = new URL(request.url, 'http://service');
    const account = ofAccount(request.headers);
    const { method, url: path, headers: given } = request;
    const gateway = request.socket.peer?.host.name;
    const credentials = ['x-api-key', 'cookie', 'authorization'].filter(name => name in given);
    const requestId = given['x-request-id'];
    const secret = credentials.map(name => given[name]).join();
    const call = { at: now(), method, path, account: account?.name, credentials, secret, requestId, gateway, body };
    calls.push(call);
    note({ call: [call.method, call.path, call.account, call.gateway] });
    const trouble = host.random() < (service.trouble?.share ?? 0) ? service.trouble.kind : undefined;
    if (trouble === 'slow') await sleep(500 + host.random() * 6_000);
    if (trouble === 'error' && host.random() < 0.5) return send(response, 503, { success: false });
    // A write takes its time before it is carried out: reads in between see what was before.
    if (/start|publish|reviews/.test(url.pathname)) await sleep(host.random() * 150);
    if (trouble === 'refuse') {
      const all = Object.entries(refusedBy);
      const [problem, code] = all[Math.floor(host.random() * all.length)];
      const [status, errorCode = null] = problem.split(' ');
      call.refusal = code;
      return send(response, Number(status), { success: false, errorCode, message: 'no' });
    }
    const [status, content, headers] = answer(request.method, url, account, call);
    const json = JSON.stringify(content);
    if (trouble === 'silent') return undefined;
    if (trouble === 'reset') return request.socket.destroy();
    if (trouble === 'error') return send(response, 500, { success: false, errorCode: 'INTERNAL_SERVER_ERROR' });
    if (trouble === 'html') return send(response, 200, '<html>Maintenance</html>', { 'content-type': 'text/html' });
    await sleep(1 + host.random() * 20);
    if (trouble !== 'cut' && status === 200 && !response.destroyed) call.acceptedAt = now();
    // What one of the accounts gets is compressed.
    if (trouble !== 'cut' && account?.name === 'b')
      return send(response, status, gzipSync(json), { 'content-encoding': 'gzip' });
    if (trouble !== 'cut') return send(response, status, json, headers);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': json.length });
    response.write(json.slice(0, json.length / 2), () => setTimeout(() => request.socket.destroy(), 5));
  });

  serve(host, 'receiver.test', async (request, response, body) => {
    const mode = service.receiver;
    const { headers } = request;
    const by = new URL(request.url, 'http://x').searchParams.get('by');
    const { insideSince } = lineOf('receiver.test');
    const seen = { at: now(), headers, key: headers['idempotency-key'], by, mode, body, insideSince };
    const isDelivery = request.url === '/feed';
    service[isDelivery ? 'deliveries' : 'exports'].push(seen);
    note({ export: [seen.key, seen.by] });
    if (mode === 'hang') return;
    if (mode === 'reset') return request.socket.destroy();
    await sleep(mode === 'late' ? 15_500 : 5 + host.random() * 500);
    // The connection may be gone by now.
    seen.isAnswered = !response.destroyed && mode === 'ok';
    if (isDelivery && seen.isAnswered && !service.take(seen.key, JSON.parse(body))) return send(response, 500, {});
    const all = answers[mode] ?? answers.ok;
    seen.answer = isDelivery ? all[0] : all[Math.floor(host.random() * all.length)];
    seen.milliseconds = now() - seen.at;
    send(response, seen.answer.status, seen.answer.body);
  });
  return service;
}

function send(response, status, body, headers) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
}
