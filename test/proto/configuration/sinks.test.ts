/** `alerts` and `exports` in the configuration file: all problems at once, and secrets only from the environment of admin-svc. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { runOperator } from "@sluice/inference-svc/assembly/operator.js";
import { ConfigError } from "@sluice/proto/lib/process/environment.js";
import { loadConfig } from "@sluice/proto/config/config-file.js";
import { loadSinks, sinkVariables } from "@sluice/proto/config/sinks/sinks.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-sinks-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function write(text: string): string {
  const path = join(folder, `${++files}.yaml`);
  writeFileSync(path, text);
  return path;
}

const good = write(`
alerts:
  - {name: ops, webhook: {url: "https://hooks.example.com/", secret: "\${ALERT_SECRET}"}}
  - {name: chat, events: [guardrail_block], slack: {url: "\${SLACK_URL}"}}
exports:
  - {name: lake, s3: {bucket: records, access_key_id: "\${S3_ID}", secret_access_key: "\${S3_SECRET}"}}
`);
const environment = {
  ALERT_SECRET: `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
  SLACK_URL: "https://hooks.slack.example.com/services/T/B/x",
  S3_ID: "AKID",
  S3_SECRET: "s3cret",
};

function problemsOf(path: string, given: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadSinks(path, given);
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
}

test("omitted settings of alerts and exports have their defaults", () => {
  const { alerts, exports } = loadSinks(good, environment).settings;
  const all = ["budget", "guardrail_block", "guardrail_redact", "guardrail_flag", "rule"];
  expect(alerts[0]).toMatchObject({ events: all, budget_percents: [50, 80, 95, 100] });
  expect(exports[0]).toMatchObject({ every_seconds: 10, s3: { region: "us-east-1", prefix: "" } });
});

test("services other than admin-svc need no secret of sinks, which the supervisor gives to admin-svc only", () => {
  const seed = { date: "2026-11-26", models: [], vendors: [] } as unknown as Parameters<typeof loadConfig>[2];
  expect(loadConfig(good, {}, seed).file.alerts).toEqual([]);
  expect(sinkVariables(good, { ...environment, OTHER: "x" }).toSorted()).toEqual(Object.keys(environment).toSorted());
});

test("an unset variable of a sink is a single problem with its place", () => {
  expect(problemsOf(good, {})).toEqual([
    "alerts.0.webhook.secret: variable ALERT_SECRET is not set",
    "alerts.1.slack.url: variable SLACK_URL is not set",
    "exports.0.s3.access_key_id: variable S3_ID is not set",
    "exports.0.s3.secret_access_key: variable S3_SECRET is not set",
  ]);
});

test.each([
  ["{ledger: 90d, sums: 400d}", []],
  ["{ledger: 90d, sums: 90d}", []],
  ["{sums: 89d, ledger: 90d}", ["retention.sums: must not be shorter than retention.ledger"]],
  ["{sums: 400d}", ["retention.sums: must not be shorter than retention.ledger"]],
  ["{ledger: 12h}", ["retention.ledger: days, such as 90d"]],
  ["{ledger: 0d}", ["retention.ledger: days, such as 90d"]],
  ["{turns: 1d}", [expect.stringContaining("turns")]],
])("the retention setting %s has the problems %j", (section, problems) => {
  expect(problemsOf(write(`retention: ${section}`), {})).toEqual(problems);
});

test("check-config lists sinks, or their errors", async () => {
  const wrong = write(`
alerts:
  - {name: ops, webhook: {url: "https://hooks.example.com/", secret: short}}
  - {name: ops, slack: {url: "ftp://x"}, budget_percents: [101]}
  - {name: both}
exports:
  - {name: lake, otlp: {url: "http://c:4318", headers: {host: x}}}
`);
  const run = async (path: string) => {
    let printed = "";
    const output = { write: (text: string) => (printed += text) };
    const code = await runOperator(["check-config", path, "--json"], {
      environment,
      config: path,
      stdout: output,
      stderr: output,
    });
    return { code, ...(JSON.parse(printed) as { problems: readonly string[]; alerts: unknown; exports: unknown }) };
  };
  expect(await run(good)).toMatchObject({ code: 0, problems: [], alerts: ["ops", "chat"], exports: ["lake"] });
  const { code, problems } = await run(wrong);
  expect(code).toBe(1);
  const places = problems.map((problem) => problem.split(": ", 1)[0]);
  expect(places).toEqual(
    expect.arrayContaining([
      "alerts.0.webhook.secret",
      "alerts.1.slack.url",
      "alerts.1.budget_percents.0",
      "alerts.2",
      "exports.0.otlp.headers.host",
    ]),
  );
  expect(problems.join()).not.toContain("short");
});
