/** An installed Claude Code: `claude -p` does a task with three tool calls, on models of several formats. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeStream } from "../../support/providers/anthropic.ts";
import { findClaudeCode } from "../../support/providers/claude-code.ts";
import { testProgram } from "../../support/clients/coverage.ts";
import { isolation, runIsolated } from "../../support/providers/namespace.ts";
import { type Reply, type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

const found =
  isolation === undefined ? { missing: "no network namespace (unshare) on this machine" } : findClaudeCode();
const claude = "path" in found ? found.path : undefined;
// A skipped test is named on every terminal and in every log.
if ("missing" in found) console.warn(`skipped: Claude Code: ${found.missing}`);

const limitMs = 120_000;

interface Step {
  readonly name: string;
  readonly input: object;
}

const chatCall = ({ name, input }: Step, number: number): Reply => ({
  chunks: [
    {
      sse: [
        chatChunk({ reasoning_content: "I go on." }),
        chatChunk({
          tool_calls: [{ index: 0, id: `call_${number}`, function: { name, arguments: JSON.stringify(input) } }],
        }),
        chatChunk({}, "tool_calls"),
        "[DONE]",
      ],
    },
  ],
});

const messagesCall = ({ name, input }: Step, number: number): Reply =>
  claudeStream(
    [
      [
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "I go on." },
        { type: "signature_delta", signature: "c2lnbmVk" },
      ],
      [
        { type: "tool_use", id: `toolu_${number}`, name, input: {} },
        { type: "input_json_delta", partial_json: JSON.stringify(input) },
      ],
    ],
    "tool_use",
  );

function responsesStream(...output: readonly object[]): Reply {
  const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
  const told = { input_tokens: 900, output_tokens: 30, total_tokens: 930 };
  const events = output.flatMap((item, index) => [
    { type: "response.output_item.added", output_index: index, item: { ...item, status: "in_progress" } },
    { type: "response.output_item.done", output_index: index, item },
  ]);
  const completed = { type: "response.completed", response: { ...response, status: "completed", output, usage: told } };
  return { chunks: [{ sse: [{ type: "response.created", response }, ...events, completed] }] };
}

const responsesCall = ({ name, input }: Step, number: number): Reply =>
  responsesStream({
    type: "function_call",
    id: `fc_${number}`,
    call_id: `call_${number}`,
    name,
    arguments: JSON.stringify(input),
    status: "completed",
  });

const done = "All three steps are done.";
const said = { type: "output_text", text: done, annotations: [] };
const dialects: readonly [name: string, call: (step: Step, number: number) => Reply, last: Reply][] = [
  ["chat", chatCall, { chunks: [{ sse: [chatChunk({ content: done }, "stop"), "[DONE]"] }] }],
  [
    "messages",
    messagesCall,
    claudeStream(
      [
        [
          { type: "text", text: "" },
          { type: "text_delta", text: done },
        ],
      ],
      "end_turn",
    ),
  ],
  [
    "responses",
    responsesCall,
    responsesStream({ type: "message", id: "msg_1", role: "assistant", status: "completed", content: [said] }),
  ],
];

/** Cache marks move on from turn to turn; the rest of the prefix stays, byte for byte, or the provider's cache is lost. */
function expectGrowingPrefix(bodies: readonly Record<string, unknown>[]): void {
  const unmarked = bodies.map((body) =>
    JSON.stringify(body, (key, value) => (key === "cache_control" ? undefined : value)),
  );
  for (const [index, body] of unmarked.entries()) {
    const { messages, input, ...head } = JSON.parse(body) as Record<string, unknown[]>;
    const next = JSON.parse(unmarked[index + 1] ?? body) as Record<string, unknown[]>;
    const { messages: nextMessages, input: nextInput, ...nextHead } = next;
    expect(nextHead).toEqual(head);
    const before = (messages ?? input ?? []).slice(0, -1);
    expect((nextMessages ?? nextInput ?? []).slice(0, before.length)).toEqual(before);
  }
}

let upstream: Upstream;
let installation: Installation;
let folder: string;

