/** The request's `trace`: what the client wants to find again in its traces. It goes nowhere else. */
import { traceparentOf } from "@sluice/proto/runtime/tracing/context.js";
import type { Attributes, Span } from "@sluice/proto/runtime/tracing/span.js";

/** More members than these are left out. */
const most = 32;

/**
 * Each member is an attribute `sluice.trace.<name>`, what is no scalar as JSON. With the ids of a W3C trace in `trace_id` and `parent_span_id` the
 * turn is linked there, too: whose child it is says the header.
 */
export function tellTrace(span: Span, json: Uint8Array): void {
  if (json.length === 0) return;
  const trace = JSON.parse(Buffer.from(json).toString("utf8")) as Record<string, unknown>;
  span.set(attributesOf(trace));
  const { trace_id: traceId, parent_span_id: spanId } = trace;
  if (typeof traceId !== "string" || typeof spanId !== "string") return;
  span.link({ traceparent: traceparentOf({ traceId, spanId, sampled: true }), tracestate: "" });
}

const attributesOf = (trace: Record<string, unknown>): Attributes =>
  Object.fromEntries(
    Object.entries(trace)
      .slice(0, most)
      .map(([name, value]) => [`sluice.trace.${name.slice(0, 64)}`, scalarOf(value)]),
  );

const scalarOf = (value: unknown): string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : JSON.stringify(value);
