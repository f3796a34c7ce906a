import { describe, expect, test } from '@jest/globals';
import { createMetrics } from '../src/observability/metrics.js';
import { metricsFor } from '../src/observability/open-metrics.js';
import type { Span } from '../src/observability/operation-info.js';
import { createTelemetry } from '../src/observability/telemetry.js';
import { startGateway } from './support/gateway.js';

const accept = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

const spanOf = (id: string, isSampled = true): Span => ({
  logged: { trace_id: `trace-${id}`, span_id: `span-${id}` },
  isSampled,
  headers: () => ({}),
  begin: () => spanOf(id),
  end() {},
});

describe('metrics as OpenMetrics', () => {
  test('have families of counters without a suffix, no empty line, and an end', () => {
    const text =
      '# HELP a_total Help.\n# TYPE a_total counter\na_total{x="b"} 1\n\n# HELP b_total No counter.\n# TYPE b_total gauge\nb_total 2\n';
    expect(metricsFor(accept, text)).toEqual({
      type: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
      body: '# HELP a Help.\n# TYPE a counter\na_total{x="b"} 1\n# HELP b_total No counter.\n# TYPE b_total gauge\nb_total 2\n# EOF\n',
    });
    for (const other of [undefined, '*/*', 'text/plain'])
      expect(metricsFor(other, text)).toEqual({ type: 'text/plain; version=0.0.4; charset=utf-8', body: text });
  });

  test('have the latest trace of each bucket of both histograms, until its operation is forgotten', async () => {
    const metrics = createMetrics();
    const telemetry = createTelemetry(metrics, { warn: () => {}, works: () => {} });
    telemetry.request('http', 'One', 'ok', 20, spanOf('old'));
    telemetry.request('http', 'One', 'ok', 21, spanOf('new'));
    telemetry.request('http', 'One', 'ok', 60_000, spanOf('slow'));
    telemetry.request('http', 'One', 'ok', 300, spanOf('unsampled', false));
    telemetry.request('http', 'One', 'ok', 300);
    telemetry.upstreamCalls({ family: 'events', outcome: 'timeout', status: null, span: spanOf('call') }, [5]);
    const exemplars = async () => {
      const lines = metricsFor(accept, await metrics.read()).body.split('\n');
      return lines.filter(line => line.includes(' # ')).map(line => line.replace(/ \d+\.?\d*$/, ''));
    };
    expect(await exemplars()).toEqual([
      'gateway_request_seconds_bucket{le="0.025",operation="One"} 2 # {trace_id="trace-new",span_id="span-new"} 0.021',
      'gateway_request_seconds_bucket{le="+Inf",operation="One"} 5 # {trace_id="trace-slow",span_id="span-slow"} 60',
      'gateway_upstream_call_seconds_bucket{le="0.01",family="events",outcome="timeout",status="none"} 1 # {trace_id="trace-call",span_id="span-call"} 0.005',
    ]);
    // A scraper that wants the other format finds only comments.
    const classic = metricsFor('*/*', await metrics.read()).body.split('\n');
    expect(classic.filter(line => line.includes(' # ')).every(line => line.startsWith('# EXEMPLAR '))).toBe(true);
    telemetry.forgetOperation('One');
    expect(await exemplars()).toHaveLength(1);
  });

  test('come from a gateway that is asked for them', async () => {
    const gateway = await startGateway();
    try {
      const get = async (headers: Record<string, string>) => fetch(`${gateway.url}/metrics`, { headers });
      const open = await get({ accept });
      expect(open.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
      expect(await open.text()).toMatch(/\ngateway_ready 1\n[\s\S]*# EOF\n$/);
      const classic = await get({});
      expect(classic.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(await classic.text()).not.toContain('# EOF');
    } finally {
      await gateway.close();
    }
  });
});
