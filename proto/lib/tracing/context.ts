/**
 * Trace context between processes, in the headers of W3C Trace Context. Only the form of the headers is checked here.
 */

/** Values of the two headers; both empty outside of a trace. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate: string;
}

export const untraced: TraceHeaders = { traceparent: "", tracestate: "" };

export interface TraceContext {
  /** Id of the trace, 32 hexadecimal digits. */
  readonly traceId: string;
  /** Id of the span, 16 hexadecimal digits. */
  readonly spanId: string;
  readonly sampled: boolean;
  /** Value of the header `tracestate`; empty when absent. */
  readonly tracestate: string;
}

/** Form of `traceparent` in version 00. Later versions may append to it, but must keep these fields. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Maximum length of `traceparent`; a longer value is ignored. */
const maxParentLength = 512;
/** Maximum length of `tracestate`: processes must forward this length, more is optional. */
const maxStateLength = 512;
const maxMembers = 32;
const member =
  /^[a-z0-9][a-z0-9_\-*/]{0,255}(?:@[a-z][a-z0-9_\-*/]{0,13})?=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Parses the headers; undefined when they are absent or malformed, so a new trace begins. */
export function readTraceHeaders({ traceparent, tracestate }: TraceHeaders): TraceContext | undefined {
  if (traceparent === "" || traceparent.length > maxParentLength) return undefined;
  const [, version, traceId, spanId, flags, more] = form.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === "00" && more !== undefined) return undefined;
  const sampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId, sampled, tracestate: isState(tracestate) ? tracestate : "" };
}

export const traceparentOf = ({ traceId, spanId, sampled }: Omit<TraceContext, "tracestate">): string =>
  `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`;

function isState(text: string): boolean {
  if (text === "" || text.length > maxStateLength) return false;
  const members = text.split(",").map((each) => each.trim());
  const keys = new Set(members.map((each) => each.slice(0, each.indexOf("="))));
  return members.length <= maxMembers && keys.size === members.length && members.every((each) => member.test(each));
}
