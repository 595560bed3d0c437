/** Warns the operator of providers with implausible token counts, for which estimates are charged instead. */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { Counter, type Registry } from "@sluice/proto/lib/metrics/metrics.js";
import type { CallObserver } from "./observed-calls.ts";

export function doubtfulUsageObserver(registry: Registry, log: Pick<Logger, "warn">): CallObserver {
  const figures = new Counter({
    name: "sluice_doubted_usage_total",
    help: "Figures of providers that could not be right, so that an estimate was charged.",
    labelNames: ["model", "provider", "figure"],
    registers: [registry],
  });
  return ({ model, provider, requestId }) => ({
    end({ doubted }) {
      if (doubted === undefined) return;
      for (const figure of doubted) figures.labels({ model, provider, figure }).inc();
      log.warn(
        { request_id: requestId, provider, model, problems: [...doubted] },
        "usage of a provider cannot be right",
      );
    },
  });
}
