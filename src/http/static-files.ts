// Serves a built front end from `STATIC_DIR`.
import { realpath, stat } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { ConfigurationError } from '../config/configuration-error.js';
import { turnOf } from './connections.js';
import { addVary, nothingHere, opensPage, pagePolicy, Refused } from './web-safety.js';

/** Nothing inline. */
const contentSecurityPolicy = pagePolicy("'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'");

/** The names of files in this folder contain a hash of their content. */
const hashedFolder = 'assets';

/** Paths of the gateway itself, also where this gateway does not serve them. */
const ownPath = /^(graphql|mcp|healthz|readyz|metrics|schema\.graphql)(\/|$)/;

/** @throws ConfigurationError if the folder has no `index.html`. */
export async function checkStaticFiles(folder: string): Promise<void> {
  if (await isFile(join(resolve(folder), 'index.html'))) return;
  throw new ConfigurationError(`STATIC_DIR: ${folder} must be a folder with an index.html`);
}

/**
 * Serves a built front end from `/`: the files of `folder`, and `index.html` where a browser opens any other page, because the front end routes its own paths.
 * Every route of the gateway comes first.
 * @throws ConfigurationError if the folder has no `index.html`.
 */
export async function registerStaticFiles(app: FastifyInstance, folder: string): Promise<void> {
  const root = resolve(folder);
  await checkStaticFiles(folder);
  const realRoot = await realpath(root);

  await app.register(import('@fastify/static'), {
    root,
    serve: false,
    preCompressed: true,
    cacheControl: false,
    async onFile(path, found) {
      // Also of the compressed form of a file. Where a symbolic link leads decides.
      if (!found.isFile() || !isShown(relative(realRoot, await realpath(path)))) throw new Refused(404, nothingHere);
    },
    setHeaders(reply, path) {
      const isHashed = path.startsWith(join(root, hashedFolder) + sep);
      reply.headers({
        'content-security-policy': contentSecurityPolicy,
        'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      });
    },
  });

  app.get<{ Params: { '*': string } }>('/*', async (request, reply) => {
    const path = request.params['*'];
    if (ownPath.test(path)) return reply.callNotFound();
    if (isPlain(path) && (await isFile(join(root, path)))) return sendInTurn(reply, path);
    const isPage = opensPage(request.raw) && !basename(path).includes('.');
    return isPage ? sendInTurn(addVary(reply, 'accept'), 'index.html') : reply.callNotFound();
  });
  app.get('/', (_, reply) => sendInTurn(reply, 'index.html'));
}

/** Opens a file once its response is the next one: those that wait behind others would take a descriptor each. */
async function sendInTurn(reply: FastifyReply, path: string): Promise<FastifyReply> {
  await turnOf(reply.raw);
  // Nobody would close what is opened for a client that has gone.
  if (reply.request.socket.destroyed) return reply.hijack();
  return reply.sendFile(path);
}

/** Whether no part of the path is empty, hidden, or leads to another folder. */
const isPlain = (path: string) => path.split('/').every(part => part !== '' && !part.startsWith('.'));

/** The same for the real path of a file. The files of a Kubernetes volume are in a folder such as `..2026_11_25`, to which links lead. */
const isShown = (path: string) => isPlain(path.replace(/^\.\.\d[^/]*\//, ''));

/** False also where it does not exist, or its name is not valid. */
const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isFile(),
    () => false,
  );
