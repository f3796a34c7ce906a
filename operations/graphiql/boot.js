// Renders GraphiQL in the browser. The package's own fetcher would not send the header editor over a WebSocket: here it is the payload.

const { path, workers, options } = JSON.parse(document.getElementById('settings').textContent);

const isSubscription = ({ operationName }, document) =>
  document?.definitions.some(
    ({ operation, name }) => operation === 'subscription' && (!operationName || name?.value === operationName),
  );

async function ask(request, headers) {
  const startedAt = performance.now();
  const response = await fetch(path, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(request),
  });
  const body = await response.json();
  const reads = body.extensions?.explain;
  return reads === undefined ? body : { summary: summaryOf(reads, performance.now() - startedAt), ...body };
}

// Shown before the response, because `extensions` stands at its end.
function summaryOf(reads, milliseconds) {
  const calls = reads.filter(({ source }) => source === 'network').length;
  const count = (number, what) => `${number} ${what}${number === 1 ? '' : 's'}`;
  return (
    count(calls, 'upstream call') +
    ', ' +
    count(reads.length - calls, 'read') +
    ' from the cache, ' +
    Math.round(milliseconds) +
    ' ms'
  );
}

async function* listen(request, headers) {
  const url = new URL(path, location.href.replace(/^http/, 'ws')).href;
  try {
    yield* graphqlWs.createClient({ url, connectionParams: headers }).iterate(request);
  } catch (problem) {
    yield { errors: Array.isArray(problem) ? problem : [{ message: wordsFor(problem) }] };
  }
}

// A browser's own events have no words, and are {"isTrusted":true} as JSON.
function wordsFor({ code, reason, message }) {
  if (code !== undefined) return `The connection was closed with ${code}: ${reason || 'no reason given'}`;
  return message || 'The connection could not be opened, or broke';
}

// GraphiQL takes the first tab's query from the tabs, but its variables and headers only from options. After a reload it looks for the tab with the stored
// query and variables, and adds an untitled one if there is none: it stores them only once they have been edited, and the tabs at once.
function openTab() {
  const query = new URLSearchParams(location.search).get('query');
  const { tabs, activeTabIndex } = storedTabs();
  if (tabs === undefined) {
    const [first] = options.defaultTabs;
    return query === null ? { initialVariables: first?.variables, initialHeaders: first?.headers } : {};
  }
  const tab = query === null ? tabs[activeTabIndex] : tabs.find(each => each.query === query);
  return { ...(query === null && { query: tab?.query ?? '' }), initialVariables: tab?.variables ?? '' };
}

// Empty too where the browser keeps nothing for this page, or something else.
function storedTabs() {
  try {
    const stored = JSON.parse(localStorage.getItem('graphiql:tabState'));
    return Array.isArray(stored?.tabs) ? stored : {};
  } catch {
    return {};
  }
}

self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_, label) => workers[label] };
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('root'), {
  ...options,
  ...openTab(),
  fetcher: (request, { headers, documentAST } = {}) =>
    isSubscription(request, documentAST) ? listen(request, headers) : ask(request, headers),
});
