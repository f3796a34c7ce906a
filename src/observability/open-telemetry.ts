// Traces by OpenTelemetry.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  DiagLogLevel,
  defaultTextMapGetter,
  defaultTextMapSetter,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { core, NodeSDK, resources, tracing } from '@opentelemetry/sdk-node';
import { version } from './metrics.js';
import type { Span, Tracing } from './operation-info.js';
import type { Telemetry } from './telemetry.js';
import { failureInWords } from './warnings.js';

const serviceName = 'market-intelligence-gateway';
/** The subject of the warning that traces are lost: the variable that OpenTelemetry takes the address of the collector from. */
const collector = core.getStringFromEnv('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  : 'OTEL_EXPORTER_OTLP_ENDPOINT';
/** A span whose export fails has failed by then, in milliseconds. OpenTelemetry does not say when an export succeeds. */
const exportedMs = 60_000;
const flushTimeoutMs = 2_000;

/**
 * Tracing by OpenTelemetry, which reads its own variables (`OTEL_*`). Imported only where tracing is on, because it is large. Only the trace context
 * is passed on, not the baggage, with which a client could send anything to the service.
 * @param telemetry is told where traces are lost or a variable of OpenTelemetry is invalid.
 */
export function startTracing({ warn, works }: Pick<Telemetry, 'warn' | 'works'>): Tracing {
  const told = (message: string, ...more: unknown[]) => {
    // A component puts its own name first. Text in quotes or brackets may be the value of a header.
    const [text = message] = [message, ...more].filter(part => typeof part === 'string' && part.includes(' '));
    const words = String(text).replace(/ *["'`({[].*/s, '');
    warn('OpenTelemetry', words);
  };
  const silent = () => {};
  const logger = { error: told, warn: told, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  core.setGlobalErrorHandler(error => warn(collector, failureInWords(error, 'traces are lost')));
  const described = resources.resourceFromAttributes({
    'service.name': serviceName,
    'service.version': version,
    'service.instance.id': randomUUID(),
  });
  const ratio = core.getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? 1;
  // By itself, it goes by the id of a trace, which any client may choose.
  const sampler = new tracing.ParentBasedSampler({ root: new tracing.TraceIdRatioBasedSampler(ratio) });
  const sdk = new NodeSDK({
    resource: resources.defaultResource().merge(described),
    resourceDetectors: [resources.envDetector],
    textMapPropagator: null,
    ...(core.getStringFromEnv('OTEL_TRACES_SAMPLER') === 'traceidratio' && { sampler }),
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  const tracer = trace.getTracer(serviceName);
  const propagator = new core.W3CTraceContextPropagator();

  function begin(kind: 'server' | 'client', parent: Context): Span {
    const span = tracer.startSpan(kind, { kind: kind === 'server' ? SpanKind.SERVER : SpanKind.CLIENT }, parent);
    const context = trace.setSpan(parent, span);
    const { traceId, spanId } = span.spanContext();
    return {
      logged: { trace_id: traceId, span_id: spanId },
      isSampled: span.isRecording(),
      headers() {
        const headers: Record<string, string> = {};
        propagator.inject(context, headers, defaultTextMapSetter);
        return headers;
      },
      begin: below => begin(below, context),
      end(name, attributes, error, isFault = error !== undefined) {
        span.updateName(name);
        span.setAttributes(attributes);
        if (error !== undefined) span.setAttribute('error.type', error);
        if (isFault) span.setStatus({ code: SpanStatusCode.ERROR });
        // It will be exported.
        if (span.isRecording()) works(collector, undefined, exportedMs);
        span.end();
      },
    };
  }

  return {
    begin: kind => begin(kind, ROOT_CONTEXT),
    beginRequest(headers, decides) {
      const given = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
      const parent = trace.getSpanContext(given);
      if (decides || parent === undefined) return begin('server', given);
      // As for a trace that begins here. Its own id decides nothing either, because a client may choose it.
      const isSampled = tracer.startSpan('server', undefined, ROOT_CONTEXT).isRecording();
      const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
      return begin('server', trace.setSpanContext(ROOT_CONTEXT, { ...parent, traceFlags }));
    },
    async close() {
      await Promise.race([sdk.shutdown().catch(() => {}), sleep(flushTimeoutMs, undefined, { ref: false })]);
    },
  };
}
