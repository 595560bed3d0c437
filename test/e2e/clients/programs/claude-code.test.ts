/** Claude Code as it is installed: `claude -p` completes a task with three tool calls, on models of several formats. */
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { type ToolStep, programDialects, thoughtSignature } from "../../../support/programs/model.ts";
import { programs } from "../../../support/programs/programs.ts";
import {
  type ProgramStage,
  contextLength,
  expectResults,
  maxOutputTokens,
  testInstalledProgram,
  testLimitMs,
} from "../../../support/programs/stage.ts";
import { type Received, type Reply, chatChunk, chatStream } from "../../../support/providers/upstream.ts";

const done = "All three steps are done.";

/** Cache marks move on from turn to turn; the rest of the prefix stays, byte for byte, or the provider's cache is lost. */
function expectGrowingPrefix(requests: readonly Received[]): void {
  const unmarked = requests.map(({ json }) =>
    JSON.stringify(json, (key, value) => (key === "cache_control" ? undefined : value)),
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

/** The last message of each request has a mark, so that the provider caches the prefix for the next request. */
function expectRollingMarks(requests: readonly Received[]): void {
  for (const { json } of requests) {
    const last = (json["messages"] as { content: object[] }[]).at(-1);
    expect(last?.content).toContainEqual(expect.objectContaining({ cache_control: expect.anything() }));
    expect(json["system"]).toContainEqual(expect.objectContaining({ cache_control: expect.anything() }));
  }
}

function runClaude(stage: ProgramStage, task: string, model: string, allowed: readonly string[]) {
  return stage.run(["-p", task, "--output-format", "json", "--allowedTools", ...allowed], {
    ANTHROPIC_BASE_URL: stage.installation.baseUrl.replace(/\/v1$/, ""),
    ANTHROPIC_AUTH_TOKEN: stage.installation.apiKey,
    ANTHROPIC_MODEL: model,
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextLength),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  });
}

const webSearch = (stage: ProgramStage) =>
  test(
    "Claude Code continues after a web search that Sluice cannot run",
    async () => {
      const call = (name: string, id: string): Reply => {
        const called = { name, arguments: '{"query":"Moons of Mars"}' };
        const delta = { tool_calls: [{ index: 0, id, function: called }] };
        return { chunks: [{ sse: [chatChunk(delta), chatChunk({}, "tool_calls"), "[DONE]"] }] };
      };
      // The program requests its search in a separate request, which has the provider's tool.
      const replies = [call("WebSearch", "call_0"), call("web_search", "call_1")];
      stage.upstream.script([...replies, chatStream("Nothing found."), chatStream(done)]);
      const { code, stdout, stderr, requests } = await runClaude(stage, "Which moons has Mars?", "far/chat", [
        "WebSearch",
      ]);
      expect([code, stderr, stdout]).toEqual([0, expect.any(String), expect.stringContaining(done)]);
      expect(requests).toHaveLength(4);
      expect(requests[2]?.body).toContain("there is no search engine");
    },
    testLimitMs,
  );

const unknownModel = (stage: ProgramStage) =>
  test(
    "Claude Code sends at most two requests to a model that does not exist",
    async () => {
      const { code, stdout, stderr } = await runClaude(stage, "Say a word.", "far/none", ["Read"]);
      expect([code, stdout + stderr]).toEqual([1, expect.stringContaining("far/none")]);
      const lines = (await stage.installation.allLogged())
        .split("\n")
        .filter((line) => line.includes('"model":"far/none"'));
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.length).toBeLessThanOrEqual(2);
    },
    testLimitMs,
  );

const threeCalls = (stage: ProgramStage) =>
  test.each(programDialects)(
    "Claude Code writes a file, reads it and runs a command, with a provider of dialect %s",
    async (dialect) => {
      const path = join(stage.project, "note.txt");
      const steps: readonly ToolStep[] = [
        { name: "Write", input: { file_path: path, content: "from-the-file" } },
        { name: "Read", input: { file_path: path } },
        { name: "Bash", input: { command: "echo from-$((40 + 2))-shells", description: "Says a word" } },
      ];
      stage.script(steps, done);
      const task = "Write a note, read it, say a word in the shell.";
      const { code, stdout, stderr, requests } = await runClaude(stage, task, `far/${dialect}`, [
        "Write",
        "Read",
        "Bash(echo:*)",
      ]);
      expect([code, stderr, stdout]).toEqual([0, expect.any(String), expect.stringContaining(done)]);
      expect(stage.read("note.txt")).toBe("from-the-file");
      expectResults(requests, ["File created successfully", "1\\tfrom-the-file", "from-42-shells"]);
      // The test's model gives fewer tokens than the program requests.
      expect(requests[0]?.body).toMatch(new RegExp(`"max_(output_|completion_)?tokens":${maxOutputTokens}`));
      expectGrowingPrefix(requests);
      if (dialect !== "messages") return;
      expectRollingMarks(requests);
      expect(requests.at(-1)?.body.split(`"signature":"${thoughtSignature}"`)).toHaveLength(steps.length + 1);
    },
    testLimitMs,
  );

await testInstalledProgram(programs.claudeCode, (stage) => ({
  "a task with three tool calls": () => threeCalls(stage),
  "a web search that nothing runs": () => webSearch(stage),
  "a model that does not exist": () => unknownModel(stage),
}));
