import { text } from 'node:stream/consumers';
import { reply, startStubService } from './stub-service.js';

/** A span as a collector receives it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: 'server' | 'client';
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Whether the span says that it failed. */
  readonly isFault: boolean;
}

/** A collector of traces, which takes OTLP over HTTP as JSON. */
export interface Collector {
  readonly origin: string;
  /** What arrived, in its order. */
  readonly spans: CollectedSpan[];
  /** The attributes of the program that sent the last spans. */
  resource(): Readonly<Record<string, unknown>>;
  /** The paths to which spans were sent. */
  readonly paths: Set<string>;
  /** Everything that arrived, as it came. */
  text(): string;
  close(): Promise<void>;
}

/** Starts a collector on a free loopback port. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const paths = new Set<string>();
  let resource: Record<string, unknown> = {};
  const service = await startStubService(async (request, response) => {
    const body = await text(request);
    bodies.push(body);
    paths.add(String(request.url));
    for (const { resource: from, scopeSpans } of JSON.parse(body).resourceSpans) {
      resource = attributesIn(from.attributes);
      for (const scope of scopeSpans) spans.push(...scope.spans.map(spanIn));
    }
    reply(response, 200, {});
  });
  return {
    origin: service.origin,
    spans,
    paths,
    resource: () => resource,
    text: () => bodies.join('\n'),
    close: service.close,
  };
}

interface SentSpan extends Pick<CollectedSpan, 'traceId' | 'spanId' | 'name'> {
  readonly parentSpanId?: string;
  readonly kind: 2 | 3;
  readonly attributes: readonly SentAttribute[];
  readonly status?: { readonly code?: number };
}

interface SentAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const spanIn = ({ traceId, spanId, parentSpanId, name, kind, attributes, status }: SentSpan): CollectedSpan => ({
  traceId,
  spanId,
  parentSpanId: parentSpanId || undefined,
  name,
  kind: kind === 2 ? 'server' : 'client',
  attributes: attributesIn(attributes),
  isFault: status?.code === 2,
});

const attributesIn = (sent: readonly SentAttribute[]) =>
  Object.fromEntries(sent.map(({ key, value }) => [key, Object.values(value)[0]]));
