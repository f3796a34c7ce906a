// Look-ups of host names. The system's own (`getaddrinfo`) run in the few threads of Node's pool, where one name whose name server is silent holds up all
// others. Here each name has sockets and a bound of its own.
import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { callbackify } from 'node:util';
import { LRUCache } from 'lru-cache';

type Addresses = readonly LookupAddress[];

/** What name servers answer where there is no such name, or it cannot be one. */
const notFoundCodes: readonly unknown[] = [dns.NOTFOUND, dns.NODATA, dns.BADNAME];
/** What name servers answer that may know another name. */
const refusalCodes: readonly unknown[] = [dns.SERVFAIL, dns.REFUSED];

/** Of one query to one name server, in milliseconds. */
const queryMs = 2_000;
/** Of all queries for a name. */
const nameMs = 5_000;
/** How long new addresses are waited for, before the last ones are used. */
const patienceMs = 250;
/** How long IPv6 addresses are waited for once there are those of IPv4. Some name servers never answer for them; many hosts have no way to IPv6. */
const ipv6Ms = 100;

const last = new LRUCache<string, Addresses>({ max: 1_000 });
const running = new Map<string, Promise<Addresses>>();

/**
 * All addresses of a host, as the system finds them: those in /etc/hosts, or else what the name servers say, also for its name in the search domains. While
 * no name server answers, or not at once, those from before. @throws Error with the code ENOTFOUND if there is no such name, or EAI_AGAIN.
 */
export async function resolveHost(hostname: string): Promise<Addresses> {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  const listed = addressesOf([name, ...(isIP(name) ? [name] : inHostsFile(name))]);
  if (listed.length > 0) return listed;
  if (/(^|\.)localhost$/.test(name)) return addressesOf(['127.0.0.1', '::1']);
  const asked = running.get(hostname) ?? ask(hostname).finally(() => running.delete(hostname));
  running.set(hostname, asked);
  const before = last.get(hostname);
  if (before === undefined) return asked;
  return Promise.race([asked, pause(patienceMs, before, { ref: false })]).catch(error => {
    if (error.code === dns.NOTFOUND) throw error;
    return before;
  });
}

const addressesOf = (texts: readonly string[]): Addresses =>
  texts.filter(isIP).map(address => ({ address, family: isIP(address) }));

function linesOf(file: string): readonly (readonly string[])[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.map(line => line.replace(/[#;].*/, '').match(/\S+/g) ?? []);
  } catch {
    return [];
  }
}

function inHostsFile(name: string): readonly string[] {
  const lines = linesOf('/etc/hosts').filter(([, ...names]) => names.some(each => each.toLowerCase() === name));
  return lines.map(([address = '']) => address);
}

/** The full names that a name may stand for, in the order in which the system tries them. */
function candidatesFor(hostname: string): readonly string[] {
  if (hostname.endsWith('.')) return [hostname];
  const lines = linesOf('/etc/resolv.conf');
  const [, ...domains] = lines.findLast(([keyword]) => keyword === 'search' || keyword === 'domain') ?? [];
  const options = lines.flatMap(([keyword, ...values]) => (keyword === 'options' ? values : []));
  const dots = Number(options.findLast(option => option.startsWith('ndots:'))?.slice('ndots:'.length) ?? 1);
  const searched = domains.map(domain => `${hostname}.${domain.replace(/^\.|\.$/g, '')}`);
  return hostname.split('.').length > dots ? [hostname, ...searched] : [...searched, hostname];
}

/** Asks the name servers. @throws as `resolveHost` */
async function ask(hostname: string): Promise<Addresses> {
  // A new one each time knows the name servers of now, and can be stopped alone.
  const resolver = new dns.promises.Resolver({ timeout: queryMs, tries: 2 });
  const deadline = setTimeout(() => resolver.cancel(), nameMs).unref();
  let isCertain = true;
  try {
    for (const name of candidatesFor(hostname)) {
      const ipv4 = resolver.resolve4(name);
      const queries = [ipv4, resolver.resolve6(name)];
      const other = ipv4.then(() => pause(ipv6Ms, undefined, { ref: false }));
      other.then(() => resolver.cancel()).catch(() => {});
      const answers = await Promise.allSettled(queries);
      const found = addressesOf(answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : [])));
      if (found.length > 0) {
        last.set(hostname, found);
        return found;
      }
      const codes = answers.flatMap(answer => (answer.status === 'rejected' ? [answer.reason.code] : []));
      const others = codes.filter(code => !notFoundCodes.includes(code));
      if (others.length > 0) isCertain = false;
      if (others.some(code => !refusalCodes.includes(code))) break;
    }
  } finally {
    clearTimeout(deadline);
  }
  throw notFound(hostname, isCertain ? dns.NOTFOUND : 'EAI_AGAIN');
}

const notFound = (hostname: string, code: string) =>
  Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, hostname, syscall: 'getaddrinfo' });

async function lookup(
  hostname: string,
  options: LookupOptions | number | undefined,
): Promise<LookupAddress | Addresses> {
  const { family = 0, all = false } = typeof options === 'number' ? { family: options } : (options ?? {});
  const wanted = typeof family === 'string' ? Number(family.slice('IPv'.length)) : family;
  const found = (await resolveHost(hostname)).filter(each => wanted === 0 || each.family === wanted);
  const [first] = found;
  if (first === undefined) throw notFound(hostname, dns.NOTFOUND);
  return all ? found : first;
}

/** From now on, every look-up of this process goes by `resolveHost`, also those of libraries to which no other can be given: ioredis, gRPC. */
export function replaceLookups(): void {
  const withCallback = callbackify(lookup);
  Object.assign(dns.promises, { lookup });
  Object.assign(dns, {
    lookup(hostname: string, ...rest: readonly unknown[]) {
      const done = rest.at(-1) as (error: Error | null, ...found: readonly unknown[]) => void;
      const options = rest.length > 1 ? (rest[0] as LookupOptions | number) : undefined;
      withCallback(hostname, options, (error, found) => {
        if (error !== null) done(error);
        else if ('address' in found) done(null, found.address, found.family);
        else done(null, found);
      });
    },
  });
  syncBuiltinESMExports();
}
