/** Alerts of a real process: its configuration file, a change of it, and a kill in the middle of a delivery. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { create, toJsonString } from "@bufbuild/protobuf";
import {
  LedgerService,
  RecordUsageRequestSchema,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { runCli } from "@sluice/admin-svc/cli.js";
import { loadSinks } from "@sluice/proto/config/sinks/sinks.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { eventually, programIn, root } from "../../support/processes.ts";
import { serviceToken, timeoutMs } from "../installation.ts";
import { usageRecord } from "../usage.ts";
import { Replicas } from "./replicas.ts";
import { ScriptedSink, type ReceivedPost, acceptPost, leaveUnanswered } from "./scripted-sink.ts";

const shiftedClock = new URL("../../support/shifted-clock.js", import.meta.url).pathname;
const main = programIn(root, "admin-svc");
const folder = mkdtempSync(join(tmpdir(), "sluice-alerts-"));
const config = join(folder, "sluice.yaml");
const secret = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
const environment = { ALERT_SECRET: secret };

let replicas: Replicas;
let sink: ScriptedSink;
let child: ChildProcess | undefined;
beforeAll(async () => {
  replicas = await Replicas.open();
  sink = await new ScriptedSink().open();
});
afterAll(async () => {
  child?.kill("SIGKILL");
  await sink.close();
  await replicas.close();
  rmSync(folder, { recursive: true });
});

interface Ready {
  readonly port: number;
  readonly healthPort: number;
}

/** @param clockShiftMs how far the process's clock is ahead */
function startAdmin(clockShiftMs: number): Promise<Ready> {
  const env = {
    PATH: process.env["PATH"],
    DATABASE_URL: replicas.databaseUrl,
    SLUICE_SERVICE_TOKEN: serviceToken,
    SLUICE_CONFIG: config,
    SLUICE_ADMIN_PORT: "0",
    SLUICE_ADMIN_HEALTH_PORT: "0",
    CLOCK_SHIFT_MS: String(clockShiftMs),
    ...environment,
  };
  const started = spawn(process.execPath, ["--import", shiftedClock, main], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  child = started;
  return new Promise((resolve, reject) => {
    let text = "";
    started.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const line = text.split("\n").find((each) => each.includes('"msg":"ready"') && each.endsWith("}"));
      if (line === undefined) return;
      const { port, health_port: healthPort } = JSON.parse(line) as { port: number; health_port: number };
      resolve({ port, healthPort });
    });
    started.on("exit", (code) => reject(new Error(`exit code ${code}: ${text}`)));
  });
}

async function record(port: number, records: readonly UsageRecord[]): Promise<void> {
  const client = dial(`127.0.0.1:${port}`);
  const recordsJson = records.map((each) => Buffer.from(toJsonString(UsageRecordSchema, each)));
  const request = create(RecordUsageRequestSchema, { recordsJson });
  await call(client, LedgerService.method.recordUsage, request, serviceMetadata(serviceToken), timeoutMs);
  client.close();
}

test("when a process with a slow clock is killed during delivery, another one sends the alert under the same id", async () => {
  writeFileSync(config, "alerts: []\n");
  const { port, healthPort } = await startAdmin(-300_000);
  const webhook = `{url: "${sink.url}/", secret: "\${ALERT_SECRET}"}`;
  writeFileSync(config, `alerts: [{name: ops, budget_percents: [50], webhook: ${webhook}}]\n`);
  const metrics = async () => (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
  await eventually(async () => /sluice_config_reloads_total\{result="success".*\} 1/.test(await metrics()));

  let printed = "";
  const output = { write: (line: string) => (printed += line) };
  const runAlerts = (...args: readonly string[]) =>
    runCli(["alerts", ...args], { databaseUrl: replicas.databaseUrl, stdout: output, stderr: output });
  expect(await runAlerts("test", "ops")).toBe(0);
  const { headers } = sink.taken[0] as ReceivedPost;
  expect(printed).toBe(`delivered: ${String(headers["webhook-id"])}\n`);
  expect(JSON.parse(String(sink.taken.pop()?.body))).toMatchObject({ type: "test" });

  sink.answer = leaveUnanswered;
  const keyHash = await replicas.addKey({ name: "billing", limit_usd: "1" });
  await record(port, [usageRecord({ keyHash, costUsd: "0.7" })]);
  await eventually(() => sink.refused.length > 0);
  child?.kill("SIGKILL");
  await once(child as ChildProcess, "exit");

  sink.answer = acceptPost;
  replicas.settings = loadSinks(config, environment).settings;
  await replicas.deliver();
  expect(sink.taken).toEqual([]);
  replicas.advance(31_000);
  await replicas.deliver();
  expect(sink.taken.map(({ headers }) => headers["webhook-id"])).toEqual([sink.refused[0]?.headers["webhook-id"]]);
  expect(sink.taken.map(({ body }) => body.toString())).toEqual([sink.refused[0]?.body.toString()]);
});
