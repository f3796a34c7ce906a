import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { webUrl } from '../src/data/parsing.js';
import { browserUrl } from '../src/domains/exports/endpoint-response.js';
import { parseWebUrl } from '../src/lib/web-url.js';

test.each([
  ['https://a.example/', 'https://a.example/'],
  ['HTTP://A.example:80/x y?q=ä#f', 'http://a.example/x%20y?q=%C3%A4#f'],
  ['https://bücher.example', 'https://xn--bcher-kva.example/'],
  ['https://[::1]:4000/', 'https://[::1]:4000/'],
  ['https:a.example', 'https://a.example/'],
])('%s is a URL', (text, href) => {
  expect(parseWebUrl(text)?.href).toBe(href);
  expect(browserUrl.parse(text)).toBe(href);
});

test.each([
  'https://crm.example?x=1',
  'https://crm.example',
  'http://crm.example:8080/a/../b?q=%20[1]#f',
  'https://[::1]:4000#',
])('%s is passed on as it is written', text => {
  expect(browserUrl.parse(text)).toBe(text);
});

test.each([
  ['https://crm.example@evil.example', 'https://crm.example@evil.example/'],
  ['https://crm.example:443', 'https://crm.example/'],
  ['https://crm.example\\@evil.example', 'https://crm.example/@evil.example'],
  ['https://crm.example/"><b>', 'https://crm.example/%22%3E%3Cb%3E'],
  [' https://crm.example?x', 'https://crm.example/?x'],
  ['https://crm.example/a\nb', 'https://crm.example/ab'],
])('%j is passed on as a browser would write it', (text, url) => {
  expect(browserUrl.parse(text)).toBe(url);
});

test.each([
  '',
  'a.example',
  'javascript:alert(1)',
  'data:text/html,',
  'file:///etc/passwd',
  'https://',
  'https:///',
  'https://a b/',
])('%j is not a valid URL', text => {
  expect(parseWebUrl(text)).toBeUndefined();
  expect(webUrl.safeParse(text).success).toBe(false);
  expect(browserUrl.parse(text)).toBeNull();
});

// To parse one would take seconds or minutes: the test would run into its timeout.
test.each([
  ['a long name', `https://${'爪'.repeat(400_000)}/`],
  ['a long name in ASCII', `https://xn--${'a'.repeat(400_000)}/`],
  ['many labels', `https://${'é.'.repeat(400_000)}/`],
  ['many at signs', `https://${'@'.repeat(900_000)}a/`],
  ['a long name behind backslashes', `https:\\\\${'爪'.repeat(400_000)}\\`],
])('a host that is %s is refused without being parsed', (_, text) => {
  expect(parseWebUrl(text)).toBeUndefined();
});

test('a path may be of any length', () => {
  expect(parseWebUrl(`https://a.example/${'ä'.repeat(400_000)}`)?.host).toBe('a.example');
});

test('a host outside of ASCII is one however often it is read', () => {
  for (let time = 0; time < 20_000; time += 1) {
    const text = Buffer.from(`http://é${time % 7}.example/`, 'latin1').toString('latin1');
    if (parseWebUrl(text) === undefined) throw new Error(`refused after ${time} times`);
  }
});

test('what passes for a usual URL is one', () => {
  const part = fc.string({ unit: fc.constantFrom(...'ab09-.xn/?#:@[]\\%"<> é') });
  fc.assert(
    fc.property(fc.constantFrom('http://', 'https://', 'HTTPS://'), part, part, (scheme, host, rest) => {
      for (const text of [`${scheme}${host}`, `${scheme}${host}.example/${rest}`, `${scheme}xn--${host}.example`])
        expect(webUrl.safeParse(text).success).toBe(parseWebUrl(text) !== undefined);
    }),
    { numRuns: 1_000 },
  );
});
