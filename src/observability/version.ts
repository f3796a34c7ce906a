import { readFileSync } from 'node:fs';

/** The version of the gateway, for its metrics and traces. */
export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
