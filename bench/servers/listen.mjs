// What the servers that the bench starts have in common: how they say where they listen, and how long they keep responses.

/** How long the other servers keep responses: longer than their turns in `mixed` are apart. The gateway keeps events for 30 s. */
export const cacheSeconds = 300;

/** @param {import('node:net').AddressInfo | string | null} address */
export function announce(address) {
  if (address === null || typeof address === 'string') throw new Error('No address');
  process.send?.({ origin: `http://127.0.0.1:${address.port}` });
}

// A bench that died leaves no server behind.
process.once('disconnect', () => process.exit(0));
