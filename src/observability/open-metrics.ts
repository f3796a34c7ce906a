// The two formats of metrics.
import { Registry } from 'prom-client';

/** In which format a scraper gets metrics. @param accept its header. @param text in the format OpenMetrics, without its end. */
export function metricsFor(accept: string | undefined, text: string): { readonly type: string; readonly body: string } {
  return accept?.includes('application/openmetrics-text')
    ? { type: Registry.OPENMETRICS_CONTENT_TYPE, body: `${text}# EOF\n` }
    : { type: Registry.PROMETHEUS_CONTENT_TYPE, body: toPrometheus(text) };
}

/** prom-client has one format for each registry, and scrapers ask for both. The other one has no exemplars, and its families of counters have a suffix. */
const toPrometheus = (text: string) =>
  text
    .replace(/^# HELP (\S+) (.*)\n# TYPE \1 counter$/gm, '# HELP $1_total $2\n# TYPE $1_total counter')
    .replace(/ # \{trace_id=.*$/gm, '');
