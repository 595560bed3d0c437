/** What failures say about keys, for the ring and for the operator. */
import type { Fault } from "@sluice/proto/runtime/fault.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import type { Key, KeyRing } from "./keys.ts";

/** @param provider its id */
export const keyNotes =
  (provider: string, keys: KeyRing, log: Pick<Logger, "error">) =>
  (key: Key, upstreamModel: string, failure: Fault): void => {
    const restMs = keys.note(key, upstreamModel, failure);
    if (restMs === undefined) return;
    const status = failure.attemptStatus;
    log.error({ provider, key: key.index, status, rests_ms: restMs }, "key refused by its provider");
  };
