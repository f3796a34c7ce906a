import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { Secret } from '../../config/secret.js';

/** A secret that signs the exports to one endpoint. */
export interface SigningSecret {
  readonly secret: Secret;
  /** In milliseconds since 1970. Null for the secret that has not been replaced. */
  readonly validUntil: number | null;
}

/** How long a replaced secret still signs, so that the receiver has time to take over the new one. */
const overlapMs = 24 * 60 * 60_000;
const secretBytes = 32;

/** The secrets of an endpoint as they are sealed. */
export const signingSecrets = z.array(
  z.object({ secret: z.string().transform(text => new Secret(text)), validUntil: z.number().nullable() }),
);

/** The secrets as text, to be sealed. */
export const revealed = (secrets: readonly SigningSecret[]) =>
  secrets.map(({ secret, validUntil }) => ({ secret: secret.reveal(), validUntil }));

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

/**
 * The headers that prove who sent a call (Standard Webhooks), with a signature by each valid secret.
 * @param id the same for each attempt of an export. @param at the time of the attempt.
 */
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
