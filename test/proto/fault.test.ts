import { describe, expect, test } from "@jest/globals";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { FaultSchema } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { toConnectError } from "@sluice/proto/lib/rpc/status.js";

const reasons = Object.values(FaultReason).filter((value) => typeof value === "number");
/** The statuses in the contract, and 409 for creating an existing end user. */
const statuses = [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 524, 529];

describe("faults", () => {
  test("are in the table for every reason, and cover every status of the contract", () => {
    const used = new Set(reasons.map((reason) => new Fault(reason).status));
    expect([...used].toSorted((a, b) => a - b)).toEqual(statuses);
    for (const reason of reasons) {
      expect(new Fault(reason).message).not.toBe("");
      expect(Code[new Fault(reason).code]).toBeDefined();
    }
  });

  test.each([
    [FaultReason.INVALID_REQUEST, "invalid_request", "invalid_prompt"],
    [FaultReason.INVALID_PROMPT, "invalid_prompt", "invalid_prompt"],
    [FaultReason.CONTEXT_LENGTH_EXCEEDED, "context_length_exceeded", "invalid_prompt"],
    [FaultReason.CONTENT_POLICY, "content_policy_violation", "image_content_policy_violation"],
    [FaultReason.RATE_LIMITED, "rate_limit_exceeded", "rate_limit_exceeded"],
    [FaultReason.PROVIDER_FAILED, "provider_unavailable", "server_error"],
    [FaultReason.PROVIDER_TIMEOUT, "timeout", "server_error"],
    [FaultReason.INTERNAL, "server", "server_error"],
  ])("of reason %i are %s, and in a failed response %s", (reason, errorType, responseCode) => {
    expect(new Fault(reason)).toMatchObject({ errorType, responseCode });
  });

  test("arrive as sent", () => {
    const sent = new Fault(FaultReason.RATE_LIMITED, "slow down", {
      retryAfterMs: 1_234,
      metadata: { error_type: "rate_limit_exceeded", previous_errors: [] },
      origin: FaultOrigin.UPSTREAM,
      serviceMetadataJson: Buffer.from("{}"),
      shouldRetry: false,
    });
    const got = Fault.fromMessage(fromBinary(FaultSchema, toBinary(FaultSchema, sent.toMessage())));
    const fields = ({ reason, message, retryAfterMs, metadata, origin, shouldRetry }: Fault) =>
      ({ reason, message, retryAfterMs, metadata, origin, shouldRetry }) as const;
    expect(fields(got)).toEqual(fields(sent));
    expect(Buffer.from(got.serviceMetadataJson ?? []).toString()).toBe("{}");
  });

  test("mask the message of an unexpected error, which is kept for the log", () => {
    const secret = new Error("password of the database is hunter2");
    const fault = Fault.from(secret);
    expect([fault.status, fault.message]).toEqual([500, "Internal Server Error"]);
    expect(fault.cause).toBe(secret);
    expect(toConnectError(secret).message).not.toContain("hunter2");
    expect(new Fault(FaultReason.INTERNAL, "select * from api_keys").message).toBe("Internal Server Error");
  });

  test("with a newer build's reason, or metadata with invalid JSON, are read as internal faults", () => {
    // The bytes of field 1 with a value unknown to this build.
    const newer = fromBinary(FaultSchema, Uint8Array.of(0x08, 0xe7, 0x24));
    expect(Fault.fromMessage(newer).reason).toBe(FaultReason.INTERNAL);
    const broken = create(FaultSchema, { reason: FaultReason.NOT_FOUND, metadataJson: Buffer.from("{") });
    expect(Fault.fromMessage(broken).reason).toBe(FaultReason.INTERNAL);
  });
});