beforeAll(async () => {
  if (claude === undefined) return;
  upstream = await startUpstream();
  const providers = dialects.map(([name]) => `  - {id: ${name}, dialect: ${name}, base_url: "${upstream.url}/v1"}`);
  const models = dialects.map(
    ([name]) =>
      `  - {id: far/${name}, context_length: 200000, max_output_tokens: 8192, endpoints: [{provider: ${name}}]}`,
  );
  installation = await startInstallation({ config: ["providers:", ...providers, "models:", ...models, ""].join("\n") });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-claude-code-"));
  mkdirSync(join(folder, "work"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function runClaude(task: string, model: string, allowed: readonly string[]) {
  const environment = {
    PATH: process.env["PATH"],
    HOME: folder,
    ANTHROPIC_BASE_URL: installation.baseUrl.replace(/\/v1$/, ""),
    ANTHROPIC_AUTH_TOKEN: installation.apiKey,
    ANTHROPIC_MODEL: model,
  };
  const command = [claude ?? "", "-p", task, "--output-format", "json", "--allowedTools", ...allowed];
  return runIsolated(command, installation.ports.gateway, { cwd: join(folder, "work"), environment, limitMs });
}

const ifInstalled = claude === undefined ? test.skip : test;

testProgram("Claude Code", {
  "a web search that nothing runs": () => {
    ifInstalled(
      "goes on after a web search that nothing here can run",
      async () => {
        const search: Step = { name: "WebSearch", input: { query: "Moons of Mars" } };
        const inner: Step = { name: "web_search", input: { query: "Moons of Mars" } };
        const nothing: Reply = { chunks: [{ sse: [chatChunk({ content: "Nothing found." }, "stop"), "[DONE]"] }] };
        const last: Reply = { chunks: [{ sse: [chatChunk({ content: done }, "stop"), "[DONE]"] }] };
        upstream.script([chatCall(search, 0), chatCall(inner, 1), nothing, last]);
        const from = upstream.requests.length;
        const { code, stdout, stderr } = await runClaude("Which moons has Mars?", "far/chat", ["WebSearch"]);
        expect([code, stderr, stdout]).toEqual([0, expect.any(String), expect.stringContaining(done)]);
        const requests = upstream.requests.slice(from).map(({ body }) => body);
        expect(requests).toHaveLength(4);
        expect(requests[2]).toContain("there is no search engine");
      },
      limitMs + 60_000,
    );
  },
  "a model that does not exist": () => {
    ifInstalled(
      "asks at most twice for a model that does not exist",
      async () => {
        const { code, stdout, stderr } = await runClaude("Say a word.", "far/none", ["Read"]);
        expect([code, stdout + stderr]).toEqual([1, expect.stringContaining("far/none")]);
        const lines = (await installation.allLogged())
          .split("\n")
          .filter((line) => line.includes('"model":"far/none"'));
        expect(lines.length).toBeGreaterThan(0);
        expect(lines.length).toBeLessThanOrEqual(2);
      },
      limitMs + 60_000,
    );
  },
  "a task with three tool calls": () => {
    ifInstalled.each(dialects)(
      "writes a file, reads it and runs a command, with a provider of dialect %s",
      async (dialect, call, last) => {
        const path = join(folder, "work", "note.txt");
        const steps: readonly Step[] = [
          { name: "Write", input: { file_path: path, content: "from-the-file" } },
          { name: "Read", input: { file_path: path } },
          { name: "Bash", input: { command: "echo from-the-shell", description: "Says a word" } },
        ];
        upstream.script([...steps.map(call), last]);
        const from = upstream.requests.length;
        const task = "Write a note, read it, say a word in the shell.";
        const { code, stdout, stderr } = await runClaude(task, `far/${dialect}`, ["Write", "Read", "Bash(echo:*)"]);
        expect([code, stderr, stdout]).toEqual([0, expect.any(String), expect.stringContaining(done)]);
        const requests = upstream.requests.slice(from).map(({ body }) => body);
        expect(requests).toHaveLength(steps.length + 1);
        expect(readFileSync(path, "utf8")).toBe("from-the-file");
        expect(requests[2]).toContain("from-the-file");
        expect(requests[3]).toContain("from-the-shell");
        // The model of the test writes fewer tokens than the program requests.
        expect(requests[0]).toMatch(/"max_(output_|completion_)?tokens":8192/);
        expectGrowingPrefix(upstream.requests.slice(from).map(({ json }) => json));
        if (dialect === "messages") expect(requests[3]?.match(/"signature":"c2lnbmVk"/g)).toHaveLength(steps.length);
      },
      limitMs + 60_000,
    );
  },
});
