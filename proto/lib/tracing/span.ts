/**
 * Interface of tracing for the services. It loads no OpenTelemetry library; without tracing there is no Tracing object.
 */
import type { TraceHeaders } from "./context.ts";

/** Maximum bytes of each attribute that contains prompts or answers. */
export const maxContentBytes = 262_144;

/** Attributes that contain prompts and answers, as JSON in the form of OpenTelemetry's GenAI conventions. */
export const contentAttributes = [
  "gen_ai.system_instructions",
  "gen_ai.input.messages",
  "gen_ai.output.messages",
] as const;
export type ContentAttribute = (typeof contentAttributes)[number];

/** Attributes of a span. Values of more than 1,024 characters are cut; undefined values are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** server: answers a call of another process; client: calls another process. */
  readonly kind: "server" | "client";
  /**
   * Parent of the span: a span of this process, or the trace headers from another process; empty headers begin a new
   * trace.
   */
  readonly parent: TraceHeaders;
  readonly attributes?: Attributes;
  /** Start of the span in milliseconds since 1970, if it is not the present time. */
  readonly startedAtMs?: number;
}

/** A span. Its headers belong to every outgoing call made for it. */
export interface Span extends TraceHeaders {
  readonly traceId: string;
  /** Whether the span is exported: false in a trace that is not sampled. */
  readonly isRecorded: boolean;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Sets an attribute with content. @param json at most `maxContentBytes` */
  setContent(name: ContentAttribute, json: string): void;
  /** Counts that the span lost its content for lack of memory. */
  dropContent(): void;
  /** Adds an event at the current time. */
  event(name: string, attributes: Attributes): void;
  /** Links the span to one of another trace. */
  link(headers: TraceHeaders): void;
  /** Marks the span as failed. @param errorType `error.type`, from a small set */
  fail(errorType: string): void;
  /** Ends the span; later calls have no effect. */
  end(): void;
}

export interface Tracing {
  start(name: string, options: SpanOptions): Span;
  /** Exports the remaining spans; takes at most five seconds. */
  close(): Promise<void>;
}
