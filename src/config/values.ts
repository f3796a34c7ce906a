// Values that are more than text: secrets, and files that are read again.
import { createHash, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { inspect } from 'node:util';

/** A confidential value. Printed, logged or serialized, it reads `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call it only to send the value or to derive a key. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

/** Identifies a secret next to what was sealed or signed with it, and reveals nothing about it: 12 hexadecimal digits. */
export function secretId(secret: Secret): string {
  return createHash('sha256').update(`market-intelligence-gateway seal ${secret.reveal()}`).digest('hex').slice(0, 12);
}

/** Derives a key for one purpose. It reveals nothing about the secret or its other keys. @param purpose one word: `scope`. */
export function deriveKey(secret: Secret, purpose: string): KeyObject {
  const info = `market-intelligence-gateway ${purpose}`;
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret.reveal(), '', info, 32)));
}

/** A value that is read from a file of the operator, and read again at SIGHUP. */
export class Reloadable<T> {
  readonly #read: () => T;
  readonly #listeners = new Set<() => void>();
  #current: T;

  /** @throws what `read` throws. */
  constructor(read: () => T) {
    this.#read = read;
    this.#current = read();
  }

  get current(): T {
    return this.#current;
  }

  /** Reads the value again. @throws what `read` throws; the value is then the same as before. */
  reload(): void {
    this.#current = this.#read();
    for (const listener of this.#listeners) listener();
  }

  /** Calls back after each reload, before any other request begins. @param signal ends it. */
  onReload(listener: () => void, signal?: AbortSignal): void {
    if (signal?.aborted) return;
    this.#listeners.add(listener);
    signal?.addEventListener('abort', () => this.#listeners.delete(listener), { once: true });
  }
}

/** `1 team`, `2 teams`. */
export const countOf = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

/** How the entries of a file differ from those before: `TEAMS_FILE was read again: 3 teams (1 added, 0 changed, 2 removed)`. @param what one of them: `team`. */
export function describeChange(
  variable: string,
  what: string,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): string {
  const names = [...after.keys()];
  const added = names.filter(name => !before.has(name)).length;
  const changed = names.filter(name => before.has(name) && before.get(name) !== after.get(name)).length;
  const removed = [...before.keys()].filter(name => !after.has(name)).length;
  return `${variable} was read again: ${countOf(after.size, what)} (${added} added, ${changed} changed, ${removed} removed)`;
}
