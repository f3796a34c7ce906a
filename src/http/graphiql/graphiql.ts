import type { FastifyInstance } from 'fastify';
import { opensPage } from '../web-safety.js';
import { type Asset, type Assets, loadAssets } from './assets.js';

/** A query that is ready in the page. Its tab bears the name of its operation. */
export interface GraphiqlTab {
  query: string;
  /** JSON, as typed into the editor. */
  variables?: string;
  /** JSON, as typed into the editor. */
  headers?: string;
}

/** Where GraphiQL is served and what it opens with. `defaultHeaders` (JSON) are those of every tab without its own. */
interface GraphiqlOptions {
  path: string;
  tabs: GraphiqlTab[];
  defaultHeaders?: string;
}

const title = 'Market Intelligence Gateway';

// The editor writes style elements and style attributes as it goes, and its fonts and icons are data of its style sheet.
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/**
 * The library that moves tabs while they are dragged first takes each of them to be at the end of the row, and shows it there as soon as it has the focus: the
 * first click on a tab would be lost. Tabs can still be dragged, but stay where they are until they change places.
 */
const ownStyle = '.graphiql-tab { transform: none !important }';

/**
 * Serves GraphiQL at `options.path`, before the route that answers GraphQL there, to clients that `opensPage` accepts, and its
 * files below `<path>/assets/`. All of it comes from the gateway; the files are loaded when the page is first opened.
 */
export function registerGraphiql(app: FastifyInstance, options: GraphiqlOptions): void {
  let loading: Promise<Assets> | undefined;
  const assets = () => {
    loading ??= loadAssets();
    return loading;
  };

  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url !== options.path || !opensPage(request.raw)) return;
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': contentSecurityPolicy,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        vary: 'accept',
      })
      .send(renderPage(options, await assets()));
  });

  app.get<{ Params: { name: string } }>(`${options.path}/assets/:name`, async (request, reply) => {
    const asset = find(await assets(), request.params.name);
    if (!asset) return reply.callNotFound();
    const etag = `W/"${asset.name}"`;
    reply.headers({
      'content-type': asset.type,
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      etag,
    });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    if (!request.headers['accept-encoding']?.includes('gzip')) return reply.send(asset.text);
    return reply.header('content-encoding', 'gzip').send(asset.gzipped);
  });
}

/** Sends a browser that opens `/` to GraphiQL. To every other client, nothing is there. */
export function redirectToGraphiql(app: FastifyInstance, path: string): void {
  app.get('/', (request, reply) => {
    reply.header('vary', 'accept');
    return opensPage(request.raw) ? reply.redirect(path) : reply.callNotFound();
  });
}

function find({ style, scripts, workers }: Assets, name: string): Asset | undefined {
  return [style, ...scripts, ...Object.values(workers)].find(asset => asset.name === name);
}

function renderPage({ path, tabs, defaultHeaders }: GraphiqlOptions, { style, scripts, workers }: Assets): string {
  const url = (asset: Asset) => `${path}/assets/${asset.name}`;
  const settings = {
    path,
    workers: Object.fromEntries(Object.entries(workers).map(([label, asset]) => [label, url(asset)])),
    options: {
      title,
      logo: '',
      defaultTabs: tabs,
      defaultHeaders,
      shouldPersistHeaders: false,
      defaultEditorToolsVisibility: 'variables',
    },
  };
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>${title}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${url(style)}">
    <style>${ownStyle}</style>
  </head>
  <body>
    <noscript>GraphiQL needs JavaScript.</noscript>
    <div id="root"></div>
    <script type="application/json" id="settings">${JSON.stringify(settings).replaceAll('<', '\\u003c')}</script>
    ${scripts.map(script => `<script src="${url(script)}"></script>`).join('\n    ')}
  </body>
</html>
`;
}
