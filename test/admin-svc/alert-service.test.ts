/** Alert rules over gRPC, on a real Postgres. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { AlertService } from "@sluice/proto/gen/sluice/admin/v1/alert_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type AdminInstallation, callAsAdministrator, openInstallation } from "./installation.ts";

const { method } = AlertService;

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

test("an alert rule without a threshold is refused, and a threshold of 0 is accepted", async () => {
  const settings = { condition: "spend", channels: ["ops"] };
  await expect(
    callAsAdministrator(installation, method.putAlertRule, { name: "Spend", settings }),
  ).rejects.toMatchObject({
    reason: FaultReason.INVALID_REQUEST,
    message: expect.stringContaining("threshold: required"),
  });
  // This installation has no alert channels, which are checked after all other fields.
  await expect(
    callAsAdministrator(installation, method.putAlertRule, { name: "Spend", settings: { ...settings, threshold: 0 } }),
  ).rejects.toMatchObject({ message: expect.stringContaining("no channel ops") });
});
