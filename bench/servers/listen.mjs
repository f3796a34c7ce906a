// How a server that the bench starts says where it listens.

/** @param {import('node:net').AddressInfo | string | null} address */
export function announce(address) {
  if (address === null || typeof address === 'string') throw new Error('No address');
  process.send?.({ origin: `http://127.0.0.1:${address.port}` });
}

// A bench that died leaves no server behind.
process.once('disconnect', () => process.exit(0));
