/** Tools of the sandbox with models of several dialects, and with providers that run such tools themselves. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { HostedTool } from "@sluice/inference-svc/turn/request.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { type Reply, type Upstream, responsesAnswer, startUpstream } from "../../../support/providers/upstream.ts";
import { textReply, callReply } from "../../../support/tool-replies.ts";
import { type Engine, testRequest, newScope, openEngine, runTestTurn } from "../../asking.ts";
import { finishedItems } from "../../agent-loop/calling-tools.ts";

let adapter: Upstream;
let model: Upstream;
let engine: Engine;

beforeAll(async () => {
  [adapter, model] = await Promise.all([startUpstream(), startUpstream()]);
  const provider = (id: string, dialect: string, more: object = {}) => ({
    id,
    dialect,
    base_url: `${model.url}/v1`,
    api_keys: ["k"],
    ...more,
  });
  const plain = ["chat", "messages", "gemini", "converse"];
  engine = openEngine(
    configSchema.parse({
      providers: [
        ...plain.map((id) => provider(id, id)),
        provider("responses", "responses", { native_tools: [] }),
        provider("able", "responses"),
        { id: "echo", dialect: "echo" },
      ],
      models: [...plain, "responses", "able", "echo"].map((id) => ({ id: `far/${id}`, endpoints: [{ provider: id }] })),
      sandbox: { base_url: adapter.url, api_key: "k" },
    }),
  );
});
afterAll(async () => {
  await engine?.upstreams.close();
  await Promise.all([adapter?.stop(), model?.stop()]);
});

const printed = { stdout: "42", stderr: "", outcome: { type: "exit", exit_code: 0 } };
beforeEach(() => adapter.script([{ chunks: [{ json: { output: [printed] } }] }]));

const code = "print(6 * 7)";
const name = "code_interpreter";
const tool = (kind: string, settings: object): HostedTool => ({
  type: "hosted",
  kind,
  spelling: kind,
  json: JSON.stringify({ type: kind, ...settings }),
});
const interpreter = tool(name, { container: { type: "auto" } });
const shell = tool("shell", { environment: { type: "container_auto" } });
const json = (value: object): Reply => ({ chunks: [{ json: value }] });

const claude = (content: object, reason: string): Reply =>
  json({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [content],
    stop_reason: reason,
    usage: { input_tokens: 1, output_tokens: 1 },
  });
const gemini = (part: object): Reply =>
  json({
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  });
const converse = (part: object, stopReason: string): Reply =>
  json({
    output: { message: { role: "assistant", content: [part] } },
    stopReason,
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  });
const said = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "42", annotations: [] }],
};
const called = { id: "fc_1", type: "function_call", call_id: "c1", name, arguments: JSON.stringify({ code }) };

test.each<[string, readonly Reply[]]>([
  ["chat", [callReply({ name, args: { code } }), textReply("42")]],
  [
    "messages",
    [
      claude({ type: "tool_use", id: "c1", name, input: { code } }, "tool_use"),
      claude({ type: "text", text: "42" }, "end_turn"),
    ],
  ],
  ["gemini", [gemini({ functionCall: { name, args: { code } } }), gemini({ text: "42" })]],
  [
    "converse",
    [
      converse({ toolUse: { toolUseId: "c1", name, input: { code } } }, "tool_use"),
      converse({ text: "42" }, "end_turn"),
    ],
  ],
  ["responses", [responsesAnswer(called), responsesAnswer(said)]],
])("code of a model of the dialect %s runs, and the model reads its output", async (dialect, replies) => {
  model.script(replies);
  const request = testRequest({ models: [`far/${dialect}`], stream: false, tools: [interpreter] });
  const { events, fault } = await runTestTurn(engine.turn, request);
  expect(fault).toBeUndefined();
  expect(finishedItems(events)).toMatchObject([
    { type: "code_interpreter_call", status: "completed", code, outputs: null },
    { type: "message", content: [{ text: "42" }] },
  ]);
  expect(adapter.requests.at(-1)?.json).toMatchObject({ language: "python", commands: [code] });
  expect(model.requests.at(-1)?.body).toMatch(/stdout:\\n42/);
});

test("the built-in model runs code in the sandbox, too", async () => {
  const { events, fault } = await runTestTurn(
    engine.turn,
    testRequest({ models: ["far/echo"], stream: false, tools: [interpreter] }),
  );
  expect(fault).toBeUndefined();
  expect(finishedItems(events)[0]).toMatchObject({ type: "code_interpreter_call", status: "completed" });
});

test.each([interpreter, shell])("a provider that supports code execution keeps the tool: %#", async (entry) => {
  model.script([responsesAnswer(said)]);
  const before = adapter.requests.length;
  const { fault } = await runTestTurn(
    engine.turn,
    testRequest({ models: ["far/able"], stream: false, tools: [entry] }),
  );
  expect(fault).toBeUndefined();
  expect(model.requests.at(-1)?.json["tools"]).toEqual([JSON.parse(entry.json)]);
  expect(adapter.requests).toHaveLength(before);
});

test("a dry run shows the sandbox tool as a function, and runs no code", async () => {
  const before = adapter.requests.length;
  const testScope = newScope();
  const { plan } = await engine.planDryRun(
    testRequest({ models: ["far/chat"], stream: false, tools: [shell] }),
    testScope.scope,
  );
  expect(plan[0]?.bodyJson).toMatch(/"name":"shell".*"commands"/);
  expect(testScope.scope.trace.stages).toMatchObject([{ name: "server-tools", data: { tools: ["shell"] } }]);
  expect(adapter.requests).toHaveLength(before);
});
