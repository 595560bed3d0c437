/** Alert rules over gRPC, on a real Postgres. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { findAlertRule, listRuleEvents, putAlertRule } from "@sluice/admin-svc/store/alerts/rules.js";
import { AlertService } from "@sluice/proto/gen/sluice/admin/v1/alert_service_pb.js";
import { UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { sql } from "kysely";
import { eventually } from "../support/processes.ts";
import {
  type AdminInstallation,
  callAsAdministrator,
  openInstallation,
  testAuthor,
  waitingStatements,
} from "./installation.ts";

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

test("a test of a rule looks at its pause first, and sends nothing without a place for its figure in time", async () => {
  const { database } = installation;
  const settings = { filters: {}, threshold: 0, window_minutes: 60, min_requests: 1, channels: ["ops"] };
  for (const name of ["tested", "waiting"])
    await putAlertRule(database, testAuthor(), { name, settings: { ...settings, condition: "spend" } });
  const runTest = (name: string) => callAsAdministrator(installation, method.testAlertRule, { name });
  expect(await runTest("tested")).toMatchObject({
    deliveries: [{ channel: "ops", isDelivered: false, error: "no such channel for this workspace" }],
  });
  await database.connection().execute(async (holder) => {
    await sql`begin`.execute(holder);
    await sql`lock table turns in access exclusive mode`.execute(holder);
    const reloading = Array.from({ length: 8 }, () =>
      callAsAdministrator(installation, UsageService.method.listGenerations, {}).catch(() => {}),
    );
    await eventually(async () => (await waitingStatements(database)) >= 2);
    await expect(runTest("tested")).rejects.toMatchObject({ message: expect.stringContaining("once in 10 seconds") });
    const begunMs = performance.now();
    await expect(runTest("waiting")).rejects.toMatchObject({ message: expect.stringContaining("Too many reports") });
    // Other reports wait for 6 s.
    expect(performance.now() - begunMs).toBeLessThan(5_000);
    await sql`rollback`.execute(holder);
    await Promise.all(reloading);
  });
  const row = await findAlertRule(database, defaultWorkspaceId, "waiting");
  expect(await listRuleEvents(database, row?.id ?? "")).toEqual([]);
});
