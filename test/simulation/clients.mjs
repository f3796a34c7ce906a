// The clients of the fleet, and what they saw: requests, subscriptions that go on behind their cursor through any gateway, sessions and exports.
import http from 'node:http';
import WebSocket from 'ws';
import { documents } from './documents.mjs';
import { connectTo } from './network.mjs';
import { now } from './time.mjs';

const list =
  'query ($first: Int, $last: Int) { events(first: $first, last: $last) { nodes { title } unfilteredTotalCount updatesCursor } }';
const updates = 'subscription ($after: String) { eventUpdates(after: $after) { kind cursor gap event { id title } } }';
const changes =
  'query ($after: String, $first: Int) { eventChanges(after: $after, first: $first) { nodes { kind cursor gap event { id title } } cursor hasMore gap } }';
const watching = {
  register: `mutation { registerExportEndpoint(input: { name: "feed", url: "http://receiver.test/feed", description: "d" }) { signingSecret } }`,
  begin: `mutation ($after: String) { watchEvents(input: { endpoint: "feed", after: $after }) { watch { id } } }`,
  renew: `mutation ($id: ID!, $after: String) { renewWatch(input: { watch: $id, after: $after }) { watch { id } } }`,
  list: '{ watches { id } }',
  stop: `mutation ($id: ID!) { stopWatching(input: { watch: $id }) { watch { id } } }`,
};
const jobs =
  'subscription ($id: ID!, $phase: JobPhase!) { jobProgress(marketId: $id, phase: $phase) { marketId phase unlisted finished overallProgress estimatedEndAt observedAt jobs { id progress completion } } }';
const progress =
  'subscription ($id: ID!) { exportProgress(exportId: $id) { id outcome finishedAt attempts { status fault } } }';
const writes = {
  start:
    'mutation ($market: ID!) { startDiscovery(input: { marketId: $market, searchCriteria: {} }) { ... on DiscoveryStarted { marketId } } }',
  publish: 'mutation ($market: ID!) { publishMarket(input: { marketId: $market }) { marketId } }',
  review:
    'mutation ($market: ID!) { reviewCompanies(input: { marketId: $market, reviewStatus: INCLUDE, target: { domains: ["coal.test"] } }) { marketId } }',
};
const ending = `__typename ... on ExportEnding { exportId delivered matching attempts { status fault milliseconds explanation } }
  ... on ExportDelivered { title messageText redirectUrl } ... on ExportRejected { title messageText references { title message url type } }
  ... on ExportFailed { message }`;
const record = `id outcome isTest marketId endpointName user idempotencyKey selected sent startedAt finishedAt attempts { status fault } result { ${ending} }`;
const exporting = {
  send: `mutation ($market: ID!, $key: String!) { exportMarketToEndpoint(input: { marketId: $market, endpoint: "crm", companies: { matching: {} }, idempotencyKey: $key,
    onBehalfOf: { name: $key, email: "a@b.test" } }) { ${ending} } }`,
  test: `mutation { testExportEndpoint(input: { endpoint: "crm" }) { ${ending} } }`,
  retry: `mutation ($id: ID!) { retryExport(input: { exportId: $id }) { ${ending} } }`,
  update:
    'mutation ($key: String!) { updateExportEndpoint(input: { endpoint: "crm", description: $key }) { endpoint { description } } }',
  rotate: 'mutation { rotateExportEndpointSecret(input: { endpoint: "crm" }) { signingSecret } }',
  register: `mutation { registerExportEndpoint(input: { name: "crm", url: "http://receiver.test/hook?by={user.name}", description: "d",
    headers: [{ name: "x-own", value: "mine" }] }) { signingSecret } }`,
  list: `{ exportEndpoints { id name url description headerNames failingSince } exports(first: 100, filter: { endpoint: "crm" }) { nodes { ${record} } }
    failed: exports(first: 100, filter: { outcome: FAILED }) { nodes { id } } ofMarket: exports(first: 3, filter: { marketId: 1 }) { totalCount nodes { id } } }`,
  read: `query ($key: String!) { export(by: { idempotencyKey: $key }) { ${record} } }`,
};

/** How long a client waits at most. */
export const patienceMs = 90_000;

const maxListening = 5;

export class Clients {
  requests = [];
  listeners = [];
  jobs = [];
  exports = [];
  /** The connections of all these. */
  streams = [];
  sessions = [];
  /** Of the endpoint, with those before. */
  secrets = [];

