import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, jest, test } from '@jest/globals';
import { hashOfKey } from '../../src/auth/credentials.js';
import { blocksOf } from '../support/guide.js';
import { buildProgram } from '../support/program.js';

jest.setTimeout(600_000);

/** A network and mounts of its own: the commands run as they are, and nothing of this machine changes. */
const apart = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
const canBeApart = spawnSync('unshare', [...apart, 'mount', '-t', 'tmpfs', 'tmpfs', '/opt']).status === 0;

/** Makes the folders as they are after the packages were installed, and starts the sandbox as the service. */
const machine = `
set -euo pipefail
trap '[ $? = 0 ] || journalctl >&2' EXIT
ip link set lo up
cp --archive /etc "$STATE/etc" && mount --bind "$STATE/etc" /etc
for folder in /opt /run /usr/local/sbin /var/lib/redis /var/log/redis /var/lib/prometheus; do mount -t tmpfs tmpfs "$folder"; done
chown redis:redis /var/lib/redis /var/log/redis
rm --force /etc/redis/*
node "$PROGRAM/sandbox/main.js" --port 4010 > "$STATE/sandbox.log" 2>&1 &
until curl --silent --output /dev/null http://127.0.0.1:4010; do sleep 0.1; done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=gateway \\
  -keyout key.pem -out certificate.pem 2> "$STATE/openssl.log"
ask() { jq --null-input --arg query "$1" '{ $query }' | curl --silent --show-error --insecure https://127.0.0.1/graphql \\
  --header 'content-type: application/json' --data @- "\${@:2}"; }
key='x-api-key: demo-key-subscribed'
# As careful administrators have it.
umask 027
`;

/** A second run of the block with the secrets keeps them. */
const secretsStay = (again: string) => `
kept=$(cat "$settings/SESSION_SECRET")
${again}
[ "$kept" = "$(cat "$settings/SESSION_SECRET")" ]
`;

/** Settings that systemd understands as they are, and a shell does not. */
const more = `
cat >> "$settings/environment" <<'END'
# Blanks and "quotes" in a comment.
CORS_ORIGINS=https://a.example, https://b.example
NODE_OPTIONS="--max-old-space-size=512 --stack-trace-limit=20"
END
unset settings
umask 027
`;

/** Uses all that needs Redis. */
const before = `
curl --silent --show-error --fail --insecure --output "$STATE/ready" https://[::1]/readyz
ask 'mutation { signIn(input: { email: "ada@team.example", password: "sandbox-ada" }) { viewer { email } } }' --cookie-jar "$STATE/cookies" > "$STATE/first"
for time in 1 2 3; do
  ask '{ events(first: 2) { updatesCursor pageInfo { endCursor } } market(id: 1) { name topics { nodeId } } }' --header "$key" > "$STATE/read"
done
cursor=$(jq --raw-output .data.events.pageInfo.endCursor "$STATE/read")
updates=$(jq --raw-output .data.events.updatesCursor "$STATE/read")
ask 'mutation {
  registerExportEndpoint(input: { name: "crm", description: "A CRM", url: "https://crm.example/" }) { signingSecret }
  exportMarketToEndpoint(input: { endpoint: "crm", marketId: "3", companies: { visible: { first: 3 } }, idempotencyKey: "k" }) { __typename }
  watchEvents(input: { endpoint: "crm" }) { watch { id } }
}' --header "$key" > "$STATE/first"
listen() { grep --quiet --max-count 1 "$2" < <(curl --silent --insecure --no-buffer https://127.0.0.1/graphql/stream --header "$key" \\
  --header 'accept: text/event-stream' --header 'content-type: application/json' --data "{\\"query\\":\\"subscription { $1 }\\"}"); }
listen 'jobProgress(marketId: 1) { phase }' 'event: next'
listen 'eventUpdates { cursor }' ':'
`;

/** Adds the gateway of a third core. */
const third = `
systemctl enable --now gateway@3
curl --silent --show-error --fail --output "$STATE/third" --retry 60 --retry-delay 1 --retry-all-errors http://127.0.0.1:4103/readyz
`;

/** Which releases the page has installed, and which one runs. */
const showReleases = `(cd /opt/market-intelligence-gateway && ls && readlink current previous) | xargs --max-args 20 echo releases:`;

