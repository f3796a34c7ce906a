import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

/** A fenced block: ```` ```sh ```` is a command, ```` ```ts src/client.ts ```` a file, ```` ```text ```` and ```` ```json ```` what the command before it prints. */
interface Block {
  readonly language: string;
  readonly name: string | undefined;
  readonly text: string;
}

/** A command of a guide that was run, and what the guide says it prints. */
export interface Step {
  readonly command: string;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined where the guide shows none. */
  readonly promised: string | undefined;
}

/** Where a guide speaks of a gateway without a variable. */
const exampleHost = 's://gateway.example';
const maxCommandMs = 240_000;

/** The fenced blocks of a guide, in their order. */
export function blocksOf(guide: string): Block[] {
  const text = readFileSync(guide, 'utf8');
  return [...text.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms)].map(([, language = '', name, block = '']) => ({
    language,
    name,
    text: block,
  }));
}

/**
 * Follows a guide to its end as a reader would: writes its files into an empty project, which finds the packages that are installed here,
 * and runs its commands there.
 * @param gateway the address that stands in for the guide's.
 * @param env what the commands find besides `GATEWAY`.
 * @param stands what stands in for other texts of the guide, such as a port that may be taken here.
 * @param links what lies in the project besides its packages, by its name there.
 * @param copied the folder whose files the guide says to copy into the project.
 * @param onStep is called after each command.
 * @throws Error for a block that is neither file nor command nor output, and for a file that nothing uses.
 */
export async function follow(
  guide: string,
  gateway: string,
  {
    env,
    stands = {},
    links = {},
    copied,
    onStep = () => {},
  }: {
    readonly env: Record<string, string>;
    readonly stands?: Readonly<Record<string, string>>;
    readonly links?: Readonly<Record<string, string>>;
    readonly copied?: string;
    readonly onStep?: (step: Step) => void;
  },
): Promise<Step[]> {
  const folder = await mkdtemp(join(tmpdir(), 'guide-'));
  const steps: Step[] = [];
  const unused = new Set<string>();
  const found = { ...env, GATEWAY: gateway };
  const replacements: Record<string, string> = { [exampleHost]: gateway.slice('http'.length), ...stands };
  const replaced = new RegExp(Object.keys(replacements).join('|'), 'g');
  const replace = (text: string) => text.replaceAll(replaced, found => replacements[found] ?? found);
  const write = async (name: string, text: string) => {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  };
  try {
    for (const [link, target] of Object.entries({ ...links, node_modules: resolve('node_modules') })) {
      await symlink(target, join(folder, link));
    }
    const files = copied === undefined ? [] : await readdir(copied, { recursive: true, withFileTypes: true });
    for (const { parentPath, name } of files.filter(each => each.isFile())) {
      const path = join(parentPath, name);
      await write(relative(copied ?? '', path), replace(readFileSync(path, 'utf8')));
    }
    const blocks = blocksOf(guide);
    for (const [place, { language, name, text }] of blocks.entries()) {
      const here = replace(text);
      if (name !== undefined) {
        await write(name, here);
        unused.add(name);
      } else if (language === 'sh') {
        for (const file of unused) if (here.includes(file) || /\btsc\b/.test(here)) unused.delete(file);
        const promised = [blocks[place + 1]].find(next => next?.name === undefined && isOutput(next));
        const step = { ...(await run(here, folder, found)), promised: promised?.text };
        steps.push(step);
        onStep(step);
      } else if (!(isOutput(blocks[place]) && blocks[place - 1]?.language === 'sh')) {
        throw new Error(`${guide}: a block of ${language} that is no file, no command and no output:\n${text}`);
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  if (unused.size > 0) throw new Error(`${guide}: nothing uses ${[...unused].join(', ')}`);
  return steps;
}

const isOutput = (block: Block | undefined) => block?.language === 'text' || block?.language === 'json';

async function run(command: string, cwd: string, env: Record<string, string>) {
  const { PATH, HOME } = process.env;
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that what it has started can be ended with it.
    detached: true,
  });
  const late = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), maxCommandMs);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', chunk => (stdout += chunk));
  child.stderr.on('data', chunk => (stderr += chunk));
  const [code] = await once(child, 'close');
  clearTimeout(late);
  return { command, code, stdout, stderr };
}
