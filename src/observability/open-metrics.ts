// Exemplars of histograms, and the format OpenMetrics.
import { timeNow } from '../lib/clock.js';
import type { Span } from './operation-info.js';

/** A comment in the format of Prometheus, which its parsers ignore. */
const mark = '# EXEMPLAR ';

/** For each bucket of a histogram, the trace of the latest observation in it. A bucket is named as in a sample: its metric and its labels. */
export class Exemplars {
  readonly #byBucket = new Map<string, string>();

  /** @param buckets the upper bounds of the buckets. @param labels in the order of samples. @param span nothing is noted for one that is not exported. */
  note(
    histogram: string,
    buckets: readonly number[],
    labels: Readonly<Record<string, string | number>>,
    seconds: number,
    span: Span,
  ): void {
    if (!span.isSampled) return;
    const le = buckets.find(bound => seconds <= bound) ?? '+Inf';
    const pairs = Object.entries({ le, ...labels }).map(([name, value]) => `${name}="${value}"`);
    const { trace_id, span_id } = span.logged;
    const exemplar = `{trace_id="${trace_id}",span_id="${span_id}"} ${seconds} ${timeNow() / 1_000}`;
    this.#byBucket.set(`${histogram}_bucket{${pairs.join(',')}}`, exemplar);
  }

  /** Forgets those with a value of a label. */
  remove(label: string, value: string): void {
    for (const bucket of this.#byBucket.keys())
      if (bucket.includes(`${label}="${value}"`)) this.#byBucket.delete(bucket);
  }

  /** Comments for the metrics in the format of Prometheus. `toOpenMetrics` reads them. */
  toString(): string {
    return [...this.#byBucket].map(([bucket, exemplar]) => `${mark}${bucket} # ${exemplar}\n`).join('');
  }
}

/** In which format a scraper gets metrics. @param accept its header. @param text in the format of Prometheus, with the comments of `Exemplars`. */
export function metricsFor(accept: string | undefined, text: string): { readonly type: string; readonly body: string } {
  return accept?.includes('application/openmetrics-text')
    ? { type: 'application/openmetrics-text; version=1.0.0; charset=utf-8', body: toOpenMetrics(text) }
    : { type: 'text/plain; version=0.0.4; charset=utf-8', body: text };
}

/** prom-client has one format for each registry, and scrapers ask for both. */
function toOpenMetrics(text: string): string {
  const lines = text.split('\n').filter(line => line !== '');
  const exemplars = new Map(
    lines.flatMap(line => {
      const [bucket, exemplar] = line.startsWith(mark) ? line.slice(mark.length).split(' # ', 2) : [];
      return bucket === undefined ? [] : [[bucket, exemplar] as const];
    }),
  );
  // A family of counters has no suffix, its samples have one.
  const counters = new Set(lines.flatMap(line => /^# TYPE (\S+)_total counter$/.exec(line)?.[1] ?? []));
  const converted = lines.flatMap(line => {
    if (line.startsWith(mark)) return [];
    const [, keyword, family, rest] = /^# (HELP|TYPE) (\S+)_total (.*)$/.exec(line) ?? [];
    if (family !== undefined && counters.has(family)) return `# ${keyword} ${family} ${rest}`;
    const exemplar = exemplars.get(line.slice(0, line.lastIndexOf(' ')));
    return exemplar === undefined ? line : `${line} # ${exemplar}`;
  });
  return `${converted.join('\n')}\n# EOF\n`;
}