/** What is used seldom, and at night. */
const atNight = `
gateway hash-key key-of-a-partner
gateway check-config | grep CORS_ORIGINS
(! gateway nothing 2> nothing)
journalctl --unit 'gateway@*' --since -10min --output cat > log
`;

/** Loses what Redis had, and puts what was restored into its place. */
const moveRestored = `
rm --recursive /var/lib/redis/*
cp --recursive restored/appendonlydir /var/lib/redis
chown --recursive redis:redis /var/lib/redis
`;

const waitForBoth = `
for address in http://127.0.0.1:4101 http://127.0.0.1:4102 https://127.0.0.1; do
  curl --silent --show-error --fail --insecure --output "$STATE/ready" --retry 60 --retry-delay 1 --retry-all-errors "$address/readyz"
done
`;

/** Prints what the next release and the one before made of it, and what Redis and the logs say. */
const after = `
settings=/etc/market-intelligence-gateway
ask '{ viewer { email } }' --cookie "$STATE/cookies" --write-out '\\n'
ask "{ events(first: 1, after: \\"$cursor\\") { pageInfo { hasPreviousPage } } eventChanges(after: \\"$updates\\") { gap } }" --header "$key" --write-out '\\n'
ask '{ export(by: { idempotencyKey: "k" }) { outcome } watches { endpoint { name } } }' --header "$key" --write-out '\\n'
ask 'mutation { signOut { viewer { email } } }' --cookie "$STATE/cookies" --write-out '\\n'
until [ "$(curl --silent --get http://127.0.0.1:9090/api/v1/query --data-urlencode 'query=sum(up{job="gateway"})' | jq --raw-output '.data.result[0].value[1]')" = 2 ]
do sleep 0.2; done
REDISCLI_AUTH=$(cat "$settings/REDIS_ADMIN_PASSWORD") redis-cli --tls --cacert /etc/redis/redis.pem --user admin --json acl log | jq --compact-output 'map({ object, username })'
journalctl | grep '"level"' | jq --raw-output .msg | grep --invert-match 'Node 20 gets no'
`;

test('a build that fails installs no release, also in a shell that goes on after it', () => {
  const own = mkdtempSync(join(tmpdir(), 'program-'));
  try {
    for (const [name, script] of [
      ['npm', 'exit 1'],
      ['git', 'echo next'],
    ] as const) {
      writeFileSync(join(own, name), `#!/bin/sh\n${script}\n`);
      chmodSync(join(own, name), 0o755);
    }
    const programs = join(own, 'programs');
    const block = blocksOf('docs/linux.md').find(({ text }) => text.includes('npm ci'))?.text ?? '';
    const moved = block.replace('/opt/market-intelligence-gateway', programs).replace('/usr/local/sbin', own);
    spawnSync('bash', ['-c', moved], { cwd: own, env: { PATH: `${own}:${process.env.PATH}` } });
    expect(existsSync(programs)).toBe(false);
  } finally {
    rmSync(own, { recursive: true });
  }
});

