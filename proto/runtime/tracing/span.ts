/** Spans as the rooms see them. Nothing of OpenTelemetry is loaded for this: who does not trace has no Tracing. */
import type { TraceHeaders } from "./context.ts";

/** Values of more than 1,024 characters are cut; undefined ones are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** server: for somebody in another process; client: asks another process. */
  readonly kind: "server" | "client";
  /** A span of this process, or what came from another one; a new trace begins where it says nothing. */
  readonly parent: TraceHeaders;
  readonly attributes?: Attributes;
  /** Epoch milliseconds, when it did not begin just now. */
  readonly startedAtMs?: number;
}

/** Its headers go along with whatever is asked on its behalf. */
export interface Span extends TraceHeaders {
  readonly traceId: string;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Something that is known just now. */
  event(name: string, attributes: Attributes): void;
  /** A place in another trace that belongs to this one. */
  link(headers: TraceHeaders): void;
  /** It has failed. @param errorType `error.type`: one of few */
  fail(errorType: string): void;
  /** Only the first call counts. */
  end(): void;
}

export interface Tracing {
  start(name: string, options: SpanOptions): Span;
  /** Delivers what is left, for five seconds at most. */
  close(): Promise<void>;
}
