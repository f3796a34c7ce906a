import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual, promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { parse } from 'yaml';
import { createReceiver } from '../../src/receiver/server.js';
import { forSuite } from '../support/cleanups.js';
import { freeAddress } from '../support/free-address.js';
import { postJson, startGateway } from '../support/gateway.js';
import { follow } from '../support/guide.js';
import { startPrometheus } from '../support/prometheus.js';
import { startRedis } from '../support/redis.js';
import { overSse } from '../support/streams.js';
import { until } from '../support/until.js';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

/** Runs a tool beside the gateway, whose event loop goes on. @throws Error with what it printed if it fails. */
const run = promisify(execFile);

const read = (path: string) => readFileSync(path, 'utf8');
const folder = 'docs/operations';
const dashboard = JSON.parse(read(`${folder}/grafana/dashboard.json`));
const rules: (Alert | { readonly record: string; readonly expr: string })[] = parse(
  read(`${folder}/alerts.yml`),
).groups.flatMap((group: { rules: unknown[] }) => group.rules);
const alerts = rules.filter((rule): rule is Alert => 'alert' in rule);
const dashboardQueries: string[] = dashboard.panels.flatMap((panel: { targets: { expr: string }[] }) =>
  panel.targets.map(({ expr }) => expr),
);
const expressions = [...dashboardQueries, ...rules.map(({ expr }) => expr)];

interface SentAlert {
  readonly labels: Record<string, string>;
  readonly status: string;
}

/**
 * Runs a real Alertmanager with our configuration, but for its times, which are a second.
 * @param use gets its address and what it has sent to its receivers, each a list of alerts.
 */