(canBeApart ? test : test.skip)(
  'the page for Linux without Docker sets up a fleet that upgrades and rolls back',
  async () => {
    const { folder: PROGRAM } = await buildProgram();
    const own = mkdtempSync(join(tmpdir(), 'linux-'));
    const STATE = join(own, 'state');
    const checkout = join(own, 'checkout');
    const stubs = join(own, 'stubs');
    try {
      for (const each of ['deploy', 'docs/operations', 'operations', 'package.json', 'schema'])
        cpSync(each, join(checkout, each), { recursive: true });
      for (const each of [STATE, stubs]) mkdirSync(each);
      // What the Dockerfile's test does in a clean folder.
      cpSync(PROGRAM, join(checkout, 'dist'), { recursive: true });
      symlinkSync(resolve('node_modules'), join(checkout, 'node_modules'));
      const stub = (name: string, script: string) => {
        writeFileSync(join(stubs, name), `#!/bin/sh\n${script}\n`);
        chmodSync(join(stubs, name), 0o755);
      };
      stub('npm', '');
      stub('apt-get', '');
      stub('git', 'cat "$STATE/release"');
      stub('systemctl', `exec node ${resolve('test/support/systemctl.mjs')} "$@"`);
      stub('journalctl', 'cat "$SYSTEMCTL_STATE"/gateway@*.log');
      /** Runs it as somebody does who has just logged in: in another folder, without the variables of the other blocks. */
      const inNewShell = (name: string, block: string) => {
        writeFileSync(join(STATE, name), block);
        return `(cd "$STATE" && bash -euo pipefail ${name})`;
      };
      const commands = blocksOf('docs/linux.md').map(({ text }) =>
        text.replaceAll('https://service.example.com', 'http://127.0.0.1:4010'),
      );
      // As an operator has them at night, with the variables that the page sets.
      const named = ['docs/operators.md', 'docs/runbooks/README.md'].flatMap(page => blocksOf(page));
      const elsewhere = named.flatMap(({ text }) => (/"\$(ADMIN|PROMETHEUS)\//.test(text) ? [text] : []));
      const settings = commands.findIndex(command => command.includes('$settings/environment'));
      const program = commands.findIndex(command => command.includes('npm ci'));
      const upgrade = commands.findIndex(command => command.includes('roll.sh'));
      const restoring = blocksOf('docs/operators.md').find(({ text }) => text.includes('rdb restored'))?.text ?? '';
      const [rollback = '', ...others] = commands.slice(upgrade + 1);
      const script = [
        machine,
        'echo first > "$STATE/release"',
        ...commands.slice(0, settings + 1),
        secretsStay(commands[settings] ?? ''),
        more,
        ...commands.slice(settings + 1, upgrade),
        before,
        third,
        'echo next > "$STATE/release"',
        // Twice, as where the first time did not come to its end.
        commands[program],
        commands[program],
        // The address of a proxy is for what is outside.
        `http_proxy=http://127.0.0.1:9 ${commands[upgrade]}`,
        inNewShell('of-next', showReleases),
        inNewShell('rollback', `${rollback}\n${showReleases}`),
        inNewShell('others', [...others, ...elsewhere, atNight].join('\n')),
        'systemctl stop gateway@1 gateway@2 gateway@3 redis-server',
        inNewShell('restore', `${restoring}\n${moveRestored}`),
        'systemctl start redis-server gateway@1 gateway@2',
        waitForBoth,
        "echo '---'",
        after,
      ].join('\n');
      const child = spawn('unshare', [...apart, 'bash', '-c', script], {
        cwd: checkout,
        env: {
          PATH: `${stubs}:${process.env.PATH}:/usr/sbin:/usr/local/sbin`,
          HOME: own,
          STATE,
          SYSTEMCTL_STATE: STATE,
          PROGRAM,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
      const [printed = '', found = ''] = stdout.split('---\n');
      const [session, cursors, exported, signedOut, acl, ...log] = found.trimEnd().split('\n');
      // The certificate's key is made, an address is tried again until it answers, and redis-cli says how far the backup is.
      const progress = /^(-+|curl: \((7|22)\) .*|(sending REPLCONF|SYNC sent|Transfer finished) .*)\n/gm;
      expect(stderr.replaceAll(progress, '')).toBe('');
      expect([session, cursors, exported, signedOut, acl].map(line => JSON.parse(line ?? ''))).toEqual([
        { data: { viewer: { email: 'ada@team.example' } } },
        { data: { events: { pageInfo: { hasPreviousPage: true } }, eventChanges: { gap: false } } },
        { data: { export: { outcome: 'FAILED' }, watches: [{ endpoint: { name: 'crm' } }] } },
        { data: { signOut: { viewer: null } } },
        // Redis has refused nothing.
        [],
      ]);
      expect(log.filter(line => /may not|password|certificate|NOPERM/.test(line))).toEqual([]);
      const folder = '/opt/market-intelligence-gateway';
      expect(printed.match(/^releases:.*$/gm)).toEqual([
        `releases: current first next previous ${folder}/next ${folder}/first`,
        `releases: current first next previous ${folder}/first ${folder}/first`,
      ]);
      for (const line of [
        'Purged everything',
        'https://a.example,https://b.example',
        'Signed with the first SESSION_SECRET: the endpoints and exports of 1 of 1 teams',
        '{"logLevel":"info"}',
        hashOfKey('key-of-a-partner'),
      ])
        expect(printed).toContain(line);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  },
);
