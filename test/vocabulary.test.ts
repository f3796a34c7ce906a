import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

/** The old terms, each with the one to use. The patterns leave ordinary uses alone: "in flight", "makes room", "in order of arrival". */
const oldTerms: readonly (readonly [RegExp, string])[] = [
  [/\b(houses?|rooms|stairs?|(?:a|the|every|each|its|own) room(?! for))\b/, 'module, domain, layer'],
  [/(?<!Math\.|[{,] )\bfloors?\b(?!\()/, 'layer'],
  [/\bdoors?\b/i, 'transport, server, route'],
  [/\bReception\b|\b([Vv]isitor|[Gg]uest)s?\b|\bVisits\b/, 'authentication, Identity'],
  [/(?<!order of )\barrivals?\b|\bpresented\b/i, 'Handshake, RawCredentials'],
  [/\b[Aa]skers?\b|\bCaller\b/, 'RequestAuth'],
  [/\bStay\b|\btrails?\b|\btall(y|ies)\b/, 'RequestTelemetry, OperationInfo'],
  [/\breceipts?\b|\bReceipt/i, 'ResponseMetadata, UpstreamCallRecord'],
  [/\bkept answers?\b|keptAnswer|KEEP_ANSWERS|AnswerStore/i, 'response cache, cached response'],
  [/\bFlight\b|\b(passengers?|departing)\b/, 'InFlight, waiters, startFlight'],
  [
    /(?<!supervisory )\bboards?\b|\bears?\b|\b(type|interface|class) (Reading|Programme)\b/,
    'PollStore, StateMessage, Subscription',
  ],
  [/\bprogramme\b(?!s? of )|\bseats?\b/i, 'SubscriptionSource, Subscriber'],
  [/\b(wording|worded|fitting)\b/, 'encodeFrame, formatErrors, closeReason'],
  [/\bpartings?\b|\bDormant\b|\bheavy part/i, 'drainGradually, LazyEntry, embeddings'],
  [/\b(understood|strayed)\b/, 'parseLenient, issues'],
  [/\bdoom|\bSlot\b/, 'PendingValue, fail'],
  [/\bheed|\bculprits?\b/, 'onErrors, requestIdByError'],
  [/\b[A-Z][A-Za-z]*Parts\b/, 'Deps or Options'],
  [/(?<!--|\.)\bgates?\b(?!:)|(?<!under-|back)\bpressure\b|most-?calls/i, 'rate-limit, load-shedding, cost'],
  [/\b(anew|whoever)\b|(?<![-'"`|=])\bnobody\b(?![-@'"])/i, 'again, the client, no one'],
  [/\b(most|longest|largest|worth|least)[A-Z]\w*/, 'max…, min…, …Threshold, …Timeout'],
  [/(?<!there )\bis none\b|\bwho asks\b/i, 'is not a valid …, the client'],
];

/** What the sandbox's service and its news say, and files that programs write. */
const exempt =
  /^src\/(generated|sandbox\/world)\/|^docs\/(schema\.released\.graphql|changes\.md)$|^test\/vocabulary\.test\.ts$/;

const files = [
  'README.md',
  'CONTRIBUTING.md',
  ...['src', 'test', 'bench', 'docs', 'schema'].flatMap(textFilesIn),
].filter(file => !exempt.test(file));

function textFilesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : textFilesIn(path);
    return /\.(ts|mjs|md|graphql|yml)$/.test(entry.name) ? [path] : [];
  });
}

describe('the vocabulary', () => {
  test('no file uses an old term', () => {
    const found = files.flatMap(file =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          oldTerms
            .filter(([pattern]) => pattern.test(line))
            .map(([pattern, instead]) => `${file}:${index + 1}: ${pattern.exec(line)?.[0]} (write: ${instead})`),
        ),
    );
    expect(found).toEqual([]);
  });

  test('no two modules export the same name', () => {
    const modules = new Map<string, string[]>();
    for (const file of files.filter(file => /^src\/(?!sandbox\/|receiver\/).*\.ts$/.test(file))) {
      const declared = readFileSync(file, 'utf8').matchAll(
        /^export (?:declare )?(?:async )?(?:abstract )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm,
      );
      // A type and a value of one name in one module are one thing.
      for (const name of new Set([...declared].map(([, name = '']) => name))) {
        modules.set(name, [...(modules.get(name) ?? []), file]);
      }
    }
    expect([...modules].filter(([, owners]) => owners.length > 1)).toEqual([]);
  });
});
