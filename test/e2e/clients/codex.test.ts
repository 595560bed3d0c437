/** An installed Codex: `codex exec` runs three shell commands requested by the model, with its web search among the tools. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { testProgram } from "../../support/clients/coverage.ts";
import { codexVersion, findCodex } from "../../support/providers/codex.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { isolation, runIsolated } from "../../support/providers/namespace.ts";
import { type Reply, type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

const found = isolation === undefined ? { missing: "no network namespace (unshare) on this machine" } : findCodex();
const codex = "path" in found ? found.path : undefined;
// A skipped test is named on every terminal and in every log.
if ("missing" in found) console.warn(`skipped: Codex ${codexVersion}: ${found.missing}`);

const limitMs = 240_000;
/** The commands requested by the model, one after the other. */
const commands = ["echo first-from-the-shell", "echo second-from-the-shell", "echo from-the-shell"];
const argumentsOf = (cmd: string) => JSON.stringify({ cmd });
const usage = { input_tokens: 9, output_tokens: 3, total_tokens: 12 };

/** A stream of the Responses format with one item. */
function responsesStream(item: object): Reply {
  const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
  const events = [
    { type: "response.created", response },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress" } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { ...response, status: "completed", output: [item], usage } },
  ];
  return { chunks: [{ sse: events }] };
}

const message = { type: "message", id: "msg_1", role: "assistant", status: "completed" };
const done = "All done.";
const dialects: [dialect: string, searches: boolean, replies: Reply[]][] = [
  [
    "chat",
    false,
    [
      ...commands.map((cmd, index) => {
        const called = { name: "exec_command", arguments: argumentsOf(cmd) };
        const delta = { tool_calls: [{ index: 0, id: `call_${index}`, function: called }] };
        return { chunks: [{ sse: [chatChunk(delta), chatChunk({}, "tool_calls"), "[DONE]"] }] };
      }),
      { chunks: [{ sse: [chatChunk({ content: done }, "stop"), "[DONE]"] }] },
    ],
  ],
  [
    "responses",
    true,
    [
      ...commands.map((cmd, index) =>
        responsesStream({
          type: "function_call",
          id: `fc_${index}`,
          call_id: `call_${index}`,
          name: "exec_command",
          arguments: argumentsOf(cmd),
          status: "completed",
        }),
      ),
      responsesStream({ ...message, content: [{ type: "output_text", text: done, annotations: [] }] }),
    ],
  ],
];

let upstream: Upstream;
let installation: Installation;
let folder: string;

beforeAll(async () => {
  if (codex === undefined) return;
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: chat, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: responses, dialect: responses, base_url: "${upstream.url}/v1"}
models:
  - {id: far/chat, endpoints: [{provider: chat}]}
  - {id: far/responses, endpoints: [{provider: responses}]}
`,
  });
  folder = mkdtempSync(join(tmpdir(), "sluice-test-codex-"));
  mkdirSync(join(folder, "work"));
  writeFileSync(
    join(folder, "config.toml"),
    `model_provider = "sluice"
[model_providers.sluice]
name = "Sluice"
base_url = "${installation.baseUrl}"
env_key = "SLUICE_API_KEY"
wire_api = "responses"
[model_providers.sluice-socket]
name = "Sluice over a WebSocket"
base_url = "${installation.baseUrl}"
env_key = "SLUICE_API_KEY"
wire_api = "responses"
supports_websockets = true
`,
  );
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

/** Runs a task to its end. @returns the output of Codex, and the bodies sent to the provider */
async function run(provider: string, dialect: string, replies: readonly Reply[]) {
  upstream.script(replies);
  const from = upstream.requests.length;
  const flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", `far/${dialect}`];
  const environment = {
    PATH: process.env["PATH"],
    HOME: folder,
    CODEX_HOME: folder,
    SLUICE_API_KEY: installation.apiKey,
    RUST_LOG: "warn",
  };
  const { code, stdout, stderr } = await runIsolated(
    [codex ?? "", "exec", "-c", `model_provider="${provider}"`, ...flags, "Say from-the-shell with the shell."],
    installation.ports.gateway,
    { cwd: join(folder, "work"), environment, limitMs },
  );
  expect([code, stdout, stderr]).toEqual([0, expect.stringContaining(done), expect.any(String)]);
  expect(stderr).not.toMatch(/invalid_request|unexpected status|failed to parse|stream disconnected/i);
  return upstream.requests.slice(from).map(({ body }) => body);
}

/** Each request has the task and the output of every command so far. */
function expectOutputs(requests: readonly string[]): void {
  expect(requests).toHaveLength(commands.length + 1);
  for (const [index, body] of requests.entries()) {
    expect(body).toContain("Say from-the-shell with the shell.");
    for (const cmd of commands.slice(0, index)) expect(body).toContain(`Output:\\n${cmd.slice("echo ".length)}`);
  }
}

const eachDialect = (codex === undefined ? test.skip : test).each(dialects);

testProgram("Codex", {
  "a task with three tool calls": () => {
    eachDialect(
      "with a provider of dialect %s",
      async (dialect, searches, replies) => {
        const requests = await run("sluice", dialect, replies);
        expectOutputs(requests);
        expect(requests[0]?.includes('"web_search"')).toBe(searches);
      },
      limitMs + 60_000,
    );
  },
  "the same over one WebSocket": () => {
    eachDialect(
      "with a provider of dialect %s",
      async (dialect, _, replies) => {
        // Codex sends only new items: earlier items come from the memory of the connection.
        expectOutputs(await run("sluice-socket", dialect, replies));
        await installation.logged("gateway", '"method":"WEBSOCKET"', '"status":200');
        expect(installation.logs("gateway")).not.toContain("previous_response_not_found");
      },
      limitMs + 60_000,
    );
  },
});
