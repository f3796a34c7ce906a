import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import { buildProgram } from '../support/program.js';

/** Prints the files of the program in `argv[1]` of which the first request of a query runs a function. */
const tracer = `
import inspector from 'node:inspector/promises';
import { pathToFileURL } from 'node:url';
const folder = process.argv[1] + '/';
const load = name => import(pathToFileURL(folder + name).href);
const { buildApp } = await load('app.js');
const { readConfig } = await load('config/config.js');
const gateway = await buildApp(readConfig({ PORT: '0', DATA_DIR: process.argv[3], LOG_LEVEL: 'error' }));
const { address } = await gateway.listen();
const post = query => fetch(address + '/graphql', {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-api-key': 'demo-key-subscribed' },
  body: JSON.stringify({ query }),
}).then(response => response.json());
await post('{ capabilities { exports } }');
const session = new inspector.Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
await session.post('Profiler.takePreciseCoverage');
const { errors } = await post(process.argv[2]);
if (errors) throw new Error(JSON.stringify(errors));
const { result } = await session.post('Profiler.takePreciseCoverage');
const own = result.filter(({ url }) => url.startsWith(pathToFileURL(folder).href) && !url.includes('/sandbox/'));
const run = own.filter(({ functions }) => functions.some(({ ranges: [{ count }] }) => count > 0));
console.log(JSON.stringify(run.map(({ url }) => url.slice(pathToFileURL(folder).href.length).replace(/\\.js$/, '.ts'))));
process.exit();
`;

const [, section = ''] = /^## The life of a request\n(.*?)^## /ms.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? [];
const [steps = '', others = ''] = section.split('The other files count or help');
const [, query = ''] = /`(\{.*?\})` runs/.exec(section) ?? [];

/** The files and folders that a text names: `src/a.ts`, `src/a/`, or `b.ts` and `c.ts` in `src/a/`. */
const namedIn = (text: string): string[] => {
  const whole = [...text.matchAll(/`src\/([\w/.-]+)`/g)].map(([, path = '']) => path);
  const parts = [...text.matchAll(/((?:`[\w-]+\.ts`(?:, | and )?)+)\s+in\s+`src\/([\w/-]+\/)`/g)];
  const inFolders = parts.flatMap(([, files = '', folder]) =>
    [...files.matchAll(/`([\w-]+\.ts)`/g)].map(([, file]) => `${folder}${file}`),
  );
  const folders = new Set(parts.map(([, , folder]) => folder));
  return [...whole.filter(path => !folders.has(path)), ...inFolders];
};

let run: string[];
beforeAll(async () => {
  const { folder } = await buildProgram();
  const dataDir = `${process.env.TEST_PROGRAM_FOLDER}/life-of-a-request`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', tracer, folder, query, dataDir]);
  run = JSON.parse(output.toString().split('\n').at(-2) ?? '');
});

test('names every file that the first such request runs', () => {
  const named = namedIn(section);
  const isNamed = (file: string) => named.some(path => file === path || (path.endsWith('/') && file.startsWith(path)));
  expect(run.length).toBeGreaterThan(40);
  expect(run.filter(file => !isNamed(file))).toEqual([]);
});

test('names no file as a step that this request does not run', () => {
  expect(namedIn(steps).filter(file => !run.includes(file))).toEqual([]);
});

test('says about how many files that are', () => {
  const [, count = ''] = /in about (\d+) files/.exec(section) ?? [];
  expect(Math.abs(run.length - Number(count))).toBeLessThan(10);
  expect(others).not.toBe('');
});
