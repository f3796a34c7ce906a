/** What is said of a span when it ends, by OpenTelemetry's names. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** An open part of a trace. One that is never ended is never exported. */
export interface Span {
  /** Headers that pass the trace on (W3C Trace Context). */
  readonly headers: Readonly<Record<string, string>>;
  /** @param error what went wrong, where something did: a code. */
  end(name: string, attributes: Attributes, error: string | undefined): void;
}

/** Traces operations, and the calls to the service that are made for them. */
export interface Tracing {
  /** @param headers of the request that it came with, where it came with one: they may continue a client's trace. */
  operation(headers: Readonly<Record<string, string | string[] | undefined>>): Span;
  /** @param parent undefined for a call that is made for no operation. */
  call(parent: Span | undefined): Span;
  /** Sends what has not been sent. */
  close(): Promise<void>;
}
