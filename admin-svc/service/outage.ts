/** What a caller is told while the database is away: come back in a second. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { isOutage } from "../store/failure.ts";

const retryAfterMs = 1_000;

/** Administrative operations know no 503, so an outage is INTERNAL with leave to retry: to repeat any of them does no harm; at worst a key is made that nobody has seen. */
export const orRetryLater = <Result>(work: () => Promise<Result>): Promise<Result> =>
  translate(FaultReason.INTERNAL, work);

export const orUnavailable = <Result>(work: () => Promise<Result>): Promise<Result> =>
  translate(FaultReason.UNAVAILABLE, work);

/** What is too busy to be waited for. */
export const retryLater = (cause: Error): Fault => again(FaultReason.INTERNAL, cause);

async function translate<Result>(reason: FaultReason, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isOutage(error)) throw error;
    throw again(reason, error);
  }
}

const again = (reason: FaultReason, cause: unknown): Fault =>
  new Fault(reason, "", { retryAfterMs, shouldRetry: true, origin: FaultOrigin.ADMIN, cause });
