/** Web search as a tool that no provider of a model runs: it is left out and named in the receipt, or refused if this is configured. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { HostedTool, InputItem, ToolChoice, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import {
  type Reply,
  type Upstream,
  chatChunk,
  chatStream,
  responsesAnswer,
  startUpstream,
} from "../../../support/providers/upstream.js";
import { type Engine, testRequest, functionTool, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";

const hosted = (kind: string, more: object = {}): HostedTool => ({
  type: "hosted",
  kind,
  spelling: kind,
  json: JSON.stringify({ type: kind, ...more }),
});
const search = hosted("web_search");
const notSent = (path: string) => ({ path, reason: "no provider of this model runs it" });
const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Done." }] };
const geminiAnswer: Reply = {
  chunks: [{ sse: [{ candidates: [{ content: { parts: [{ text: "Done." }] }, finishReason: "STOP" }] }] }],
};

let upstream: Upstream;
let engine: Engine;

beforeEach(async () => {
  upstream = await startUpstream([chatStream("Done.")]);
});
afterEach(async () => {
  await engine?.upstreams.close();
  await upstream.stop();
});

/** Opens a model for each dialect, and a model with two endpoints; only the first runs the search. */
function open(unavailable?: "drop" | "refuse"): void {
  const provider = (id: string, dialect: string, more: object = {}) => ({
    id,
    name: id,
    dialect,
    base_url: `${upstream.url}/v1`,
    ...more,
  });
  const providers = [
    provider("chat", "chat"),
    provider("gemini", "gemini"),
    provider("messages", "messages", { native_tools: [] }),
    provider("responses", "responses", { native_tools: [] }),
    provider("searching", "responses"),
    { id: "echo", dialect: "echo" },
  ];
  const models = [
    ...["chat", "gemini", "messages", "responses", "searching", "echo"].map((id) => ({
      id,
      endpoints: [{ provider: id }],
    })),
    { id: "mixed", endpoints: [{ provider: "chat" }, { provider: "searching" }] },
  ];
  const file = testConfig({ providers, models });
  engine = openEngine(unavailable ? { ...file, tools: { unavailable } } : file);
}

async function runRequest(request: Partial<TurnRequest>) {
  const testScope = newScope();
  const { fault } = await runTestTurn(engine.turn, testRequest(request), testScope);
  const { droppedFields: losses, attempts } = testScope.scope.trace;
  return {
    fault: fault && [fault.status, fault.message],
    losses,
    providers: attempts.map(({ provider }) => provider),
    body: upstream.requests.at(-1)?.json,
  };
}

describe("a web search that no provider runs is left out", () => {
  test.each(["web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"])(
    "of %s, next to functions, which stay",
    async (kind) => {
      open();
      const { fault, losses, body } = await runRequest({ models: ["chat"], tools: [hosted(kind), functionTool()] });
      expect([fault, losses]).toEqual([undefined, [notSent("tools.0")]]);
      expect(body?.["tools"]).toMatchObject([{ type: "function", function: { name: "f" } }]);
    },
  );

  test.each<[string, Reply]>([
    ["responses", responsesAnswer(message)],
    ["gemini", geminiAnswer],
    ["messages", { status: 400, chunks: [{ json: { type: "error", error: { type: "x", message: "scripted" } } }] }],
    ["echo", {}],
  ])("by a provider of the dialect %s without the tool", async (model, reply) => {
    open();
    upstream.script([reply]);
    const { fault, losses, body } = await runRequest({
      models: [model],
      tools: [functionTool(), search],
      stream: false,
    });
    if (model !== "messages") expect(fault).toBeUndefined();
    expect(losses).toContainEqual(notSent("tools.1"));
    expect(JSON.stringify(body?.["tools"] ?? [])).not.toContain("earch");
  });

  test("without other tools, together with the choice among missing tools", async () => {
    open();
    upstream.script([responsesAnswer(message)]);
    const request = { tools: [search], toolChoice: "auto", parallelToolCalls: true, stream: false } as const;
    const { fault, body } = await runRequest({ models: ["responses"], ...request });
    expect(fault).toBeUndefined();
    expect(Object.keys(body ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(tools|tool_choice|parallel_tool_calls)$/)]),
    );
  });

  test("of a choice among several tools, and of tools in the input", async () => {
    open();
    const choice: ToolChoice = {
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "web_search" }, { type: "function", name: "f" }],
    };
    const tools = [{ type: "web_search" }];
    const brought: readonly InputItem[] = [
      { type: "additional_tools", role: "developer", tools },
      { type: "tool_search_output", call_id: null, execution: "client", tools },
    ];
    const { fault, losses, body } = await runRequest({
      models: ["chat"],
      input: [...brought, { type: "message", role: "user", content: "Hi" }],
      tools: [functionTool(), search],
      toolChoice: choice,
    });
    expect([fault, body?.["tool_choice"]]).toEqual([undefined, "required"]);
    expect(losses).toEqual(
      expect.arrayContaining([notSent("tools.1"), notSent("input.0.tools.0"), notSent("input.1.tools.0")]),
    );
  });

  test("in a dry run, too", async () => {
    open();
    const { scope } = newScope();
    const { plan } = await engine.planDryRun(testRequest({ models: ["chat"], tools: [search] }), scope);
    expect(plan.map(({ losses }) => losses)).toEqual([[notSent("tools.0")]]);
  });
});

test("an endpoint with a web search is preferred, in any order", async () => {
  open();
  upstream.script([responsesAnswer(message)]);
  const one = await runRequest({ models: ["mixed"], tools: [search], stream: false });
  expect(one).toMatchObject({ losses: [], providers: ["searching"], body: { tools: [{ type: "web_search" }] } });
  const other = await runRequest({ models: ["chat", "searching"], tools: [search], stream: false });
  expect(other).toMatchObject({ losses: [], providers: ["searching"] });
});

test("an endpoint without a web search serves if a preference leaves no other", async () => {
  open();
  upstream.script([{ chunks: [{ sse: [chatChunk({ content: "Done." }, "stop"), "[DONE]"] }] }]);
  const provider = { only: ["chat"], ignore: [], order: [], quantizations: [] } as never;
  const { fault, losses } = await runRequest({ models: ["mixed"], tools: [search], provider });
  expect([fault, losses]).toEqual([undefined, [notSent("tools.0")]]);
});

describe("a web search that no provider runs is refused", () => {
  const message400 = (path: string, type: string) => [
    400,
    `${path}: no provider of this model runs tools of type ${type}`,
  ];

  test.each<[string, Partial<TurnRequest>, string, string]>([
    ["a choice of the search", { toolChoice: { type: "tool", tool: { type: "web_search" } } }, "tools.0", "web_search"],
    ["a choice that demands a tool, when no other is left", { toolChoice: "required" }, "tools.0", "web_search"],
    [
      "any other tool that nobody runs",
      { tools: [search, hosted("service:browser_use")] },
      "tools.1",
      "service:browser_use",
    ],
  ])("in a request with %s", async (_, request, path, type) => {
    open();
    expect((await runRequest({ models: ["chat"], tools: [search], ...request })).fault).toEqual(message400(path, type));
    expect(upstream.requests).toHaveLength(0);
  });

  test("with tools.unavailable: refuse", async () => {
    open("refuse");
    const { fault } = await runRequest({ models: ["chat"], tools: [functionTool(), search] });
    expect(fault).toEqual(message400("tools.1", "web_search"));
    expect(upstream.requests).toHaveLength(0);
  });
});
