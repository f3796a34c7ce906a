// Serves GraphiQL to browsers.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { oncePerValue } from '../../lib/run.js';
import { addVary, opensPage, pagePolicy } from '../web-safety.js';

const title = 'Market Intelligence Gateway';
const path = '/graphql';

/** What GraphiQL opens with: queries, with variables and headers as JSON, and the headers of every tab without its own. */
interface GraphiqlOptions {
  readonly tabs: readonly { query: string; variables?: string; headers?: string }[];
  readonly headers: Readonly<Record<string, string>>;
}

// The editor writes style elements and style attributes as it goes, and its fonts and icons are data of its style sheet.
const ownSources = ["worker-src 'self'", "style-src 'self' 'unsafe-inline'", 'img-src data:', 'font-src data:'];
const contentSecurityPolicy = pagePolicy("'none'", ...ownSources);

/** While a tab has the focus, the library that drags tabs shows it at the end of the row: the first click on it would be lost. On a telephone, panes side by side are too narrow. */
const ownStyle = `
      .graphiql-tab { transform: none !important }
      @media (max-width: 40rem) {
        #graphiql-session { flex-direction: column; min-height: 0 }
        #graphiql-session > * { min-height: 0 }
        .graphiql-horizontal-drag-bar, .graphiql-logo { display: none }
      }
    `;

/** Serves GraphiQL at `/graphql` to browsers that open a page, and below `/graphql/assets/` its files, loaded when it is first opened. */
export function registerGraphiql(app: FastifyInstance, options: GraphiqlOptions): void {
  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    if (!opensPage(request.raw)) return;
    return addVary(reply, 'accept')
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': contentSecurityPolicy })
      .send((await loaded(options)).page);
  };
  app.addHook('onRoute', route => {
    if (route.url === path && route.method !== 'POST') route.onRequest = sendPage;
  });

  app.get<{ Params: { name: string } }>(`${path}/assets/:name`, async (request, reply) => {
    const { name } = request.params;
    const asset = (await loaded(options)).assets.get(name);
    if (!asset) return reply.callNotFound();
    addVary(reply, 'accept-encoding').headers({
      'content-type': asset.type,
      'cache-control': 'public, max-age=31536000, immutable',
    });
    if (!request.headers['accept-encoding']?.includes('gzip')) return reply.send(asset.plain);
    return reply.header('content-encoding', 'gzip').send(asset.gzipped);
  });
}

/** The example queries, and the script that renders GraphiQL in the browser. */
const folder = fileURLToPath(new URL('../../../operations/graphiql/', import.meta.url));

/** The queries in the first tabs of GraphiQL, with their variables. They read markets 1 and 3 of the sandbox; for another service, change the numbers. */
export function readExamples(): GraphiqlOptions['tabs'] {
  const files = readdirSync(folder).filter(file => file.endsWith('.graphql'));
  return files.sort().map(file => {
    const query = readFileSync(join(folder, file), 'utf8');
    const variables = join(folder, file.replace('.graphql', '.json'));
    return existsSync(variables) ? { query, variables: readFileSync(variables, 'utf8').trimEnd() } : { query };
  });
}

/** Sends a browser that opens `/` to GraphiQL. To every other client, nothing is there. */
export function redirectToGraphiql(app: FastifyInstance): void {
  app.get('/', (request, reply) => {
    addVary(reply, 'accept');
    return opensPage(request.raw) ? reply.redirect(path) : reply.callNotFound();
  });
}

const loaded = oncePerValue(load);

/** The page, and its files by name: 9 MB that a gateway without a GraphiQL reader never holds. As bytes, for a text is copied for each client that it is sent. */
async function load({ tabs, headers }: GraphiqlOptions) {
  const graphiql = await import('@graphql-yoga/render-graphiql/graphiql');
  const graphqlWs = dirname(createRequire(import.meta.url).resolve('graphql-ws/package.json'));
  const assets = new Map<string, { type: string; plain: Buffer; gzipped: Buffer }>();
  /** @returns the address of the file. Its name holds a hash of its text: what a name answers never changes. */
  async function add(name: string, extension: 'css' | 'javascript', text: string): Promise<string> {
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
    const file = `${name}.${hash}.${extension === 'css' ? 'css' : 'js'}`;
    const plain = Buffer.from(text);
    assets.set(file, { type: `text/${extension}; charset=utf-8`, plain, gzipped: await promisify(gzip)(plain) });
    return `${path}/assets/${file}`;
  }

  const settings = {
    path,
    /** By the label under which the editor asks for them. */
    workers: {
      editorWorkerService: await add('editor-worker', 'javascript', graphiql.editorWorkerService),
      json: await add('json-worker', 'javascript', graphiql.jsonWorker),
      graphql: await add('graphql-worker', 'javascript', graphiql.graphqlWorker),
    },
    options: {
      title,
      logo: '',
      defaultTabs: tabs,
      defaultHeaders: JSON.stringify(headers, null, 2),
      shouldPersistHeaders: false,
      defaultEditorToolsVisibility: 'variables',
    },
  };
  const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>${title}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${await add('graphiql', 'css', graphiql.css)}">
    <style>${ownStyle}</style>
  </head>
  <body>
    <noscript>GraphiQL needs JavaScript.</noscript>
    <div id="root"></div>
    <script type="application/json" id="settings">${JSON.stringify(settings).replaceAll('<', '\\u003c')}</script>
    <script src="${await add('graphql-ws', 'javascript', await readFile(join(graphqlWs, 'umd/graphql-ws.min.js'), 'utf8'))}"></script>
    <script src="${await add('graphiql', 'javascript', graphiql.js)}"></script>
    <script src="${await add('boot', 'javascript', await readFile(join(folder, 'boot.js'), 'utf8'))}"></script>
  </body>
</html>
`;
  return { page, assets };
}
