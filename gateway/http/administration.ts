/** What the administration operations have in common: how they are called, read their bodies, and fail. */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import type { IncomingMessage } from "node:http";
import type { Client } from "@grpc/grpc-js";
import type { Reservation } from "@sluice/proto/runtime/byte-budget.js";
import type { Access } from "@sluice/proto/runtime/access.js";
import type { NamedDetector } from "@sluice/proto/runtime/house/detectors.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { scanObject } from "@sluice/proto/runtime/validation/json-scan.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import type { Shape } from "@sluice/proto/runtime/validation/shape.js";
import type { TraceHeaders } from "@sluice/proto/runtime/tracing/context.js";
import { readBody } from "./body.ts";

export interface AdministrationParts {
  /** To admin-svc. */
  readonly admin: Client;
  readonly token: ServiceToken;
  readonly access: Access;
  /** Those that guardrails can name. */
  readonly detectors: readonly NamedDetector[];
}

/** Who calls; the key has been resolved, and is a management key where the operation needs one. */
export interface AdministrationCaller {
  readonly keyHash: string;
  readonly requestId: string;
  readonly trace: TraceHeaders;
  /** Memory of this request; given back when its answer is out. */
  readonly room: Reservation;
}

/** @returns the object to answer with, if any. @throws Fault */
export type AdministrationOperation = (
  parts: AdministrationParts,
  caller: AdministrationCaller,
  request: IncomingMessage,
) => Promise<JsonObject | undefined>;

/** An operation whose failures have the statuses that the contract lists for administration. */
export const administration =
  (operation: AdministrationOperation): AdministrationOperation =>
  async (parts, caller, request) => {
    try {
      return await operation(parts, caller, request);
    } catch (error) {
      throw administrationFault(Fault.from(error));
    }
  };

/** What the caller's workspace does not have. */
export const notFound = (message: string): Fault =>
  new Fault(FaultReason.NOT_FOUND, message, { origin: FaultOrigin.CLIENT });

const retryAfterMs = 1_000;

/**
 * The contract lists neither 408, 413 nor 503 for administration: what is too large or too slow is a bad request, an outage is 500 with the word
 * that a retry may help. Every operation sets a state, so that a repetition does no harm.
 */
export function administrationFault(fault: Fault): Fault {
  const { message, origin, cause } = fault;
  switch (fault.reason) {
    case FaultReason.PAYLOAD_TOO_LARGE:
      return new Fault(FaultReason.INVALID_REQUEST, message, { origin, cause });
    case FaultReason.UNAVAILABLE:
    case FaultReason.DEADLINE_EXCEEDED:
      return new Fault(FaultReason.INTERNAL, "", {
        origin,
        cause: cause ?? fault,
        retryAfterMs: fault.retryAfterMs || retryAfterMs,
        shouldRetry: true,
      });
    default:
      return fault;
  }
}

/**
 * An answer, if it is as its shape is published. One that is not comes from an admin-svc of a later build, and would be read wrongly.
 * @throws Fault INTERNAL
 */
export function published(answer: JsonObject, shape: Shape): JsonObject {
  try {
    checked((problems) => shape.check(answer, "", problems));
  } catch (cause) {
    throw new Fault(FaultReason.INTERNAL, "", { origin: FaultOrigin.ADMIN, cause });
  }
  return answer;
}

/** Reads a body and checks it by the shape that is published. @throws Fault INVALID_REQUEST with every problem and its path */
export async function readObject<Value>(
  { room }: Pick<AdministrationCaller, "room">,
  request: IncomingMessage,
  limitBytes: number,
  shape: Shape<Value>,
): Promise<Value> {
  const body = await readBody(request, limitBytes, room);
  scanObject(body, "body");
  const value: unknown = JSON.parse(body.toString("utf8"));
  checked((problems) => shape.check(value, "", problems));
  return value as Value;
}
