import { execFileSync } from 'node:child_process';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { newSigningSecret, signatureHeaders } from '../../src/domains/exports/signing.js';

test('the programs of docs/partners.md verify the signature of an export', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'verify-'));
  try {
    for (const name of ['verify.py', 'verify.ts']) await copyFile(join('examples/partners', name), join(folder, name));
    const secret = newSigningSecret();
    const body = JSON.stringify({ data: [{ name: 'Käse' }], meta: { totalItems: 1 } });
    const signed = signatureHeaders([{ secret, validUntil: null }], { id: 'one', body }, new Date());
    const python =
      'import json, sys; from verify import is_signed; a = json.load(sys.stdin); print(is_signed(a[0], a[1], a[2].encode()))';
    const inPython = (headers: object, text: string) =>
      execFileSync('python3', ['-c', python], {
        cwd: folder,
        input: JSON.stringify([secret.reveal(), headers, text]),
      }).toString();
    const { isSigned } = await import(pathToFileURL(join(folder, 'verify.ts')).href);
    const inScript = (headers: object, text: string) => isSigned(secret.reveal(), headers, Buffer.from(text));
    expect([inPython(signed, body), inPython(signed, `${body} `)]).toEqual(['True\n', 'False\n']);
    expect([inScript(signed, body), inScript(signed, `${body} `)]).toEqual([true, false]);
    for (const change of [
      { 'webhook-signature': `v1,${'é'.repeat(44)}` },
      { 'webhook-signature': undefined },
      { 'webhook-timestamp': 'now' },
      { 'webhook-timestamp': undefined },
      { 'webhook-id': undefined },
    ]) {
      const headers = { ...signed, ...change };
      expect([inPython(headers, body), inScript(headers, body)]).toEqual(['False\n', false]);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
