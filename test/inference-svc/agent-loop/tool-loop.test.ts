/** The loop around tools that a test controls: what runs concurrently, and what ends the loop. */
import { WholeAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { afterEach, expect, jest, test } from "@jest/globals";
import type { McpServers } from "@sluice/inference-svc/features/mcp/client.js";
import { serverTools } from "@sluice/inference-svc/agent-loop/loop/loop.js";
import { type CallingToolDeps, allSources, allTools, plainTools } from "@sluice/inference-svc/tool-registry.js";
import type { OpenTool, ServerTool, ToolCall, ToolResult } from "@sluice/inference-svc/agent-loop/tool.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Scope } from "@sluice/inference-svc/turn/scope.js";
import type { Answer, OutputItem, Turn } from "@sluice/inference-svc/turn/turn.js";
import { Catalog } from "@sluice/inference-svc/models/routing/catalog.js";
import type { FileReader } from "@sluice/inference-svc/content/files/texts.js";
import type { VectorStores } from "@sluice/inference-svc/features/vector-stores/client.js";
import type { Web } from "@sluice/inference-svc/features/web/client.js";
import { builtServerTools } from "@sluice/proto/contract/tools/service-tools.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { object, string } from "@sluice/proto/lib/validation/shape.js";
import { hosted } from "../../support/tool-replies.ts";
import { testRequest, testConfig, newScope, runTestTurn } from "../asking.ts";
import { joinedTextGuardrails } from "@sluice/inference-svc/features/guardrails/output/layer.js";

afterEach(() => {
  jest.useRealTimers();
});

interface Running {
  readonly name: unknown;
  readonly call: ToolCall;
  finish(result?: ToolResult): void;
  fail(error: unknown): void;
}

/** A tool whose calls end when the test releases them. */
function held(hasEffect = false, more: Pick<OpenTool, "limitMs"> = {}) {
  const running: Running[] = [];
  const waiting: (() => void)[] = [];
  const tool: ServerTool = {
    kinds: ["service:web_search"],
    hasEffect,
    open: () => ({
      description: "Waits.",
      arguments: object({ name: string() }, { strict: true }),
      run: ({ name }, call) =>
        new Promise((resolve, reject) => {
          const finish = (result?: ToolResult) => resolve(result ?? { output: `"${String(name)}"`, item: { name } });
          running.push({ name, call, finish, fail: reject });
          for (const go of waiting.splice(0)) go();
        }),
      recall: () => ({ args: {}, output: "" }),
      ...more,
    }),
  };
  const begun = async (count: number) => {
    while (running.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return { tool, running, begun };
}

const callOf = (name: string): OutputItem => ({
  type: "function_call",
  id: `fc_${name}`,
  call_id: `call_${name}`,
  name: "service_web_search",
  arguments: JSON.stringify({ name }),
});
const message: OutputItem = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [] };

const giving = (...items: readonly OutputItem[]): (() => Answer) => {
  const end = { type: "end", outcome: { status: "completed", serviceTier: "default" } } as const;
  return () => new WholeAnswer([...items.map((item, index) => ({ type: "item.end" as const, index, item })), end]);
};

/** A tool loop over model answers in this order. */
function looped(tool: ServerTool, ...answers: readonly (() => Answer)[]) {
  const asked: { request: TurnRequest; scope: Scope }[] = [];
  const warnings: object[] = [];
  const next: Turn = (request, scope) => {
    asked.push({ request, scope });
    const answer = answers[asked.length - 1];
    if (!answer) throw new Error("asked too often");
    return answer();
  };
  const layer = serverTools({
    tools: [tool],
    sources: [],
    isNative: () => false,
    guards: [],
    gates: [],
    joinedTextGate: joinedTextGuardrails,
    inputCost: () => 0n,
    log: { warn: (line: object | string) => void warnings.push(line as object) },
  });
  return { turn: layer(next), asked, warnings };
}

const request = testRequest({ stream: false, tools: [hosted("service:web_search")] });
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);
const outputsOf = ({ input }: TurnRequest) =>
  input.flatMap(({ type, output }) => (type === "function_call_output" ? [output] : []));

test("eight tool calls run concurrently, and results keep the order of the calls", async () => {
  const { tool, running, begun } = held();
  const { turn, asked } = looped(tool, giving(...names(9).map(callOf)), giving(message));
  const ending = runTestTurn(turn, request);
  await begun(8);
  await new Promise((resolve) => setImmediate(resolve));
  expect(running.map(({ name }) => name)).toEqual(names(8));
  running[7]?.finish();
  await begun(9);
  for (const each of running.toReversed()) each.finish();
  const { events } = await ending;
  expect(events.map((event) => ("item" in event ? event.item["name"] : undefined)).slice(0, 9)).toEqual(names(9));
  expect(outputsOf(asked[1]?.request as TurnRequest)).toEqual(names(9).map((name) => `"${name}"`));
});

test.each([
  ["in 60 seconds", {}, 60],
  ["in the time that it says it takes", { limitMs: 185_000 }, 185],
])("a tool call without a result %s is given up", async (_, more, seconds) => {
  jest.useFakeTimers({ doNotFake: ["performance", "setImmediate", "nextTick", "queueMicrotask"] });
  const { tool, running, begun } = held(false, more);
  const { turn, asked } = looped(tool, giving(callOf("slow")), giving(message));
  const ending = runTestTurn(turn, request);
  await begun(1);
  await jest.advanceTimersByTimeAsync(seconds * 1_000 - 1);
  expect([asked.length, running[0]?.call.signal.aborted]).toEqual([1, false]);
  await jest.advanceTimersByTimeAsync(1);
  const { events, fault } = await ending;
  expect([fault, running[0]?.call.signal.aborted]).toEqual([undefined, true]);
  expect(events[0]).toMatchObject({ item: { status: "incomplete", error: `it gave no result in ${seconds} seconds` } });
});

test("a failing tool gives a result for the model and a line in the log", async () => {
  const { tool, running, begun } = held();
  const { turn, asked, warnings } = looped(tool, giving(callOf("broken")), giving(message));
  const ending = runTestTurn(turn, request);
  await begun(1);
  running[0]?.fail(new Error("a bug"));
  expect((await ending).fault).toBeUndefined();
  expect(outputsOf(asked[1]?.request as TurnRequest)).toEqual(['{"error":"the tool failed"}']);
  expect(warnings).toMatchObject([{ request_id: "req_test", tool: "service:web_search", err: { message: "a bug" } }]);
});

test.each([true, false])("a client that leaves ends the running tools, with a stream: %s", async (stream) => {
  const { tool, running, begun } = held();
  const { turn, asked } = looped(tool, giving(callOf("a"), callOf("b")));
  const left = newScope();
  const ending = runTestTurn(turn, { ...request, stream }, left);
  await begun(2);
  left.abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED));
  const { fault } = await ending;
  expect([fault?.reason, asked.length]).toEqual([FaultReason.DEADLINE_EXCEEDED, 1]);
  expect(running.map(({ call }) => call.signal.aborted)).toEqual([true, true]);
});

