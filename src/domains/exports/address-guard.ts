// Keeps exports away from the internal networks that the gateway can reach.
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { buildConnector } from 'undici';
import { createConnector } from '../../lib/connector.js';
import { resolveHost } from '../../lib/names.js';
import { networkOf } from '../../lib/network.js';

/** Resolves a name to all its addresses, IPv4 and IPv6. @throws Error if it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** An export may not go to its target. The message contains no address, so that it reveals nothing about internal names. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';

  /** @param canBeAllowed whether the configuration could allow the address. */
  constructor(hostname: string, canBeAllowed: boolean) {
    const remedy = canBeAllowed ? '; the operator can allow it with EXPORT_ALLOW_PRIVATE_ADDRESSES' : '';
    super(`${hostname} is, or resolves to, an address that exports may not reach${remedy}`);
  }
}

export type AddressGuard = ReturnType<typeof createAddressGuard>;

/** Ranges of a development machine and its network. */
const developmentRanges = new Set(['loopback', 'private', 'uniqueLocal']);

/** Addresses of instance metadata in ranges that are otherwise allowed (Azure's, and AWS's over IPv6). */
const metadataAddresses = new Set(['168.63.129.16', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254']);

/** Names that always mean loopback, whatever a resolver returns (RFC 6761). */
const loopbackName = /(^|\.)localhost\.?$/;

/** All IPv6 addresses assigned to internet hosts. Except for ISATAP, addresses that embed an IPv4 address lie outside. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** As long as an attempt of an export may take, so the attempt always times out first. */
const connectTimeoutMs = 15_000;

/** As the system does: with /etc/hosts and the search domains. Whatever they say is checked as any other address. */
export const resolveName: Resolve = async hostname => (await resolveHost(hostname)).map(({ address }) => address);

/** @param allowPrivate allows loopback, private and unique-local addresses. Link-local, metadata and embedded ones are never allowed. */
export function createAddressGuard(allowPrivate: boolean, resolve: Resolve) {
  /** The addresses of a host. @throws AddressRefused if any of them is not allowed; Error if a name has none. */
  async function allowedAddresses(hostname: string): Promise<readonly string[]> {
    if (loopbackName.test(hostname) && !allowPrivate) throw new AddressRefused(hostname, true);
    const literal = literalOf(hostname);
    const addresses = literal === undefined ? await resolve(hostname) : [literal];
    if (addresses.every(address => isAllowed(address, allowPrivate))) return addresses;
    throw new AddressRefused(hostname, !allowPrivate && addresses.every(address => isAllowed(address, true)));
  }

  /** Opens connections only to addresses that it has just checked, so that a name cannot resolve to another address after `check`. */
  const connect: buildConnector.connector = (options, callback) => {
    const connectTo = (addresses: readonly string[]) => {
      const found = addresses.map(address => ({ address, family: isIP(address) }));
      const lookup: LookupFunction = (_hostname, _options, done) => done(null, found);
      createConnector({ autoSelectFamily: true, lookup, timeout: connectTimeoutMs })(options, callback);
    };
    allowedAddresses(options.hostname)
      .then(connectTo)
      .catch(error => callback(error, null));
  };
  return {
    connect,
    /** @throws AddressRefused if the host is, or resolves to, any address that is not allowed. A name that does not resolve passes. */
    async check({ hostname }: URL) {
      await allowedAddresses(hostname).catch(error => {
        if (error instanceof AddressRefused) throw error;
      });
    },
  };
}

/** The address in the host of a parsed URL. Undefined if the host is a name. `URL` has already normalized other notations of IPv4. */
function literalOf(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(bare) ? bare : undefined;
}

function isAllowed(text: string, allowPrivate: boolean): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (metadataAddresses.has(address.toString())) return false;
  const range = address.range();
  if (developmentRanges.has(range)) return allowPrivate;
  // NAT64 translates every IPv4 address, and DNS64 gives names such ones.
  if (range === 'rfc6052') return isAllowed(networkOf(text), false);
  if (range !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || (address.match(globalUnicast) && !isIsatap(address));
}

/** Whether the last 64 bits are an ISATAP interface identifier (RFC 5214), which embeds an IPv4 address under any prefix. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x0200);
}
