import { expect, test } from '@jest/globals';
import { Counter, Histogram, Registry } from 'prom-client';
import { tallyCounter, tallyHistogram } from '../src/observability/tally.js';

const families = ['events', 'observations', 'companies "and" more'] as const;
const statuses = ['200', '404', 'none'] as const;
const buckets = [0.01, 0.1, 1];
/** On the bounds too, and beyond the last one. */
const values = [0, 0.01, 0.010001, 0.1, 0.5, 1, 1.5, 20];

const counter = { name: 'asked_total', help: 'What was asked', labelNames: ['family', 'status'] as const };
const histogram = { name: 'asked_seconds', help: 'How long it took', labelNames: ['family'] as const, buckets };

test('what was tallied is shown as prom-client shows what it counted itself, at every scrape', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const count = tallyCounter({ ...counter, registers: [ours] });
  const observe = tallyHistogram({ ...histogram, registers: [ours] });
  const counted = new Counter({ ...counter, labelNames: [...counter.labelNames], registers: [theirs] });
  const observed = new Histogram({ ...histogram, labelNames: [...histogram.labelNames], registers: [theirs] });
  expect(await ours.metrics()).toBe(await theirs.metrics());

  for (let scrape = 0; scrape < 3; scrape += 1) {
    for (const [index, value] of values.entries()) {
      const family = families[(index + scrape) % 3] ?? 'events';
      const status = statuses[index % 2] ?? 'none';
      count(family, status);
      counted.inc({ family, status });
      observe(value, family);
      observed.observe({ family }, value);
    }
    expect(linesOf(await ours.metrics())).toEqual(linesOf(await theirs.metrics()));
  }
  expect(linesOf(await ours.metrics())).toEqual(linesOf(await theirs.metrics()));
});

test('what is forgotten is shown no more, and counted from nothing when it comes again', async () => {
  const registry = new Registry();
  const count = tallyCounter({ ...counter, registers: [registry] });
  const observe = tallyHistogram({ ...histogram, registers: [registry] });
  for (const family of families) {
    for (const status of statuses) count(family, status);
    observe(0.5, family);
  }
  await registry.metrics();
  count.forget('status', '404');
  count.forget('family', 'events');
  observe.forget('family', 'events');
  const lines = linesOf(await registry.metrics());
  expect(lines.filter(line => /404|"events"/.test(line))).toEqual([]);
  expect(lines).toContain('asked_total{family="observations",status="200"} 1');
  count('events', '404');
  expect(linesOf(await registry.metrics())).toContain('asked_total{family="events",status="404"} 1');
});

/** By which order combinations of labels were met is no matter. */
const linesOf = (metrics: string) => metrics.split('\n').sort();
