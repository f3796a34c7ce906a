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
    const entity = {
      name: this.updates.length % 2 ? 'steel' : 'coal',
      entityType: 'category',
      mappedFrom: 'x',
      impact: { likelihood: 2, severity: 3, rationale: 'r' },
    };
    this.events.set(id, {
      _id: id,
      title: `${this.name} ${number}`,
      lastUpdated,
      references: [{ _id: `o-${id}`, title: this.name }],
      vectorIndex: { anchorText: null, embeddings: [number, 0.5], embeddingsModelName: null },
      taxonomicMatches: { affectedDatapoints: [], alertTypes: [], impactedEntities: [entity] },
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
    const meta = {
      totalItems: sorted.length,
      totalPages: Math.ceil(sorted.length / size),
      currentPage: page,
      pageSize: size,
    };
    return {
      meta: { ...meta, unfilteredTotalItems: this.updates.length },
      data: sorted.slice((page - 1) * size, page * size),
    };
  }
}

/** @param note is called for each call. */
export function startService(seed, note) {
  const host = new Host('service', seed);
  const accounts = new Map(['a', 'b', 'u'].map(name => [name, new Account(name, host.random)]));
  const markets = new Map([1, 2].map(id => [id, { id, version: 1, jobs: { discovery: [], markets: [] } }]));
  const calls = [];
  const service = { host, accounts, markets, calls, trouble: undefined, exports: [], receiver: 'ok' };
  let jobs = 0;

  const ofAccount = headers =>
    accounts.get(/(?:key-|svc=)(\w+)/.exec(headers['x-api-key'] ?? headers.cookie ?? '')?.[1]);
  const jobOf = ({ id, name, startedAt }) => {
    const share = Math.min(1, (now() - startedAt) / jobMs);
    const at = new Date(Date.now() - (now() - startedAt));
    const endTime = share < 1 ? null : new Date(at.getTime() + jobMs).toISOString();
    return {
      jobId: id,
      workflowName: name,
      jobProgress: Math.floor(share * 100),
      status: share < 1 ? 'running' : 'done',
      startTime: at.toISOString(),
      endTime,
    };
  };
  const isRunning = list => list.some(job => now() - job.startedAt < jobMs);
  const start = (market, phase, names) => {
    market.jobs[phase] = names.map(name => ({ id: ++jobs, name, startedAt: now() }));
    return { metadata: { marketId: market.id }, data: market.jobs[phase].map(jobOf) };
  };

  /** The reply to a call: a status and a body. */
  function answer(method, url, account, call) {
    if (url.pathname.endsWith('/sign-in')) return [200, { name: 'Una' }, { 'set-cookie': 'svc=u; Path=/' }];
    if (account === undefined || account.isRevoked)
      return [401, { success: false, errorCode: 'UNAUTHORISED', message: 'Unknown key' }];
    if (url.pathname.endsWith('/events')) return [200, account.list(url.searchParams)];
    if (url.pathname.endsWith('/session'))
      return [
        200,
        { idToken: 'i', accessToken: `${account.name}-session`, refreshToken: 'r', expiresIn: 60, checksum: 'c' },
      ];
    const [, observation] = /observation\/(.+)$/.exec(url.pathname) ?? [];
    if (observation !== undefined)
      return [
        200,
        {
          _id: observation,
          title: `${account.name} observation`,
          content: [],
          textEmbedding: [1.5, observation.length],
          addedAt: '2026-01-01T00:00:00.000Z',
        },
      ];
    const [, part, id, what] = /\/(discovery|markets)\/(\d+)\/?(.*)$/.exec(url.pathname) ?? [];
    const market = markets.get(Number(id));
    if (market === undefined) return [404, { success: false, errorCode: 'NOT_FOUND', message: 'Unknown market' }];
    const name = `${account.name} m${id} v${market.version}`;
    if (method !== 'GET' && what !== 'topics') {
      if (what === 'start' && isRunning(market.jobs.discovery))
        return [409, { success: false, errorCode: 'CONFLICT', message: 'Running' }];
      market.version += 1;
      call.version = market.version;
      call.appliedAt = now();
      if (what === 'start') return [200, start(market, 'discovery', ['first_pass'])];
      if (what === 'publish') return [200, start(market, 'markets', ['enrichment', 'scrape'])];
      return [200, {}];
    }
    if (what === 'jobs') return [200, { metadata: { marketId: market.id }, data: market.jobs[part].map(jobOf) }];
    if (what === 'companies') {
      const company = { description: name, naics: [], operatesIn: [], dunsNumbers: [] };
      return [
        200,
        {
          data: ['steel', 'coal'].map((each, index) => ({
            ...company,
            domain: `${each}.test`,
            name: each,
            score: 2 - index,
          })),
        },
      ];
    }
    if (what === 'esg') return [200, { data: { note: name } }];
    if (what === 'search-criteria') return [200, { userPrompt: name }];
    if (what === 'search-criteria/history') return [200, [{ userPrompt: name }]];
    if (what === 'topics') return [200, { data: [{ topicId: 1, label: name, groups: [] }] }];
    return [
      200,
      {
        id: market.id,
        name,
        subtitle: '',
        description: '',
        date_created: '2026-01-01T00:00:00.000Z',
        company_count: 1,
        review_status: 'published',
      },
    ];
  }

  serve(host, 'service', async (request, response, body) => {
    const url = new URL(request.url, 'http://service');
    const account = ofAccount(request.headers);
    const call = {
      at: now(),
      method: request.method,
      path: request.url,
      account: account?.name,
      requestId: request.headers['x-request-id'],
      gateway: request.socket.peer?.host.name,
      body,
    };
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
    const seen = {
      at: now(),
      headers: request.headers,
      key: request.headers['idempotency-key'],
      by: new URL(request.url, 'http://x').searchParams.get('by'),
      mode,
      body,
      isAnswered: false,
    };
    service.exports.push(seen);
    note({ export: [seen.key, seen.by] });
    if (mode === 'hang') return;
    if (mode === 'reset') return request.socket.destroy();
    await sleep(mode === 'late' ? 15_500 : 5 + host.random() * 500);
    // The connection may be gone by now.
    seen.isAnswered = !response.destroyed && mode === 'ok';
    send(response, { fail: 500, reject: 422 }[mode] ?? 200, {
      title: 'Taken',
      message: `${mode}<br>and <b>done</b>`,
      redirectUrl: null,
    });
  });
  return service;
}

function send(response, status, body, headers) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
