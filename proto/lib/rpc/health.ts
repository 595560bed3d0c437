/** The service grpc.health.v1. A process reports "serving" from its start until its shutdown begins. */
import { create } from "@bufbuild/protobuf";
import {
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { Fault, FaultReason } from "../faults/fault.ts";
import type { Lifecycle } from "../process/lifecycle.ts";

export interface HealthOptions {
  readonly lifecycle: Lifecycle;
  /** Full names of the services whose health is reported. */
  readonly serviceNames: readonly string[];
}

export function health({ lifecycle, serviceNames }: HealthOptions) {
  const answer = (service: string, ready: boolean): HealthCheckResponse => {
    const known = service === "" || serviceNames.includes(service);
    const state = known ? (ready ? Serving.SERVING : Serving.NOT_SERVING) : Serving.SERVICE_UNKNOWN;
    return create(HealthCheckResponseSchema, { status: state });
  };
  return {
    check(request: { service: string }) {
      const response = answer(request.service, lifecycle.ready);
      if (response.status === Serving.SERVICE_UNKNOWN) throw new Fault(FaultReason.NOT_FOUND, "Unknown service");
      return response;
    },
    async *watch(request: { service: string }, context: { signal: AbortSignal }) {
      let wake = () => {};
      let changed = true;
      const stop = lifecycle.watch(() => {
        changed = true;
        wake();
      });
      context.signal.addEventListener("abort", () => wake());
      try {
        while (!context.signal.aborted) {
          if (changed) {
            changed = false;
            yield answer(request.service, lifecycle.ready);
            // A watcher of the health must not delay the shutdown.
            if (lifecycle.draining) return;
            continue;
          }
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        stop();
      }
    },
  };
}
