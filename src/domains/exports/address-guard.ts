import { lookup, Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';

/** Every address of a name, of both families. @throws Error where it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** Why an export may not go where it was to go. Its text names no address: what a name resolves to inside is nobody's business. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';

  constructor(hostname: string) {
    super(`${hostname} is, or resolves to, an address that exports may not go to`);
  }
}

/** Keeps exports out of the networks that the gateway itself can reach. */
export interface AddressGuard {
  /** @throws AddressRefused where a host is, or resolves to, any address that is not allowed. A name that does not resolve passes. */
  check(url: URL): Promise<void>;
  /** Makes connections and looks at the address each one is about to go to, so that a name cannot change its meaning after `check`. */
  readonly connect: buildConnector.connector;
}

/** Ranges that stand for a development machine and its network. */
const developmentRanges = new Set(['loopback', 'private', 'uniqueLocal']);

/** Addresses of instance metadata that lie in ranges which are otherwise allowed (Azure's, and AWS's by IPv6). */
const metadataAddresses = new Set(['168.63.129.16', 'fd00:ec2::254']);

/** Names that stand for loopback, whatever a resolver makes of them (RFC 6761). */
const loopbackName = /(^|\.)localhost\.?$/;

/** All that is assigned to hosts of the internet; whatever embeds an IPv4 address in another way lies outside, ISATAP aside. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** As long as an attempt of an export may take: whoever waits for the connection gives up no later than it does. */
const connectTimeoutMs = 15_000;

const names = new Resolver({ timeout: 2_000, tries: 2 });

/**
 * Asks the name servers of the machine, since its own resolver runs in threads: two silent servers of other people's names would hold up
 * whoever else has to find a name. Names of one word, `localhost` and the machine's own, can be nobody else's.
 */
export const resolveName: Resolve = async hostname => {
  if (loopbackName.test(hostname) || !hostname.includes('.')) {
    return (await lookup(hostname, { all: true })).map(({ address }) => address);
  }
  const found = await Promise.allSettled([names.resolve4(hostname), names.resolve6(hostname)]);
  const addresses = found.flatMap(each => (each.status === 'fulfilled' ? each.value : []));
  if (addresses.length === 0) throw new Error(`${hostname} has no address`);
  return addresses;
};

/**
 * @param allowPrivate whether loopback, private and unique-local addresses are allowed. Link-local ones, those of cloud metadata,
 *   and those that embed another address never are.
 */
export function createAddressGuard(allowPrivate: boolean, resolve: Resolve): AddressGuard {
  const allowed = (address: string) => isAllowed(address, allowPrivate);

  async function allowedAddresses(hostname: string): Promise<readonly string[]> {
    if (loopbackName.test(hostname) && !allowPrivate) throw new AddressRefused(hostname);
    const addresses = await resolve(hostname);
    if (!addresses.every(allowed)) throw new AddressRefused(hostname);
    return addresses;
  }

  const checkedLookup: LookupFunction = (hostname, options, callback) => {
    const found = (addresses: readonly string[]) => {
      const answers = addresses.map(address => ({ address, family: ipaddr.parse(address).kind() === 'ipv6' ? 6 : 4 }));
      const [first] = answers;
      if (options.all) callback(null, answers);
      else if (first !== undefined) callback(null, first.address, first.family);
      else callback(new Error(`${hostname} has no address`), []);
    };
    allowedAddresses(hostname)
      .then(found)
      .catch(error => callback(error, []));
  };

  const connectChecked = buildConnector({ lookup: checkedLookup, timeout: connectTimeoutMs });
  return {
    async check({ hostname }) {
      const literal = literalOf(hostname);
      if (literal !== undefined) {
        if (!allowed(literal)) throw new AddressRefused(hostname);
        return;
      }
      await allowedAddresses(hostname).catch(error => {
        if (error instanceof AddressRefused) throw error;
      });
    },
    connect(options, callback) {
      // A literal address is never looked up, so that it has to be judged here.
      const literal = literalOf(options.hostname);
      if (literal !== undefined && !allowed(literal)) callback(new AddressRefused(options.hostname), null);
      else connectChecked(options, callback);
    },
  };
}

/** The address that a host of a parsed URL is; undefined where it is a name. URL has already understood every other notation of IPv4. */
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
  if (range !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || (address.match(globalUnicast) && !isIsatap(address));
}

/** Whether the last 64 bits are an interface identifier of ISATAP (RFC 5214), which embeds an IPv4 address under any prefix. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x0200);
}
