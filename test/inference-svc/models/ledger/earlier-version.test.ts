/** A spool left by version 0.1.0 is read by this version: its ends are delivered, and its open calls are recorded as lost, with their charges. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ledger } from "@sluice/inference-svc/models/ledger/ledger.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type AdminInstallation, openInstallation, serviceToken } from "../../../admin-svc/installation.ts";
import { beginCall, completedEnd, openedCall, openRefusingPort } from "./calls.ts";

/** Records of a killed process of version 0.1.0: two calls with their ends, and two open calls. */
const recorded = new URL("../../../../fixtures/spool/", import.meta.url);

let installation: AdminInstallation;
let directory: string;
beforeAll(async () => {
  installation = await openInstallation();
  directory = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
  cpSync(recorded, directory, { recursive: true });
});
afterAll(async () => {
  await installation.close();
  rmSync(directory, { recursive: true });
});

const open = (port: number) => {
  const client = dial(`127.0.0.1:${port}`);
  const log = openLog("test", "silent");
  const ledger = new Ledger({
    directory,
    instance: "test-1",
    client,
    token: serviceToken,
    log,
    registry: new Registry(),
  });
  return { ledger, end: async (limitMs: number) => ledger.close(limitMs).then(() => client.close()) };
};

test("ledger records left by version 0.1.0 are delivered together with new records", async () => {
  // The first start of this version is killed before it delivers any record.
  const { port, stop } = await openRefusingPort();
  const first = open(port);
  const own = openedCall();
  beginCall(first.ledger, own).close(completedEnd);
  await first.end(0);
  await stop();
  expect(
    readdirSync(directory)
      .map((name) => name.replace(/^.*-/, ""))
      .sort(),
  ).toEqual(["000001.log", "000001.v2.log"]);
  const second = open(installation.port);
  await second.end(30_000);
  const rows = await installation.database.selectFrom("all_calls").selectAll().orderBy("opened_at").execute();
  expect(rows.map((row) => [row.turn_id.at(-1), row.status, row.output_tokens, row.cost_usd])).toEqual([
    ["1", "completed", "4", "0.000044000000"],
    ["2", "failed", null, null],
    ["3", "lost", "7", "0.000050000000"],
    ["4", "lost", null, null],
    [own.turnId.at(-1), "completed", "4", "0.000007000000"],
  ]);
  expect(rows[0]).toMatchObject({
    user: "ü",
    session_id: "s",
    finish_reason: "stop",
    first_ms: "3",
    instance: "host-1",
  });
  expect(rows[1]).toMatchObject({ attempt: 2, operation: "judge", payer: "operator", http_status: 502 });
  expect(rows[2]).toMatchObject({ instance: "test-1", is_estimated: true, generation_id: "gen-3" });
  expect(readdirSync(directory)).toEqual([]);
});
