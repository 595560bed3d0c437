/** The place in a trace that a provider is told of where the operator says so: each call has a span of its own. */
import type { Scope } from "../turn/scope.ts";

/** Headers of W3C Trace Context; none where nobody traces. */
export function toldTrace({ span }: Scope): Record<string, string> {
  if (!span) return {};
  const { traceparent, tracestate } = span;
  return { traceparent, ...(tracestate !== "" && { tracestate }) };
}
