/** Records a span for every unary call of a service. Streams create their own spans. */
import { AsyncLocalStorage } from "node:async_hooks";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { serviceTokenHeader } from "../rpc/caller.ts";
import { statusName } from "../rpc/status.ts";
import type { TraceHeaders } from "./context.ts";
import type { Span, Tracing } from "./span.ts";

const current = new AsyncLocalStorage<Span>();

/** Span of the current call; undefined outside of a traced call. */
export const currentSpan = (): Span | undefined => current.getStore();

/** Status codes that are failures of the server; other codes are failures of the caller. */
const failures: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

export const tracedCalls =
  (tracing: Tracing): Interceptor =>
  (next) =>
  async (request) => {
    const { header, service, method } = request;
    const parent = traceHeadersOf(header);
    // Whether the call belongs to no request: an internal call without a trace, such as the delivery of records.
    const ofItsOwn = parent.traceparent === "" && header.has(serviceTokenHeader);
    if (request.stream || ofItsOwn || service.typeName === Health.typeName) return next(request);
    const name = `${service.typeName}/${method.name}`;
    const span = tracing.start(name, {
      kind: "server",
      parent,
      attributes: {
        "rpc.system.name": header.get("content-type")?.startsWith("application/grpc") ? "grpc" : "connectrpc",
        "rpc.method": name,
      },
    });
    try {
      const response = await current.run(span, () => next(request));
      span.set({ "rpc.response.status_code": "OK" });
      return response;
    } catch (error) {
      const { code } = ConnectError.from(error);
      span.set({ "rpc.response.status_code": statusName(code) });
      if (failures.has(code)) span.fail(statusName(code));
      throw error;
    } finally {
      span.end();
    }
  };

export const traceHeadersOf = (header: Headers): TraceHeaders => ({
  traceparent: header.get("traceparent") ?? "",
  tracestate: header.get("tracestate") ?? "",
});
