import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  DiagLogLevel,
  defaultTextMapGetter,
  defaultTextMapSetter,
  diag,
  type Span as OpenSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { core, NodeSDK, resources } from '@opentelemetry/sdk-node';
import type { Span, Tracing } from './operation-info.js';
import type { Telemetry } from './telemetry.js';
import { failureInWords } from './warnings.js';

const serviceName = 'market-intelligence-gateway';
/** How long closing waits for the collector, in milliseconds. */
const longestFlushMs = 2_000;

/**
 * Tracing by OpenTelemetry, which reads its own variables (`OTEL_*`). Imported only where tracing is on, because it is large. Only the trace context
 * is passed on, not the baggage, with which a client could send anything to the service.
 * @param warn is called where traces are lost or a variable of OpenTelemetry is invalid.
 */
export function startTracing(warn: Telemetry['warn']): Tracing {
  const told = (message: string, ...more: unknown[]) => {
    // A component puts its own name first. Text in quotes or brackets may be the value of a header.
    const [text = message] = [message, ...more].filter(part => typeof part === 'string' && part.includes(' '));
    const words = String(text).replace(/ *["'`({[].*/s, '');
    warn(`OpenTelemetry ${words}`, `OpenTelemetry: ${words}`);
  };
  const silent = () => {};
  const logger = { error: told, warn: told, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  core.setGlobalErrorHandler(error => {
    const words = failureInWords(error);
    warn(`traces ${words}`, `OTEL_EXPORTER_OTLP_ENDPOINT: ${words}; traces are lost`);
  });
  const named = resources.defaultResource().merge(resources.resourceFromAttributes({ 'service.name': serviceName }));
  const sdk = new NodeSDK({
    resource: named,
    resourceDetectors: [resources.envDetector],
    textMapPropagator: null,
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  const tracer = trace.getTracer(serviceName);
  const propagator = new core.W3CTraceContextPropagator();
  const contexts = new WeakMap<Span, Context>();

  function begin(kind: SpanKind, parent: Context): Span {
    const span = tracer.startSpan('GraphQL', { kind }, parent);
    const context = trace.setSpan(parent, span);
    const headers: Record<string, string> = {};
    propagator.inject(context, headers, defaultTextMapSetter);
    const begun = { headers, end: ending(span) };
    contexts.set(begun, context);
    return begun;
  }

  return {
    operation: headers => begin(SpanKind.SERVER, propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)),
    call: parent => begin(SpanKind.CLIENT, (parent && contexts.get(parent)) ?? ROOT_CONTEXT),
    async close() {
      await Promise.race([sdk.shutdown().catch(() => {}), sleep(longestFlushMs, undefined, { ref: false })]);
    },
  };
}

const ending =
  (span: OpenSpan): Span['end'] =>
  (name, attributes, error) => {
    span.updateName(name);
    span.setAttributes(attributes);
    if (error !== undefined) {
      span.setAttribute('error.type', error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  };
