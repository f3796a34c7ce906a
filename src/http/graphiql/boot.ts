/**
 * What the GraphiQL page runs last, in the browser: it reads the page's settings and renders GraphiQL with a fetcher of
 * the gateway's own, because the package's one leaves the header editor out of a WebSocket: here it becomes the
 * connection's payload.
 */
export const bootScript = `
const { path, workers, options } = JSON.parse(document.getElementById('settings').textContent);

function isSubscription(request, document) {
  const operations = document?.definitions.filter(definition => definition.kind === 'OperationDefinition') ?? [];
  const named = operations.find(operation => operation.name?.value === request.operationName);
  return (named ?? operations[0])?.operation === 'subscription';
}

async function ask(request, headers) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(request),
  });
  return response.json();
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
  if (code !== undefined) return 'The connection was closed with ' + code + ': ' + (reason || 'no reason given');
  return message || 'The connection could not be opened, or broke';
}

// GraphiQL takes the first tab's query from the tabs, but its variables and headers only from options that would also
// overwrite what an earlier session left, or would not fit the query in the URL.
function firstTabEditors() {
  const [first] = options.defaultTabs;
  const isRestored = localStorage.getItem('graphiql:tabState') !== null;
  const hasQuery = new URLSearchParams(location.search).has('query');
  return isRestored || hasQuery ? {} : { initialVariables: first?.variables, initialHeaders: first?.headers };
}

self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_, label) => workers[label] };
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('root'), {
  ...options,
  ...firstTabEditors(),
  fetcher: (request, { headers, documentAST } = {}) =>
    isSubscription(request, documentAST) ? listen(request, headers) : ask(request, headers),
});
`;
