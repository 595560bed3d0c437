/** Headers of W3C Trace Context, for providers configured to receive them. Each call has its own span. */
import type { Scope } from "../../../turn/scope.ts";

/** @returns an empty object when tracing is off */
export function buildTraceHeaders({ span }: Scope): Record<string, string> {
  if (!span) return {};
  const { traceparent, tracestate } = span;
  return { traceparent, ...(tracestate !== "" && { tracestate }) };
}
