/** The attributes of a span, by OpenTelemetry's names. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A running span of a trace. A span that never ends is never exported. */
export interface Span {
  /** Headers that continue the trace in the service (W3C Trace Context). */
  readonly headers: Readonly<Record<string, string>>;
  /** @param error the code of the error; undefined where there is none. */
  end(name: string, attributes: Attributes, error: string | undefined): void;
}

/** Traces operations and their calls to the service. */
export interface Tracing {
  /** @param headers of the operation's request, which may continue a client's trace. */
  operation(headers: Readonly<Record<string, string | string[] | undefined>>): Span;
  /** @param parent undefined for a call outside an operation. */
  call(parent: Span | undefined): Span;
  /** Exports the remaining spans. */
  close(): Promise<void>;
}