  /** @param fleet has `up()`, the gateways that take requests, and the host of the clients. */
  constructor(fleet) {
    this.fleet = fleet;
    fleet.service.take = (id, delivery) => this.#take(id, delivery);
  }

  pick(number) {
    const up = this.fleet.up();
    return up[number % up.length]?.name;
  }

  /** Sends a request to a gateway. Resolves with what came back, also if that is nothing. */
  ask(gateway, kind, query, variables, credential, options = {}) {
    const { headers = {}, leavesAfterMs = patienceMs, onText, document } = options;
    const id = `r${this.requests.length}`;
    // With this header, a response is not taken from the cache of responses.
    const isCounted = this.requests.length % 3 === 0;
    const { account, session } = credential;
    const seen = { id, kind, document, gateway, variables, account, session, at: now(), text: '' };
    this.requests.push(seen);
    return new Promise(resolve => {
      const end = changes => {
        clearTimeout(timer);
        request.destroy();
        if (seen.end !== undefined) return;
        Object.assign(seen, changes, { end: now(), body: parsed(seen.text) });
        this.fleet.note({ end: seen.id, gateway, text: seen.text });
        resolve(seen);
      };
      const timer = setTimeout(() => end({ hasLeft: true }), leavesAfterMs);
      const path = onText === undefined ? '/graphql' : '/graphql/stream';
      const sent = {
        'content-type': 'application/json',
        host: 'gateway.test',
        'x-request-id': id,
        ...(isCounted && { 'graphql-cost': '1' }),
        ...credential.headers,
        ...headers,
      };
      const createConnection = () => connectTo({ host: gateway });
      const request = http.request({ method: 'POST', path, headers: sent, createConnection });
      request.on('error', error => end({ error: error.message }));
      request.on('response', response => {
        Object.assign(seen, { status: response.statusCode, headers: response.headers });
        response.setEncoding('utf8');
        response.on('data', chunk => {
          if (onText === undefined) seen.text += chunk;
          else onText(chunk);
        });
        response.on('end', () => end({ isWhole: true }));
        response.on('error', () => end({}));
        response.on('close', () => end({}));
      });
      request.end(JSON.stringify({ query, variables }));
      seen.leave = () => end({ hasLeft: true });
    });
  }

  get(gateway, path) {
    return new Promise((resolve, reject) => {
      const createConnection = () => connectTo({ host: gateway });
      const request = http.get({ path, headers: { host: 'gateway.test' }, createConnection }, response => {
        let text = '';
        response.on('data', chunk => (text += chunk));
        response.on('end', () => resolve({ text }));
      });
      request.on('error', reject);
    });
  }

  credential(account) {
    if (account !== 'u') return { account, headers: { 'x-api-key': `key-${account}` } };
    const session = this.sessions.findLast(({ cookie }) => cookie !== undefined);
    return { account, headers: { cookie: session?.cookie ?? 'none=1' }, session };
  }

  /** Reads, with the pages that follow, and perhaps reads again through another gateway. */
  async read({ gateway, account, document, leavesAfterMs, market, variables = {}, isAgain, via }) {
    const { query, accept, known, next } = documents[document];
    const options = { headers: accept && { accept }, leavesAfterMs, document };
    for (const each of isAgain ? [gateway, this.pick(via + 1)] : [gateway]) {
      const { limit, service } = this.fleet;
      const asked = { ...variables, ...known?.(variables, service.accounts.get(account)), market, limit };
      for (let [page, count] = [asked, 0]; page && count < 3; count += 1) {
        const text = typeof query === 'function' ? query(page) : query;
        const { body } = await this.ask(each, 'read', text, page, this.credential(account), options);
        page = body?.data?.events && next?.(page, body.data.events);
      }
    }
  }

