import { domainToASCII } from 'node:url';

/** Of a domain, in characters: the time to convert a text grows faster than its length. */
const maxLength = 253;

/** What identifies a domain, however it is written: in upper or lower case, with or without blanks around it or a dot at its end, in Unicode or in ASCII. */
export function domainKey(domain: string): string {
  const plain = domain.trim().toLowerCase();
  const isUnicode = /[^\x21-\x7e]/.test(plain) && plain.length <= maxLength;
  return (isUnicode ? inAscii(plain) : plain).replace(/\.$/, '');
}

/** What is no host, with or without a port, stays as it is: `domainToASCII` would drop all that stands behind the host. */
function inAscii(domain: string): string {
  const [, host = '', port = ''] = /^([^\s/?#\\@:]+)(:\d+)?$/.exec(domain) ?? [];
  const ascii = domainToASCII(host);
  return ascii === '' ? domain : ascii + port;
}

/** Each domain once, as it is written first. */
export const distinctDomains = (domains: readonly string[]): readonly string[] =>
  [...new Map(domains.map(domain => [domainKey(domain), domain] as const).reverse()).values()].reverse();