test.each([
  [false, "first", 529, true],
  [true, "once", 502, false],
] as const)(
  "after a tool with an effect (%s) an overloaded provider is called again: %s",
  async (hasEffect, again, status, retry) => {
    const { tool, running, begun } = held(hasEffect);
    const failing = () => {
      throw new Fault(FaultReason.PROVIDER_OVERLOADED, "", { retryAfterMs: 1_000 });
    };
    const { turn, asked } = looped(tool, giving(callOf("a")), failing);
    const ending = runTestTurn(turn, request);
    await begun(1);
    running[0]?.finish();
    const { fault } = await ending;
    expect(asked.map(({ scope }) => scope.again)).toEqual([undefined, again]);
    expect([fault?.status, fault?.shouldRetry, (fault?.retryAfterMs ?? 0) > 0]).toEqual([status, retry, retry]);
  },
);

test("the contract names the existing server tools", () => {
  const catalog = new Catalog(testConfig({ url: "http://127.0.0.1:9" }));
  const nothing = {
    web: {} as Web,
    files: {} as FileReader,
    vectorStores: {} as VectorStores,
    sandbox: undefined,
    secret: "",
  };
  expect(
    [
      ...allTools(plainTools({ catalog, ...nothing }), { roles: {} } as CallingToolDeps),
      ...allSources({} as McpServers),
    ]
      .map(({ kinds: [kind] }) => kind)
      .toSorted(),
  ).toEqual([...builtServerTools].toSorted());
});