  /** Writes; perhaps reads and writes through other gateways while it runs, and reads at once when it is answered. */
  async write({ gateway, account, market, what, leavesAfterMs, racesAfterMs, via }) {
    const read = (document, next) => void this.read({ gateway: this.pick(via + next), account: 'a', market, document });
    if (racesAfterMs !== undefined) {
      read('name', 0);
      const writeToo = () => this.write({ gateway: this.pick(via + 1), account: 'a', market, what: 'review', via });
      if (racesAfterMs % 2 === 0) setTimeout(writeToo, racesAfterMs / 2);
      for (const next of [0, 1]) setTimeout(() => read('all', next), racesAfterMs);
    }
    // Also when it is never answered.
    for (const wait of [11_000, 30_000]) setTimeout(() => read('name', 1), wait);
    const options = { leavesAfterMs };
    const seen = await this.ask(gateway, 'write', writes[what], { market }, this.credential(account), options);
    seen.isDone = seen.isWhole && seen.body?.errors === undefined && seen.body?.data != null;
    if (racesAfterMs !== undefined) for (const next of [0, 1, 2]) setTimeout(() => read('name', next), 1 + next);
  }

  async signIn({ gateway, password = 'p' }) {
    const query =
      'mutation ($password: String!) { signIn(input: { email: "u@b.test", password: $password }) { viewer { authentication email name team canExport } } }';
    const seen = await this.ask(gateway, 'signIn', query, { password }, { account: 'u', headers: {} });
    const [cookie] = seen.headers?.['set-cookie'] ?? [];
    if (seen.isWhole && cookie !== undefined) this.sessions.push({ cookie: cookie.split(';')[0], at: now() });
  }

  /** Tries passwords, at any gateway, and then the right one. */
  async guess() {
    for (let tries = 0; tries <= 12; tries += 1)
      await this.signIn({ gateway: this.pick(tries), password: tries < 12 ? 'wrong' : 'p' });
  }

  async signOut({ gateway, market, via }) {
    const { headers, session, account } = this.credential('u');
    if (session === undefined) return;
    const query = 'mutation { signOut { viewer { email } } }';
    const seen = await this.ask(gateway, 'signOut', query, {}, { account, headers });
    if (seen.isWhole && seen.body?.errors === undefined) session.endedAt ??= now();
    // Who has a copy of the cookie tries it at all gateways.
    const read = next => this.read({ gateway: this.pick(via + next), account: 'u', market, document: 'name' });
    for (const next of [0, 1, 2]) setTimeout(() => void read(next), 2_000);
  }

  /** Sends an export, perhaps twice at once; or changes or reads what there is. */
  async export({ gateway, what, market, key, isAgain, via }) {
    const ask = (each, variables) =>
      this.ask(gateway, `export ${each}`, exporting[each], variables, this.credential('a'));
    const learn = ({ body }) =>
      Object.values(body?.data ?? {}).map(
        found => found?.signingSecret && this.secrets.push({ secret: found.signingSecret, at: now() }),
      );
    if (this.secrets.length === 0) learn(await ask('register', {}));
    const id = what === 'retry' ? (await ask('read', { key })).body?.data?.export?.id : undefined;
    if (what === 'retry' && id === undefined) return;
    if (isAgain && what === 'send')
      void this.ask(this.pick(via + 1), 'export send', exporting.send, { market, key }, this.credential('a'));
    if (what === 'send' && via % 3 === 0) setTimeout(() => void this.#followExport(key, via), 10 * via);
    learn(await ask(what, { market, key, id }));
  }

  /** Follows an export through any gateway until it has ended. */
  async #followExport(key, via) {
    const { body } = await this.ask(this.pick(via), 'export read', exporting.read, { key }, this.credential('a'));
    const id = body?.data?.export?.id;
    const transport = via % 2 === 0 ? 'sse' : 'ws';
    if (id === undefined) return;
    const follower = { id, via, transport, account: 'a', at: now() };
    await this.#followStates(this.exports, follower, progress, { id }, ({ outcome }) => outcome !== 'RUNNING');
  }

  /** Reads the list, and listens behind it: over WebSocket or SSE, by pulling, by each in turn, or by a watch; from then on through any gateway. */
  async listen(step) {
    const listener = { ...step, parts: [], isListening: true, connections: 0 };
    this.#add(this.listeners, listener);
    await this.#join(listener);
  }

