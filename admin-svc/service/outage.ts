/** Translates an outage of the database into a Fault with a retry hint of one second. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { isOutage } from "../store/postgres/failure.ts";

const retryAfterMs = 1_000;

/**
 * Runs an administrative operation; a database outage becomes a retryable INTERNAL, since the contract of these
 * operations has no 503. Repeating an operation is harmless: at worst it creates a second key.
 */
export const withRetryableOutage = <Result>(work: () => Promise<Result>): Promise<Result> =>
  translate(FaultReason.INTERNAL, work);

export const withUnavailableOutage = <Result>(work: () => Promise<Result>): Promise<Result> =>
  translate(FaultReason.UNAVAILABLE, work);

/** The Fault for a call that waited too long behind earlier calls. */
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
