/** Reports refused keys to the key ring and to the log. */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { ProviderKey, KeyRing } from "./keys.ts";

/** @param provider id of the provider */
export const buildKeyReport =
  (provider: string, keys: KeyRing, log: Pick<Logger, "error">) =>
  (key: ProviderKey, upstreamModel: string, failure: Fault): void => {
    const restMs = keys.note(key, upstreamModel, failure);
    if (restMs === undefined) return;
    const status = failure.attemptStatus;
    log.error({ provider, key: key.index, status, rests_ms: restMs }, "key refused by its provider");
  };
