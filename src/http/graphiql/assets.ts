import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { bootScript } from './boot.js';

/** One file of the GraphiQL page. Its name holds a hash of its text: what a name answers never changes. */
export interface Asset {
  name: string;
  type: string;
  text: string;
  gzipped: Buffer;
}

/** The files of the GraphiQL page, by what they are to it. */
export interface Assets {
  style: Asset;
  /** To be run in this order. */
  scripts: readonly Asset[];
  /** By the label under which the editor asks for them. */
  workers: Readonly<Record<string, Asset>>;
}

/** Reads and compresses the files: 9 MB of text that a gateway without a GraphiQL reader never holds. */
export async function loadAssets(): Promise<Assets> {
  const graphiql = await import('@graphql-yoga/render-graphiql/graphiql');
  const graphqlWs = dirname(createRequire(import.meta.url).resolve('graphql-ws/package.json'));
  const [style, subscriptions, page, boot, editorWorkerService, json, graphql] = await Promise.all([
    asset('graphiql', 'css', graphiql.css),
    asset('graphql-ws', 'js', await readFile(join(graphqlWs, 'umd/graphql-ws.min.js'), 'utf8')),
    asset('graphiql', 'js', graphiql.js),
    asset('boot', 'js', bootScript),
    asset('editor-worker', 'js', graphiql.editorWorkerService),
    asset('json-worker', 'js', graphiql.jsonWorker),
    asset('graphql-worker', 'js', graphiql.graphqlWorker),
  ]);
  return { style, scripts: [subscriptions, page, boot], workers: { editorWorkerService, json, graphql } };
}

async function asset(name: string, extension: 'css' | 'js', text: string): Promise<Asset> {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return {
    name: `${name}.${hash}.${extension}`,
    type: `text/${extension === 'js' ? 'javascript' : 'css'}; charset=utf-8`,
    text,
    gzipped: await promisify(gzip)(text),
  };
}
