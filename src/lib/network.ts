import ipaddr from 'ipaddr.js';

/** What counts as one client where addresses are counted: whoever holds one IPv6 address holds its whole network of 64 bits. */
export function networkOf(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.');
}
