/**
 * A Map for what comes and goes. V8 grows a Map into a new table and leaves what was deleted in the old one; an old table that was found
 * alive twice keeps the one after it alive, and so, until the next full collection, everything that has been in any of them. Here that is
 * a key and an empty slot.
 */
export class BriefMap<K, V> {
  readonly #slots = new Map<K, { value: V | undefined }>();

  get(key: K): V | undefined {
    return this.#slots.get(key)?.value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#slots.set(key, { value });
  }

  delete(key: K): void {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    slot.value = undefined;
    this.#slots.delete(key);
  }
}