  /** At most so many listen at a time: the longest one leaves. */
  #add(all, listener) {
    all.push(listener);
    const longest = all.filter(({ isListening }) => isListening).at(-maxListening - 1);
    if (longest === undefined) return;
    longest.isListening = false;
    longest.leave?.();
  }

  async #join(listener) {
    if (listener.isFromNow) {
      // Until something comes, nobody knows from where on.
      listener.parts.push({ listed: Number.POSITIVE_INFINITY, shown: [], heard: [], at: now() });
      listener.cursor = undefined;
      return this.#follow(listener);
    }
    for (let tries = 0; listener.isListening; tries += 1) {
      const size = { [listener.isFromEnd ? 'last' : 'first']: listener.first };
      const gateway = this.pick(listener.via + tries);
      const { body, isWhole } = await this.ask(gateway, 'list', list, size, this.credential(listener.account));
      const events = isWhole && body?.errors === undefined && body?.data?.events;
      if (events) {
        const shown = events.nodes.map(({ title }) => numberIn(title));
        listener.parts.push({ listed: events.unfilteredTotalCount, shown, heard: [], at: now() });
        Object.assign(listener, { cursor: events.updatesCursor, cursors: [], had: new Set(), watch: undefined });
        return this.#follow(listener);
      }
      await pause(500);
    }
  }

  async #follow(listener) {
    while (listener.isListening) {
      const part = listener.parts.at(-1);
      const receive = ({ data, errors }) => {
        const update = data?.eventUpdates;
        if (update == null) return errors;
        listener.cursor = update.cursor;
        part.listed = Math.min(part.listed, this.fleet.service.accounts.get(listener.account).updates.length);
        this.fleet.note({ heard: update, by: listener.at, via: listener.gateway });
        const { id, title } = update.event ?? {};
        if (title)
          part.heard.push({ id, number: numberIn(title), account: title.split(' ')[0], kind: update.kind, at: now() });
        if (update.gap) part.hasGap = true;
      };
      listener.connections += 1;
      const pulls = listener.transport === 'pull' || (listener.transport === 'both' && listener.connections % 2 === 0);
      listener.receive = receive;
      if (listener.transport === 'watch') await this.#watch(listener);
      else if (pulls) await this.#pull(listener, receive);
      else await this.#connect(listener, updates, { after: listener.cursor }, receive);
      if (part.hasGap) return this.#join(listener);
      await pause(300);
    }
  }

  /** Asks for changes, as long as there are more, and waits for the next time. */
  async #pull(listener, receive) {
    for (let hasMore = true; hasMore && listener.isListening; ) {
      listener.gateway = this.pick(listener.via + listener.connections);
      if (listener.gateway === undefined) break;
      const variables = { after: listener.cursor, first: listener.first };
      const credential = this.credential(listener.account);
      const { body, isWhole } = await this.ask(listener.gateway, 'pull', changes, variables, credential);
      const found = isWhole && body?.errors === undefined ? body?.data?.eventChanges : undefined;
      if (!found) break;
      for (const update of found.nodes) receive({ data: { eventUpdates: update } });
      // In place of that of the last update: it may say more.
      receive({ data: { eventUpdates: { cursor: found.cursor, gap: found.gap, event: null } } });
      ({ hasMore } = found);
    }
    await pause(500 + 200 * listener.via);
  }

  /** Renews a watch with a cursor that it has stored, perhaps not the last one, or begins another one. It renews nothing once the fleet is quiet, nor shortly before. */
  async #watch(listener) {
    const gateway = this.pick(listener.via + listener.connections);
    const send = (what, variables) =>
      this.ask(gateway, 'watch', watching[what], variables, this.credential(listener.account));
    listener.leave = () => setTimeout(() => this.#stopWatching(listener), 5_000);
    const { watch: id, cursor, cursors, connections } = listener;
    if (id === undefined) {
      await send('register', {});
      listener.watch = (await send('begin', { after: cursor })).body?.data?.watchEvents?.watch.id;
      // To another watch, the changes of this one have other names.
      listener.cursors = [];
    } else if (!(now() > this.fleet.quietFrom - 10_000)) {
      const { body } = await send('renew', { id, after: cursors.at(-1 - (connections % 3)) ?? cursor });
      if (body?.errors?.[0].extensions.code === 'NOT_FOUND') listener.watch = undefined;
    }
    await pause(listener.watch === undefined ? 500 : 8_000 + 100 * listener.via);
  }

  async #stopWatching({ via, account }) {
    const send = (what, variables) =>
      this.ask(this.pick(via), 'watch', watching[what], variables, this.credential(account));
    for (const { id } of (await send('list', {})).body?.data?.watches ?? []) await send('stop', { id });
  }

  /** The endpoint of watches stores what it has not had, with its cursor. @returns whether it knows the watch. */
  #take(id, { watch, cursor, gap, changes }) {
    const listener = this.listeners.find(each => each.watch === watch && each.isListening);
    if (listener === undefined || listener.had.has(id)) return listener !== undefined;
    listener.had.add(id);
    listener.cursors.push(cursor);
    for (const change of [...changes, { event: null }])
      listener.receive({ data: { eventUpdates: { ...change, cursor, gap } } });
    return true;
  }

  async followJobs(step) {
    const variables = { id: step.market, phase: step.phase };
    await this.#followStates(this.jobs, step, jobs, variables, ({ finished }) => finished);
  }

  /** Follows something through any gateway until the last of its states. */
  async #followStates(all, step, query, variables, isLast) {
    const follower = { ...step, isListening: true, connections: 0, seen: [] };
    this.#add(all, follower);
    while (follower.isListening) {
      follower.connections += 1;
      const receive = ({ data, errors }) => {
        const state = data?.jobProgress ?? data?.exportProgress;
        if (state == null) return errors;
        follower.seen.push({ at: now(), connection: follower.connections, ...state });
        if (isLast(state)) follower.isListening = false;
        this.fleet.note({ state, by: step.at, via: follower.gateway });
      };
      await this.#connect(follower, query, variables, receive);
      await pause(300);
    }
  }

  /** One connection, until it ends or is broken off. */
  async #connect(listener, query, variables, receive) {
    const gateway = this.pick(listener.via + listener.connections);
    const credential = this.credential(listener.account);
    listener.gateway = gateway;
    if (gateway === undefined) return pause(500);
    const connected = listener.transport === 'sse' ? this.#overSse : this.#overWebSocket;
    const stream = { account: listener.account, gateway, query, from: now() };
    this.streams.push(stream);
    await connected.call(this, gateway, listener, { query, variables }, credential, receive);
    stream.to = now();
  }

  #overSse(gateway, listener, { query, variables }, credential, receive) {
    let text = '';
    const onText = chunk => {
      const parts = (text + chunk).split('\n\n');
      text = parts.pop();
      for (const part of parts) {
        const [, json] = /^event: next\ndata: (.*)$/m.exec(part) ?? [];
        if (json !== undefined) receive(JSON.parse(json));
      }
    };
    const options = { headers: { accept: 'text/event-stream' }, leavesAfterMs: 1e9, onText };
    const asked = this.ask(gateway, 'stream', query, variables, credential, options);
    listener.leave = this.requests.at(-1).leave;
    return asked;
  }

  #overWebSocket(gateway, listener, payload, credential, receive) {
    return new Promise(resolve => {
      const createConnection = () => connectTo({ host: gateway });
      // By itself, ws masks from a store of random bytes that outlives a history: the next one would draw other numbers than alone.
      const generateMask = mask => mask.fill(1);
      const options = { headers: credential.headers, createConnection, generateMask, perMessageDeflate: false };
      const socket = new WebSocket('ws://gateway.test/graphql', 'graphql-transport-ws', options);
      const send = message => socket.send(JSON.stringify(message));
      const end = () => {
        socket.terminate();
        resolve();
      };
      listener.leave = end;
      socket.on('error', end);
      socket.on('close', end);
      socket.on('open', () => send({ type: 'connection_init' }));
      socket.on('message', bytes => {
        const message = JSON.parse(bytes);
        if (message.type === 'connection_ack') send({ id: '1', type: 'subscribe', payload });
        if (message.type === 'ping') send({ type: 'pong' });
        if (message.type === 'next' && receive(message.payload) !== undefined) end();
        if (message.type === 'error' || message.type === 'complete') end();
      });
    });
  }

  #following = () => [...this.listeners, ...this.jobs, ...this.exports];

  /** Breaks the connection of a listener, which connects again; or ends it. */
  drop(number, isEnd = false) {
    const all = this.#following().filter(({ isListening }) => isListening);
    const listener = all[number % all.length];
    if (isEnd && listener) listener.isListening = false;
    listener?.leave?.();
  }

  leaveAll() {
    for (const listener of this.#following())
      Object.assign(listener, { staysToTheEnd: listener.isListening, isListening: false });
    for (const listener of this.#following()) listener.leave?.();
    for (const { end, leave } of this.requests) if (end === undefined) leave?.();
  }
}

const numberIn = title => Number(title.split(' ')[1]);
const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
