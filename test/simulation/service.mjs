// The simulated service, and the receiver of exports: what gateways call. Every text that it sends names the account that it belongs to, and the number
// of the write or of the update that it comes from, so that the oracle can tell what a client may see. `trouble` says what is wrong with it now.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from './network.mjs';
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

/** The events of one account. All its updates are numbered, in the order in which the list gets them. */
class Account {
  events = new Map();
  updates = [];
  isRevoked = false;
  #latest = 0;

  constructor(name, random) {
    Object.assign(this, { name, order: orders[Math.floor(random() * orders.length)] });
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
    this.updates.push({ number, id, lastUpdated, at: now() });
    const impact = { likelihood: 2, severity: 3, rationale: 'r' };
    const name = this.updates.length % 2 ? 'steel' : 'coal';
    const impactedEntities = [{ name, entityType: 'category', mappedFrom: 'x', impact }];
    this.events.set(id, {
      _id: id,
      title: `${this.name} ${number}`,
      lastUpdated,
      references: [{ _id: `o-${id}`, title: this.name }],
      vectorIndex: { anchorText: null, embeddings: [number, 0.5], embeddingsModelName: null },
      taxonomicMatches: { affectedDatapoints: [], alertTypes: [], impactedEntities },
    });
  }

  list(query) {
    const [from, to] = [query.get('from') ?? '', query.get('to') ?? '9'];
    const entities = query.get('impactedEntity')?.split(',');
    const matches = event =>
      entities === undefined || event.taxonomicMatches.impactedEntities.some(({ name }) => entities.includes(name));
    const found = [...this.events.values()].filter(
      event => event.lastUpdated >= from && event.lastUpdated <= to && matches(event),
    );
    const sorted = this.order(found.sort((one, other) => (one.lastUpdated < other.lastUpdated ? -1 : 1)));
    const [page, size] = [Number(query.get('page')), Number(query.get('pageSize'))];
    const totalItems = sorted.length;
    const meta = { totalItems, totalPages: Math.ceil(totalItems / size), currentPage: page, pageSize: size };
    const data = sorted.slice((page - 1) * size, page * size);
    return { meta: { ...meta, unfilteredTotalItems: this.updates.length }, data };
  }
}

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
    if (pathname.endsWith('/sign-in')) return [200, { name: 'Una' }, { 'set-cookie': 'svc=u; Path=/' }];
    if (account === undefined || account.isRevoked) return refused(401, 'UNAUTHORISED', 'Unknown key');
    if (pathname.endsWith('/events')) return [200, account.list(url.searchParams)];
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
        data: ['steel', 'coal'].map((each, at) => ({ ...company, domain: `${each}.test`, name: each, score: 2 - at })),
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
    const call = { at: now(), method, path, account: account?.name, requestId: given['x-request-id'], gateway, body };
    calls.push(call);
    note({ call: [call.method, call.path, call.account, call.gateway] });
    const trouble = host.random() < (service.trouble?.share ?? 0) ? service.trouble.kind : undefined;
    if (trouble === 'slow') await sleep(500 + host.random() * 6_000);
    if (trouble === 'error' && host.random() < 0.5) return send(response, 503, { success: false });
    // A write takes its time before it is carried out: reads in between see what was before.
    if (/start|publish|reviews/.test(url.pathname)) await sleep(host.random() * 150);
    const [status, content, headers] = answer(request.method, url, account, call);
    const json = JSON.stringify(content);
    if (trouble === 'silent') return undefined;
    if (trouble === 'reset') return request.socket.destroy();
    if (trouble === 'error') return send(response, 500, { success: false, errorCode: 'INTERNAL_SERVER_ERROR' });
    if (trouble === 'html') return send(response, 200, '<html>Maintenance</html>', { 'content-type': 'text/html' });
    await sleep(1 + host.random() * 20);
    if (trouble !== 'cut') return send(response, status, json, headers);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': json.length });
    response.write(json.slice(0, json.length / 2), () => setTimeout(() => request.socket.destroy(), 5));
  });

  serve(host, 'receiver.test', async (request, response, body) => {
    const mode = service.receiver;
    const { headers } = request;
    const by = new URL(request.url, 'http://x').searchParams.get('by');
    const seen = { at: now(), headers, key: headers['idempotency-key'], by, mode, body, isAnswered: false };
    const isDelivery = request.url === '/feed';
    service[isDelivery ? 'deliveries' : 'exports'].push(seen);
    note({ export: [seen.key, seen.by] });
    if (mode === 'hang') return;
    if (mode === 'reset') return request.socket.destroy();
    await sleep(mode === 'late' ? 15_500 : 5 + host.random() * 500);
    // The connection may be gone by now.
    seen.isAnswered = !response.destroyed && mode === 'ok';
    if (isDelivery && seen.isAnswered && !service.take(seen.key, JSON.parse(body))) return send(response, 500, {});
    const answer = { title: 'Taken', message: `${mode}<br>and <b>done</b>`, redirectUrl: null };
    send(response, { fail: 500, reject: 422 }[mode] ?? 200, answer);
  });
  return service;
}

function send(response, status, body, headers) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
