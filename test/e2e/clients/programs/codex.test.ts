/** Codex as it is installed: `codex exec` runs three shell commands requested by the model, with its web search among the tools. */
import { expect, test } from "@jest/globals";
import { type ModelDialect, type ToolStep } from "../../../support/programs/model.ts";
import { programs } from "../../../support/programs/programs.ts";
import {
  type ProgramRun,
  type ProgramStage,
  expectResults,
  testInstalledProgram,
  testLimitMs,
} from "../../../support/programs/stage.ts";

const done = "All done.";
const task = "Say three words with the shell.";
const steps: readonly ToolStep[] = [40, 50, 60].map((number) => ({
  name: "exec_command",
  input: { cmd: `echo from-$((${number} + 2))-shells` },
}));
const results = [42, 52, 62].map((number) => `Output:\\nfrom-${number}-shells`);

/** Runs the task to its end. @param provider of Codex */
async function runCodex(stage: ProgramStage, provider: string, dialect: ModelDialect): Promise<ProgramRun> {
  const providerOf = (name: string, more = "") => `[model_providers.${name}]
name = "Sluice"
base_url = "${stage.installation.baseUrl}"
env_key = "SLUICE_KEY"
wire_api = "responses"
${more}`;
  stage.write(
    "home/.codex/config.toml",
    `model = "far/${dialect}"
model_provider = "${provider}"
${providerOf("sluice")}
${providerOf("sluice-socket", "supports_websockets = true")}
`,
  );
  stage.script(steps, done);
  const flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
  const run = await stage.run(["exec", ...flags, task], { SLUICE_KEY: stage.installation.apiKey, RUST_LOG: "warn" });
  const { code, stdout, stderr, requests } = run;
  expect([code, stdout, stderr]).toEqual([0, expect.stringContaining(done), expect.any(String)]);
  expect(stderr).not.toMatch(/invalid_request|unexpected status|failed to parse|stream disconnected/i);
  for (const { body } of requests) expect(body).toContain(task);
  expectResults(requests, results);
  return run;
}

const dialects: readonly [dialect: ModelDialect, searches: boolean][] = [
  ["chat", false],
  ["responses", true],
];

await testInstalledProgram(programs.codex, (stage) => ({
  "a task with three tool calls": () => {
    test.each(dialects)(
      "Codex completes a task with three tool calls with a provider of dialect %s",
      async (dialect, searches) => {
        const { requests } = await runCodex(stage, "sluice", dialect);
        expect(requests[0]?.body.includes('"web_search"')).toBe(searches);
      },
      testLimitMs,
    );
  },
  "the same over one WebSocket": () => {
    test.each(dialects)(
      "Codex completes a task with three tool calls over one WebSocket with a provider of dialect %s",
      async (dialect) => {
        // Codex sends only new items: earlier items come from the memory of the connection.
        await runCodex(stage, "sluice-socket", dialect);
        await stage.installation.logged("gateway", '"method":"WEBSOCKET"', '"status":200');
        expect(stage.installation.logs("gateway")).not.toContain("previous_response_not_found");
      },
      testLimitMs,
    );
  },
}));
