import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/config/config.js';

const folder = 'deploy/kubernetes';
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const kustomization = parse(read('kustomization.yaml'));
// biome-ignore lint/suspicious/noExplicitAny: a manifest has whatever its kind has; the type checker checks it below
const manifests: any[] = kustomization.resources.flatMap((file: string) =>
  parseAllDocuments(read(file)).map(document => document.toJS()),
);
const manifest = (kind: string, name = 'gateway') =>
  manifests.find(one => one.kind === kind && one.metadata.name === name);
const deployment = manifest('Deployment');
const pod = deployment.spec.template.spec;
const [container] = pod.containers;
const entry = parseAllDocuments(read('entry/ingress.yaml')).map(document => document.toJS());
const [ingress, streamsService, subscriptionsService, streamsIngress] = entry;
const [route, policy] = parseAllDocuments(read('entry/http-route.yaml')).map(document => document.toJS());
const environment = parseEnv(read('configuration.env')) as Record<string, string>;
const production = { NODE_ENV: 'production', ...environment };

/** The configuration in a pod, with the secrets in a folder of this machine. */
function productionConfig() {
  const secrets = mkdtempSync(join(tmpdir(), 'secrets-'));
  try {
    writeFileSync(join(secrets, 'SESSION_SECRET'), 's'.repeat(32));
    writeFileSync(join(secrets, 'REDIS_URL'), 'redis://redis:6379');
    writeFileSync(join(secrets, 'ADMIN_TOKEN'), 't'.repeat(32));
    const { mountPath } = container.volumeMounts.find(({ name }: { name: string }) => name === 'secrets');
    const entries = Object.entries(production).map(([name, value]) => [name, value.replace(mountPath, secrets)]);
    return readConfig(Object.fromEntries(entries));
  } finally {
    rmSync(secrets, { recursive: true });
  }
}

/** The module of `kubernetes-types` that has the type of a manifest. A ServiceMonitor is no part of Kubernetes: a test below checks it. */
const moduleOf = (apiVersion: string) => {
  const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
  return `kubernetes-types/${group.split('.')[0]}/${version}.js`;
};

/** What the type checker says about these manifests, as literals of the types of Kubernetes. It also finds misspelled properties. */
function typeErrors(all: readonly { apiVersion: string; kind: string }[]): string {
  // In the project, because the type checker looks for packages in the folders above.
  const own = mkdtempSync(resolve('dist/manifests-'));
  try {
    const lines = all.map(
      (one, index) =>
        `const _${index}: import(${JSON.stringify(moduleOf(one.apiVersion))}).${one.kind} = ${JSON.stringify(one)};`,
    );
    writeFileSync(join(own, 'manifests.ts'), lines.join('\n'));
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', '--types', ''];
    return spawnSync(resolve('node_modules/.bin/tsc'), [...options, 'manifests.ts'], { cwd: own, encoding: 'utf8' })
      .stdout;
  } finally {
    rmSync(own, { recursive: true });
  }
}

test('Kustomize gets every file of the folder', () => {
  const files = readdirSync(folder).filter(file => file.endsWith('.yaml') && file !== 'kustomization.yaml');
  expect([...kustomization.resources].sort()).toEqual(files.sort());
  expect(kustomization.images).toEqual([
    { name: container.image, newName: expect.any(String), digest: expect.stringMatching(/^sha256:[\da-f]{64}$/) },
  ]);
});

test('the manifests have the types of Kubernetes', () => {
  const typed = [...manifests, ...entry].filter(({ kind }) => kind !== 'ServiceMonitor');
  expect(typed.map(({ kind }) => kind).sort()).toEqual([
    'Deployment',
    'HorizontalPodAutoscaler',
    'Ingress',
    'Ingress',
    'Namespace',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
    'Service',
    'Service',
    'Service',
    'ServiceAccount',
  ]);
  expect(typeErrors(typed)).toBe('');
  expect(typeErrors([{ ...manifest('Service'), spec: { ports: [{ port: 80, targetprot: 'http' }] } }])).toContain(
    'targetprot',
  );
  expect(typeErrors([{ ...deployment, spec: { ...deployment.spec, replicas: '3' } }])).toContain(
    "Type 'string' is not assignable to type 'number'",
  );
});

test('a gateway starts with the variables, which are those of the documentation', () => {
  const { trustProxy, adminToken } = productionConfig();
  expect([trustProxy, adminToken?.reveal()]).toEqual([[environment.TRUST_PROXY], 't'.repeat(32)]);
  const documented = readFileSync('docs/configuration.md', 'utf8');
  expect(Object.keys(production).filter(name => !documented.includes(`| \`${name}\` |`))).toEqual([]);
  expect(container.envFrom).toEqual([{ configMapRef: { name: 'gateway' } }]);
  expect(pod.volumes).toContainEqual({ name: 'secrets', secret: { secretName: 'gateway' } });
  expect(pod.enableServiceLinks).toBe(false);
});

test('no pod names the address of a client until its network is set', () => {
  // Kept for documentation by RFC 5737: no pod has an address in it.
  expect(environment.TRUST_PROXY).toBe('192.0.2.0/24');
});

