import { BadUserInput } from '../../errors.js';
import { boundedList } from '../../graphql/limits/list-bounds.js';

/** A header that an endpoint is to be called with. */
export interface Header {
  readonly name: string;
  readonly value: string;
}

const longestName = 255;
const longestValue = 4_096;

const token = /^[!#$%&'*+.^_`|~\w-]+$/;
const visible = /^[\x20-\x7e]+$/;

/** What the export itself, the connection or the body's length decides. */
const reserved = new Set([
  ...['content-type', 'idempotency-key'],
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization'],
  ...['host', 'content-length', 'content-encoding', 'expect'],
]);

/** An endpoint's own headers (docs/upstream-api.md: Endpoint registration), names as given. @throws BadUserInput that names the header, never its value. */
export function checkedHeaders(headers: readonly Header[], argument: string): readonly Header[] {
  const seen = new Set<string>();
  return boundedList('RegisterExportEndpointInput.headers', headers, argument).map(({ name, value }, index) => {
    const place = `${argument}.${index}`;
    const trimmed = name.trim();
    const key = trimmed.toLowerCase();
    if (!token.test(trimmed) || trimmed.length > longestName)
      throw new BadUserInput(`${place}.name`, 'is no header name');
    if (reserved.has(key)) throw new BadUserInput(`${place}.name`, `${trimmed} cannot be set`);
    if (seen.has(key)) throw new BadUserInput(`${place}.name`, `${trimmed} is given twice`);
    seen.add(key);
    if (!visible.test(value) || value.length > longestValue) {
      throw new BadUserInput(`${place}.value`, `must be 1 to ${longestValue} visible ASCII characters`);
    }
    return { name: trimmed, value };
  });
}