async function withAlertmanager<T>(use: (url: string, sent: SentAlert[][]) => Promise<T>): Promise<T> {
  const own = await mkdtemp(join(tmpdir(), 'alertmanager-'));
  const address = await freeAddress();
  const sent: SentAlert[][] = [];
  const receiver = createServer(async (request, response) => {
    sent.push(JSON.parse(await text(request)).alerts);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const configuration = read(`${folder}/alertmanager.yml`)
    .replaceAll('127.0.0.1:9099', `127.0.0.1:${port}`)
    .replaceAll(/(group_(?:wait|interval)): \w+/g, '$1: 1s');
  await writeFile(join(own, 'alertmanager.yml'), configuration);
  const child = spawn(
    'prometheus-alertmanager',
    [
      `--config.file=${own}/alertmanager.yml`,
      `--storage.path=${own}`,
      `--web.listen-address=${address}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  );
  const exit = once(child, 'exit');
  try {
    await until(async () => (await fetch(`http://${address}/-/ready`).catch(() => undefined))?.ok === true);
    return await use(`http://${address}/api/v2/alerts`, sent);
  } finally {
    child.kill('SIGTERM');
    await exit;
    receiver.close();
    await rm(own, { recursive: true });
  }
}

const fire = (url: string, alerts: object[]) => postJson(url, alerts, {});

/** Which of these alerts Alertmanager holds back, while all of them fire. */
const hiddenByAlertmanager = (fired: Record<string, string>[]) =>
  withAlertmanager(async url => {
    await fire(
      url,
      fired.map(labels => ({ labels })),
    );
    const read = async (): Promise<{ labels: Record<string, string>; status: { inhibitedBy: string[] } }[]> =>
      JSON.parse(await (await fetch(url)).text());
    await until(read, all => all.length === fired.length);
    return (await read()).filter(({ status }) => status.inhibitedBy.length > 0).map(({ labels }) => labels);
  });

/** What a gateway exposes that has answered nothing yet. */
const redis = forSuite(await startRedis());
const gateway = forSuite(
  await startGateway({
    redisUrl: redis.url,
    env: { EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true', RESPONSE_CACHE: 'true' },
  }),
);
const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
const prometheus = forSuite(await startPrometheus(gateway.url));

test('the dashboard and the alerts use only metrics that a gateway exposes from its start', () => {
  const known = [...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' || type === 'summary' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  const recorded = rules.flatMap(rule => ('record' in rule ? [rule.record] : []));
  const named = expressions.flatMap(expr => expr.match(/\b(job:|(?<!:)(gateway|nodejs|process)_)\w+(:\w+)?/g) ?? []);
  expect(named.length).toBeGreaterThan(expressions.length / 2);
  expect(named.filter(name => !known.includes(name) && !recorded.includes(name))).toEqual([]);
});

test('promtool finds nothing wrong with the metrics', async () => {
  await gateway.query('{ events(first: 3) { totalCount } }');
  for (const text of [metrics, await (await fetch(`${gateway.url}/metrics`)).text()]) {
    const checked = run('promtool', ['check', 'metrics']);
    checked.child.stdin?.end(text);
    expect(await checked).toEqual({ stdout: '', stderr: '' });
  }
});

describe('the alerts', () => {
  // `guides.test.ts` runs them with promtool, as docs/operators.md says.
  test('each have tests in which they fire and end', () => {
    const cases: { alertname: string; exp_alerts: unknown[] }[] = parse(
      read(`${folder}/alerts.test.yml`),
    ).tests.flatMap((group: { alert_rule_test: unknown[] }) => group.alert_rule_test);
    const firing = (isFiring: boolean) =>
      new Set(cases.filter(({ exp_alerts }) => exp_alerts.length > 0 === isFiring).map(({ alertname }) => alertname));
    const names = alerts.map(({ alert }) => alert).sort();
    expect({ fired: [...firing(true)].sort(), ended: [...firing(false)].sort() }).toEqual({
      fired: names,
      ended: names,
    });
  });

  test('select the job of the gateways in each expression', () => {
    for (const { expr } of rules) {
      const selectors = expr.match(/\b(up|(?<!:)(gateway|nodejs|process)_\w+)(\{[^}]*\})?/g) ?? [];
      expect(selectors.filter(selector => !selector.includes('job="gateway"'))).toEqual([]);
    }
  });

  test('find a bucket of whole seconds in Prometheus 2, which stores its bound as 5, and in Prometheus 3, as 5.0', () => {
    const matchers = expressions.flatMap(expr => [...expr.matchAll(/\ble(=~?)"([^"]*)"/g)]);
    const missed = matchers.flatMap(([matcher, operator, value = '']) => {
      const bound = Number.parseFloat(value);
      const spellings = Number.isInteger(bound) ? [`${bound}`, `${bound}.0`] : [`${bound}`];
      const finds = (text: string) => (operator === '=~' ? new RegExp(`^(?:${value})$`).test(text) : text === value);
      return spellings.every(finds) ? [] : matcher;
    });
    expect(matchers.length).toBeGreaterThan(8);
    expect(missed).toEqual([]);
  });

  test('wait for at most 45 s: with a scrape, an evaluation and the group, a fault is told within 90 s', () => {
    const slow = alerts.filter(({ for: pending = '0s' }) => !(Number(/^(\d+)s$/.exec(pending)?.[1]) <= 45));
    expect(slow.map(({ alert }) => alert)).toEqual(['AvailabilityBudgetSlow', 'LatencyBudgetSlow']);
  });

  test('each have a section in the runbooks, and each section has an alert', () => {
    const sections = read('docs/runbooks/README.md').split(/^## /m).slice(1);
    expect(sections.map(section => section.split('\n')[0])).toEqual(alerts.map(({ alert }) => alert));
    for (const [index, { labels, annotations }] of alerts.entries()) {
      const section = sections[index] ?? '';
      expect(annotations.runbook).toBe(`docs/runbooks/README.md#${section.split('\n')[0]?.toLowerCase()}`);
      expect(section.match(/^- \*\*[\w ]+\*\*/gm)).toEqual(['Meaning', 'See it', 'Do'].map(part => `- **${part}**`));
      expect(section).toContain(`- **Meaning** (${labels.severity}):`);
    }
  });

  test('are routed by a configuration that Alertmanager accepts', async () => {
    await run('amtool', ['check-config', `${folder}/alertmanager.yml`]);
    for (const { alert, labels } of alerts) {
      const route = [`alertname=${alert}`, 'job=gateway', `severity=${labels.severity}`];
      const tested = await run('amtool', [
        'config',
        'routes',
        'test',
        `--config.file=${folder}/alertmanager.yml`,
        ...route,
      ]);
      const receiver = tested.stdout.trim();
      expect({ alert, receiver }).toEqual({ alert, receiver: labels.severity === 'page' ? 'pager' : 'tickets' });
    }
  });

  test('hide only what says the same once more: a page or a ticket about another cause is seen during a page', async () => {
    const tickets = alerts.filter(({ labels }) => labels.severity === 'ticket').map(({ alert }) => alert);
    const budgets = ['AvailabilityBudgetFast', 'LatencyBudgetFast'];
    const firing = {
      failing: [...budgets, ...tickets],
      refused: ['CredentialsRefused', ...tickets],
      gone: ['GatewaysGone', ...budgets, ...tickets],
    };
    const hidden = await hiddenByAlertmanager(
      Object.entries(firing).flatMap(([job, names]) =>
        alerts
          .filter(({ alert }) => names.includes(alert))
          .map(({ alert, labels }) => ({ ...labels, alertname: alert, job })),
      ),
    );
    const ofJob = (name: string) =>
      hidden
        .filter(({ job }) => job === name)
        .map(({ alertname }) => alertname)
        .sort();
    // Operations that fail are seldom slow, and those that are slow do not fail.
    expect(ofJob('failing')).toEqual(['AvailabilityBudgetSlow', 'LatencyBudgetSlow', 'ServiceFailing']);
    expect(ofJob('refused')).toEqual(['EveryCredentialRefused', 'ServiceFailing']);
    expect(ofJob('gone')).toEqual([
      'AvailabilityBudgetFast',
      'AvailabilityBudgetSlow',
      'GatewayDown',
      'LatencyBudgetFast',
      'LatencyBudgetSlow',
      'ServiceFailing',
    ]);
  });

  test('are sent once each, and once more when they end, whatever fires beside them', async () => {
    const ticket = (alertname: string, more: object) => ({ alertname, job: 'gateway', severity: 'ticket', ...more });
    const all = [
      ticket('DataDirFailing', { instance: 'one' }),
      ticket('DataDirFailing', { instance: 'two' }),
      ticket('ServiceFailing', { family: 'events' }),
      ticket('ServiceFailing', { family: 'markets' }),
    ];
    await withAlertmanager(async (url, sent) => {
      const told = () => sent.flat().map(({ labels, status }) => ({ labels, status }));
      for (const [index] of all.entries()) {
        await fire(
          url,
          all.slice(0, index + 1).map(labels => ({ labels })),
        );
        await until(() => told().some(({ labels }) => isDeepStrictEqual(labels, all[index])));
      }
      for (const [index, labels] of all.entries()) {
        await fire(url, [{ labels, endsAt: new Date().toISOString() }]);
        await until(() => told().filter(({ status }) => status === 'resolved').length > index);
      }
      const once = (status: string) => all.map(labels => ({ labels, status }));
      expect(told()).toEqual([...once('firing'), ...once('resolved')]);
    });
  });
});

describe('the dashboard', () => {
  test('shows every metric of the gateway itself', () => {
    const own = [...metrics.matchAll(/^# TYPE (gateway_\S+) /gm)].map(([, name = '']) => name);
    const shown = JSON.stringify(dashboard);
    expect(own.filter(name => !shown.includes(name))).toEqual([]);
  });

  test('has variables for job and instance, which each selector uses', () => {
    expect(dashboard.templating.list.map(({ name }: { name: string }) => name)).toEqual(['job', 'instance']);
    for (const expr of dashboardQueries) {
      const selectors = expr.match(/\b(up|(gateway|nodejs|process)_\w+)(\{[^}]*\})?/g) ?? [];
      expect(selectors.length).toBeGreaterThan(0);
      for (const selector of selectors) expect(selector).toContain('{job=~"$job", instance=~"$instance"');
    }
  });

  test('is what Grafana and Prometheus are given', () => {
    const [source] = parse(read(`${folder}/grafana/datasource.yml`)).datasources;
    const uids = dashboard.panels.map((panel: { datasource: { uid: string } }) => panel.datasource.uid);
    expect(new Set(uids)).toEqual(new Set([source.uid]));
    const prometheus = parse(read(`${folder}/prometheus.yml`));
    expect(prometheus.rule_files).toEqual(['alerts.yml']);
    expect(prometheus.scrape_configs[0].job_name).toBe('gateway');
  });

  test('has data for each of its queries, and the alerts for what they record, in a real Prometheus', async () => {
    await causeEverything();
    let missing = [...dashboardQueries, ...rules.flatMap(rule => ('record' in rule ? [rule.record] : []))];
    let requests = 0;
    await until(async () => {
      requests += 1;
      await gateway.query(`{ events(first: ${(requests % 90) + 1}) { totalCount } market(id: 1) { name } }`);
      await gateway.query('{ events(first: 1) { totalCount } }');
      const found = await Promise.all(missing.map(query => prometheus.hasNumber(query)));
      missing = missing.filter((_, index) => !found[index]);
      return missing.length === 0;
    }).catch(() => {});
    expect(missing).toEqual([]);
  });
});

test('the query for what is deprecated finds a client that used it once, between two restarts, and no other', async () => {
  const [query = ''] = /sum by \(client\) .*/.exec(read('docs/operators.md')) ?? [];
  const series = (client: string, coordinate: string, values: string) => ({
    series: `gateway_deprecated_uses_total{job="gateway", instance="one", client="${client}", coordinate="${coordinate}"}`,
    values,
  });
  const unit = {
    evaluation_interval: '1h',
    tests: [
      {
        interval: '1h',
        input_series: [
          // A count begins with its first use, and ends with its process.
          series('seldom/1', 'Market.name', '_x200 1x5 _x400'),
          series('often/1', 'Market.name', '0+5x900'),
          series('other/1', 'Market.owner', '0+5x900'),
        ],
        promql_expr_test: [
          {
            expr: `count by (client) (${query})`,
            eval_time: '600h',
            exp_samples: ['often/1', 'seldom/1'].map(client => ({ labels: `{client="${client}"}`, value: 1 })),
          },
        ],
      },
    ],
  };
  const own = await mkdtemp(join(tmpdir(), 'promtool-'));
  try {
    await writeFile(join(own, 'test.yml'), JSON.stringify(unit));
    expect((await run('promtool', ['test', 'rules', join(own, 'test.yml')])).stdout).toContain('SUCCESS');
  } finally {
    await rm(own, { recursive: true });
  }
});

test('the runbooks show how to list the alerts that fire', async () => {
  const steps = await follow('docs/runbooks/README.md', gateway.url, { env: { PROMETHEUS: prometheus.url } });
  expect(steps.map(({ code, stderr }) => ({ code, stderr }))).toEqual([{ code: 0, stderr: '' }]);
});

/** Has the gateway count everything once: a failure, an export, a subscription, a forged message, and an outage of Redis. */
async function causeEverything(): Promise<void> {
  gateway.sandbox?.tell({ path: /dev/, status: 200, body: '<html>', times: 1 });
  expect((await gateway.query('{ market(id: 2) { name } }')).errors?.[0].extensions.code).toBe(
    'UPSTREAM_INVALID_RESPONSE',
  );

  const receiver = createReceiver('accept', () => {}).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as { port: number };
  const { errors } = await gateway.query(`mutation {
    registerExportEndpoint(input: { name: "crm", description: "A receiver", url: "http://127.0.0.1:${port}" }) { signingSecret }
    exportMarketToEndpoint(input: { endpoint: "crm", marketId: "1", companies: { visible: { first: 3 } }, idempotencyKey: "k" }) { __typename }
  }`);
  expect(errors).toBeUndefined();
  receiver.close();

  const listener = overSse(gateway.url, { query: 'subscription { eventUpdates { cursor } }' });
  const inspector = new Redis(redis.url);
  const channels = async () => (await inspector.pubsub('CHANNELS', '*')) as string[];
  await until(async () => (await channels()).length > 0);
  for (const channel of await channels()) await inspector.publish(channel, 'forged');
  inspector.disconnect();
  await until(async () =>
    /^gateway_redis_malformed_total\{.*\} [1-9]/m.test(await (await fetch(`${gateway.url}/metrics`)).text()),
  );
  listener.stop();
  await redis.kill();
}