test('each selector finds the gateways', () => {
  const labels = { 'app.kubernetes.io/name': 'gateway' };
  expect(deployment.spec.template.metadata.labels).toEqual(labels);
  expect([
    deployment.spec.selector.matchLabels,
    manifest('Service').spec.selector,
    manifest('Service', 'gateway-metrics').spec.selector,
    manifest('PodDisruptionBudget').spec.selector.matchLabels,
    manifest('NetworkPolicy').spec.podSelector.matchLabels,
    ...pod.topologySpreadConstraints.map(
      ({ labelSelector }: { labelSelector: { matchLabels: object } }) => labelSelector.matchLabels,
    ),
  ]).toEqual(Array(7).fill(labels));
  expect(manifest('HorizontalPodAutoscaler').spec.scaleTargetRef).toEqual({
    apiVersion: deployment.apiVersion,
    kind: 'Deployment',
    name: deployment.metadata.name,
  });
});

test('clients reach only the port of GraphQL, and each named port is one of the container', () => {
  const { spec } = manifest('Service');
  expect(spec.ports).toEqual([expect.objectContaining({ targetPort: 'http' })]);
  const named: { name: string; containerPort: number }[] = container.ports;
  expect(named.find(({ name }) => name === 'http')?.containerPort).toBe(readConfig({}).port);
  const used = [
    ...[manifest('Service'), manifest('Service', 'gateway-metrics')].flatMap(service =>
      service.spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort),
    ),
    ...['startupProbe', 'readinessProbe', 'livenessProbe'].map(probe => container[probe].httpGet.port),
    ...manifest('NetworkPolicy').spec.ingress.flatMap(({ ports }: { ports: { port: string }[] }) =>
      ports.map(({ port }) => port),
    ),
  ];
  expect(used.filter(port => !named.some(({ name }) => name === port))).toEqual([]);
});

test('Prometheus finds the gateways, also those that are not ready, as the job of the alerts', () => {
  const service = manifest('Service', 'gateway-metrics');
  const monitor = manifest('ServiceMonitor');
  expect(monitor.apiVersion).toBe('monitoring.coreos.com/v1');
  expect(service.metadata.labels).toMatchObject(monitor.spec.selector.matchLabels);
  expect(service.metadata.labels[monitor.spec.jobLabel]).toBe('gateway');
  expect(monitor.spec.endpoints).toEqual([
    { port: service.spec.ports[0].name, path: '/metrics', interval: expect.stringMatching(/^\d+s$/) },
  ]);
  expect(service.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
});

test('each entry leads to the gateways, and repeats only what a failed connection carried', () => {
  const [service] = manifest('Service').spec.ports;
  const [rule] = ingress.spec.rules;
  expect(rule.http.paths[0].backend.service).toEqual({ name: 'gateway', port: { name: service.name } });
  expect(ingress.metadata.annotations['haproxy.org/backend-config-snippet']).toContain('retry-on conn-failure\n');
  const [streams] = streamsIngress.spec.rules;
  const names = ['gateway-streams', 'gateway-streams', 'gateway-subscriptions'];
  expect(streams.http.paths.map(({ backend }: { backend: unknown }) => backend)).toEqual(
    names.map(name => ({ service: { name, port: { name: service.name } } })),
  );
  for (const { spec } of [streamsService, subscriptionsService]) expect(spec).toEqual(manifest('Service').spec);
  expect(route.spec.rules[0].backendRefs).toEqual([{ name: 'gateway', port: service.port }]);
  // What a gateway believes of a trusted peer, and Envoy does not replace.
  expect(route.spec.rules[0].filters).toMatchObject([
    { requestHeaderModifier: { remove: ['X-Forwarded-Host', 'traceparent', 'tracestate'] } },
  ]);
  expect(policy.spec.targetRefs[0]).toMatchObject({ kind: route.kind, name: route.metadata.name });
  expect(policy.spec.retry.retryOn).toEqual({ triggers: ['connect-failure'] });
  expect(Number.parseInt(policy.spec.timeout.http.connectionIdleTimeout, 10) * 1_000).toBeLessThan(
    fastify().initialConfig.keepAliveTimeout ?? 0,
  );
  // A gateway bounds its streams itself, and Envoy's default is 1,024 for all gateways.
  const { maxConnections, maxParallelRequests } = policy.spec.circuitBreaker;
  const { maxReplicas } = manifest('HorizontalPodAutoscaler').spec;
  for (const max of [maxConnections, maxParallelRequests])
    expect(max).toBeGreaterThanOrEqual(maxReplicas * productionConfig().loadShedding.requestsInFlight);
  for (const { metadata } of [...entry, route, policy]) expect(metadata.namespace).toBe(kustomization.namespace);
  expect(manifest('Namespace', kustomization.namespace).metadata.labels).toHaveProperty(
    ['pod-security.kubernetes.io/enforce'],
    'restricted',
  );
});

test('a gateway has the time to finish, and no privileges', () => {
  const { noticeMs, graceMs } = productionConfig().shutdown;
  expect(noticeMs).toBeGreaterThan(0);
  expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(noticeMs + graceMs);
  const [user, group] = /^USER (\d+):(\d+)$/m.exec(readFileSync('Dockerfile', 'utf8'))?.slice(1).map(Number) ?? [];
  expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: user, runAsGroup: group });
  expect(pod.serviceAccountName).toBe(manifest('ServiceAccount').metadata.name);
  expect([pod, manifest('ServiceAccount')].map(one => one.automountServiceAccountToken)).toEqual([false, false]);
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
});
