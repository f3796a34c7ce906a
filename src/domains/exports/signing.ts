// The secrets of endpoints: how they are sealed, and how they sign exports.
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import type { Sealer } from '../../auth/seal.js';
import type { TeamKey } from '../../auth/teams.js';
import { Secret } from '../../config/values.js';
import { Conflict } from '../../errors.js';
import { dayMs } from '../../lib/time.js';
import type { Endpoint } from './model.js';

/** How long a replaced secret still signs, so that the receiver has time to take over the new one. */
const overlapMs = dayMs;
const secretBytes = 32;

/** A secret that signs the exports to one endpoint, as it is sealed. */
const signingSecret = z.looseObject({
  secret: z.string().transform(text => new Secret(text)),
  /** In milliseconds since 1970. Null for the secret that has not been replaced. */
  validUntil: z.number().nullable(),
});
type SigningSecret = z.output<typeof signingSecret>;

/** A new secret in the notation of Standard Webhooks: `whsec_` and Base64. */
export function newSigningSecret(): Secret {
  return new Secret(`whsec_${randomBytes(secretBytes).toString('base64')}`);
}

/** The secrets after a rotation: the new one, and for 24 hours the one that it replaces. @param now milliseconds since 1970. */
export function rotatedSecrets(
  secrets: readonly SigningSecret[],
  secret: Secret,
  now: number,
): readonly SigningSecret[] {
  const replaced = secrets.filter(({ validUntil }) => validUntil === null);
  return [{ secret, validUntil: null }, ...replaced.map(each => ({ ...each, validUntil: now + overlapMs }))];
}

/** The headers that prove who sent a call (Standard Webhooks), with a signature by each valid secret. @param id the same for each attempt. */
export function signatureHeaders(
  secrets: readonly SigningSecret[],
  { id, body }: { readonly id: string; readonly body: string },
  at: Date,
): Readonly<Record<string, string>> {
  const valid = secrets.filter(({ validUntil }) => validUntil === null || validUntil > at.getTime());
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': valid.map(({ secret }) => new Webhook(secret.reveal()).sign(id, at, body)).join(' '),
  };
}

const sealedSchemas = { headers: z.record(z.string(), z.string()), signing: z.array(signingSecret) };
type SealedKind = keyof typeof sealedSchemas;

/** Binds a sealed value to its endpoint, so that it cannot be used with another URL. */
const purposeOf = (kind: SealedKind, team: TeamKey, { name, url }: Pick<Endpoint, 'name' | 'url'>) =>
  JSON.stringify([`export ${kind}`, team, name, url]);

const unopened = (what: string, remedy: string) =>
  new Conflict(`No SESSION_SECRET of the gateway opens the ${what} of this endpoint, or there is none; ${remedy}`);

/** The seals of an endpoint under the first secret; as they are if no secret opens them. */
export const resealedBy = async (sealer: Sealer, { sealedHeaders, sealedSigningSecrets }: Endpoint) => ({
  sealedHeaders: sealedHeaders && (await sealer.resealed(sealedHeaders)),
  sealedSigningSecrets: await sealer.resealed(sealedSigningSecrets),
});

export type EndpointSeals = ReturnType<typeof createEndpointSeals>;

export type OpenedEndpoint = Awaited<ReturnType<EndpointSeals['openAll']>>;

export function createEndpointSeals(sealer: Sealer) {
  const seal = (kind: SealedKind, team: TeamKey, endpoint: Pick<Endpoint, 'name' | 'url'>, value: unknown) =>
    sealer.seal({ for: purposeOf(kind, team, endpoint), [kind]: value }, 0);

  /** Undefined if the value is not sealed, or no secret opens it. */
  async function open<K extends SealedKind>(kind: K, team: TeamKey, endpoint: Endpoint, sealed: string | null) {
    const schema = z.object({ for: z.literal(purposeOf(kind, team, endpoint)), [kind]: sealedSchemas[kind] });
    const content = await sealer.open(sealed ?? '').catch(() => undefined);
    return schema.safeParse(content).data?.[kind] as z.output<(typeof sealedSchemas)[K]> | undefined;
  }

  const openSecrets = (team: TeamKey, endpoint: Endpoint) =>
    open('signing', team, endpoint, endpoint.sealedSigningSecrets);

  return {
    openSecrets,
    /** The headers and signing secrets of an endpoint, with their seals under the first secret. @throws Conflict if no secret opens them. */
    async openAll(team: TeamKey, endpoint: Endpoint) {
      const hasHeaders = endpoint.headerNames.length > 0;
      const headers = hasHeaders ? await open('headers', team, endpoint, endpoint.sealedHeaders) : {};
      if (headers === undefined) throw unopened('headers', 'give them again with updateExportEndpoint');
      const secrets = await openSecrets(team, endpoint);
      if (secrets === undefined) throw unopened('signing secret', 'rotate the signing secret');
      return { endpoint, headers, secrets, resealed: await resealedBy(sealer, endpoint) };
    },
    /** Seals what an endpoint keeps secret, so that it opens only for the same endpoint with the same URL. */
    async sealAll(
      team: TeamKey,
      endpoint: Pick<Endpoint, 'name' | 'url'>,
      headers: Readonly<Record<string, string>>,
      secrets: readonly SigningSecret[],
    ) {
      const revealed = secrets.map(each => ({ ...each, secret: each.secret.reveal() }));
      return {
        sealedHeaders: Object.keys(headers).length === 0 ? null : await seal('headers', team, endpoint, headers),
        sealedSigningSecrets: await seal('signing', team, endpoint, revealed),
      };
    },
  };
}
