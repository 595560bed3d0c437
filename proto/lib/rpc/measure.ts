/** Metrics of unary calls: number, outcome and duration by method. */
import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { Counter, Histogram, type Registry } from "../metrics/metrics.ts";
import { statusName } from "./status.ts";

/** Records metrics of unary calls only, because the duration of streams depends on their clients. */
export function callMetricsInterceptor(registry: Registry): Interceptor {
  const registers = [registry];
  const calls = new Counter({
    name: "sluice_rpc_total",
    help: "Calls by method and gRPC status, without streams.",
    labelNames: ["method", "status"],
    registers,
  });
  const seconds = new Histogram({
    name: "sluice_rpc_seconds",
    help: "Time from the call to its answer, without streams.",
    labelNames: ["method"],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  return (next) => async (request) => {
    if (request.stream) return next(request);
    const method = `${request.service.typeName}/${request.method.name}`;
    const startedAt = performance.now();
    const note = (status: string) => {
      calls.labels({ method, status }).inc();
      seconds.labels({ method }).observe((performance.now() - startedAt) / 1_000);
    };
    try {
      const response = await next(request);
      note("OK");
      return response;
    } catch (error) {
      note(statusName(ConnectError.from(error).code));
      throw error;
    }
  };
}
