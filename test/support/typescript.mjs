import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

/** Lets Node 20 run TypeScript by removing its types, as Node 22.18 and later do by themselves. */
if (isMainThread && !process.features.typescript) register(import.meta.url);

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const { transform } = await import('@swc/core');
  const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, module: { type: 'es6' } };
  const { code } = await transform(await readFile(new URL(url), 'utf8'), options);
  return { format: 'module', source: code, shortCircuit: true };
}
