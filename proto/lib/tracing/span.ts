/** Span interface of the rooms. It loads no part of OpenTelemetry: without tracing there is no Tracing. */
import type { TraceHeaders } from "./context.ts";

/** Maximum bytes of each attribute with content. */
export const maxContentBytes = 262_144;

/** Attributes with prompts and answers: JSON in the form of the GenAI conventions. */
export const contentAttributes = [
  "gen_ai.system_instructions",
  "gen_ai.input.messages",
  "gen_ai.output.messages",
] as const;
export type ContentAttribute = (typeof contentAttributes)[number];

/** Values of more than 1,024 characters are cut; undefined values are omitted. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** server: answers a call of another process; client: calls another process. */
  readonly kind: "server" | "client";
  /** A span of this process, or the headers from another one; empty headers begin a new trace. */
  readonly parent: TraceHeaders;
  readonly attributes?: Attributes;
  /** Epoch milliseconds of an earlier start. */
  readonly startedAtMs?: number;
}

/** A span; its headers belong to every outgoing call made for it. */
export interface Span extends TraceHeaders {
  readonly traceId: string;
  /** Whether the span is exported: false in a trace that is not sampled. */
  readonly isRecorded: boolean;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** @param json of at most `maxContentBytes` */
  setContent(name: ContentAttribute, json: string): void;
  /** Counts that the span has no content for lack of memory. */
  dropContent(): void;
  /** Adds an event at the current time. */
  event(name: string, attributes: Attributes): void;
  /** Links a span of another trace. */
  link(headers: TraceHeaders): void;
  /** Marks the span as failed. @param errorType `error.type`, from a small set */
  fail(errorType: string): void;
  /** Ends the span; later calls have no effect. */
  end(): void;
}

export interface Tracing {
  start(name: string, options: SpanOptions): Span;
  /** Exports the remaining spans, for five seconds at most. */
  close(): Promise<void>;
}
