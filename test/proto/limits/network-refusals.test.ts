/** Refusals of management keys by their networks, on their way to the audit log. */
import { expect, test } from "@jest/globals";
import { KeyKind } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { NetworkRefusalBound } from "@sluice/proto/lib/limits/network-refusal-bound.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { NetworkRefusals } from "@sluice/proto/lib/rpc/network-refusals.js";

test("an audit entry of a network refusal that does not reach admin-svc leaves its place to the next one", async () => {
  const warnings: unknown[] = [];
  const log = { warn: (fields: unknown) => warnings.push(fields) };
  // An address at which no server listens.
  const admin = dial("127.0.0.1:1");
  const refusals = new NetworkRefusals({ admin, token: "t".repeat(32), log });
  try {
    const key = { kind: KeyKind.MANAGEMENT, keyHash: "a" };
    for (let n = 0; n < 3; n++) await refusals.note(key, "GET /api/v1/keys", { address: "192.0.2.1" });
    expect(warnings).toHaveLength(3);
  } finally {
    admin.close();
  }
});

test("a key has ten audit entries of network refusals a minute, and entries that failed do not count", () => {
  const bound = new NetworkRefusalBound(() => 0);
  const admitted = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => `192.0.2.${from + n}`).filter((address) => bound.admits("a", address));
  expect(admitted(0, 20)).toHaveLength(10);
  bound.release("a", "192.0.2.3");
  expect(bound.admits("a", "192.0.2.3")).toBe(true);
  expect(admitted(20, 40)).toHaveLength(0);
});
