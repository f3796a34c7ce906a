import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { freeAddress } from './free-address.js';
import { until } from './until.js';

export interface Prometheus {
  readonly url: string;
  /** Whether a query has a result that is a number. `$__rate_interval` is 10 s, and the other variables of the dashboard are all. */
  hasNumber(query: string): Promise<boolean>;
  stop(): Promise<void>;
}

/** A Prometheus with the rules that scrapes these gateways every half second. */
export async function startPrometheus(...urls: string[]): Promise<Prometheus> {
  const own = await mkdtemp(join(tmpdir(), 'prometheus-'));
  const configuration = {
    ...parse(await readFile('docs/operations/prometheus.yml', 'utf8')),
    global: { scrape_interval: '500ms', evaluation_interval: '500ms' },
    alerting: {},
    scrape_configs: [{ job_name: 'gateway', static_configs: [{ targets: urls.map(url => new URL(url).host) }] }],
  };
  await writeFile(join(own, 'prometheus.yml'), JSON.stringify(configuration));
  await copyFile('docs/operations/alerts.yml', join(own, 'alerts.yml'));
  const address = await freeAddress();
  const args = [
    `--config.file=${own}/prometheus.yml`,
    `--storage.tsdb.path=${own}/data`,
    `--web.listen-address=${address}`,
  ];
  const child = spawn('prometheus', args, { stdio: 'ignore' });
  const exit = once(child, 'exit');
  await until(async () => (await fetch(`http://${address}/-/ready`).catch(() => undefined))?.ok === true);
  return {
    url: `http://${address}`,
    async hasNumber(query: string): Promise<boolean> {
      const filled = query.replaceAll('$__rate_interval', '10s').replaceAll(/\$(job|instance)/g, '.+');
      const parameters = new URLSearchParams({ query: filled });
      const { data } = JSON.parse(await (await fetch(`http://${address}/api/v1/query?${parameters}`)).text());
      return data.result.some(({ value }: { value: [number, string] }) => Number.isFinite(Number(value[1])));
    },
    async stop() {
      child.kill('SIGTERM');
      await exit;
      await rm(own, { recursive: true });
    },
  };
}
