// How the text of each kind of variable is checked and read.
import { z } from 'zod';
import { parseUrl } from '../lib/web-url.js';
import { Secret } from './values.js';

export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number, ${min} or more`)
    .transform(Number)
    .refine(value => value >= min && value <= max, `must be between ${min} and ${max}`);

export const text = z.string();

export const flag = z.enum(['true', 'false'], 'must be true or false').transform(value => value === 'true');

export const httpAddress = z
  .string()
  .refine(text => {
    const { protocol = '', username, password, search, hash } = parseUrl(text) ?? {};
    return /^https?:$/.test(protocol) && !username && !password && !search && !hash;
  }, 'must be an http or https address without user, query or fragment')
  .transform(text => text.replace(/\/+$/, ''));

export const hostName = z
  .string()
  .refine(
    text => parseUrl(`https://${text}`)?.host === text.toLowerCase(),
    'must be a host name such as service.example',
  );

const list = z.string().transform(text => text.split(',').map(part => part.trim()));

const isRedisAddress = (text: string) => {
  const { protocol = '', username = '', password = '', pathname = '' } = parseUrl(text) ?? {};
  try {
    decodeURIComponent(`${username}:${password}`);
  } catch {
    return false;
  }
  return /^rediss?:$/.test(protocol) && /^(\/\d*)?$/.test(pathname);
};

const asSecrets = (all: readonly string[]) => all.map(each => new Secret(each));

export const redisAddresses = list
  .refine(
    urls => urls.every(isRedisAddress),
    'must be redis:// or rediss:// addresses, percent-encoded where they need it, ending with nothing or the number of a database, with commas between the nodes of a Cluster',
  )
  .transform(asSecrets);

/** Secrets that have been published in this repository: anyone could seal cookies with them. */
const publicSecrets = new Set(['for-trying-out-only-set-your-own-secret']);

export const secret = z.string().transform(text => new Secret(text.trim()));

export const secretList = list
  .refine(all => all.every(secret => secret.length >= 32), 'each secret must have at least 32 characters')
  .refine(all => !all.some(secret => publicSecrets.has(secret)), 'must not be the public example of docker-compose.yml')
  .transform(asSecrets);

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

export const proxies = z
  .string()
  .transform((text): boolean | string[] => (text === 'true' ? true : text === 'false' ? false : text.split(/ *, */)))
  .refine(
    value => typeof value === 'boolean' || value.every(each => network.safeParse(each).success && !each.endsWith('/0')),
    'must be true, false, or addresses and networks with commas between them (true trusts every address)',
  );

/** Of an app or a browser's extension, such as `capacitor://localhost`: `URL` gives such a scheme no origin. */
const appOrigin = /^(?!(?:https?|wss?):)[a-z][a-z\d+.-]*:\/\/[a-z\d.-]+$/;

export const origins = list.refine(
  all =>
    all.every(origin => (parseUrl(origin)?.origin === origin && /^https?:/.test(origin)) || appOrigin.test(origin)),
  'must be origins such as https://app.example, with commas between them',
);

/** As they are: a client compares them with what the issuer says (RFC 8414). */
export const issuers = list.refine(
  all => all.every(issuer => httpAddress.safeParse(issuer).success),
  'must be http or https addresses without user, query or fragment, with commas between them',
);

const oneOf = <const T extends readonly string[]>(...values: T) =>
  z.enum(values, `must be one of ${values.join(', ')}`);

/** Least to most verbose. */
export const logLevel = oneOf('silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace');

export const trustMode = oneOf('off', 'allow', 'log', 'only');

export const executor = oneOf('plan', 'graphql-js');

/** What the service calls its other parameters. */
const takenParameter =
  /^(page|pageSize|from|to|affectedDatapoint|alertType|impactedEntity|(min|max)(Likelihood|Severity)|sessionId)$/;

export const parameterName = z
  .string()
  .regex(/^[\w.-]+$/, 'must be the name of a query parameter')
  .refine(name => !takenParameter.test(name), 'must not be the name of another parameter of the service');

export const absolutePath = z.string().regex(/^(\/[\w.-]+)+$/, 'must be a path that begins with /');

export const environmentName = z
  .string()
  .refine(
    value => value === 'production' || !/^\s*prod/i.test(value),
    'is probably meant to be "production": write exactly that, or a name that does not begin with "prod"',
  );
