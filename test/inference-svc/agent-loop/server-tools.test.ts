/** The agent loop over scripted providers: which requests are sent in which order, and what a client gets. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { AlignmentPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";
import {
  type Engine,
  testRequest,
  functionTool,
  testConfig,
  itemsOf,
  newScope,
  openEngine,
  runTestTurn,
} from "../asking.ts";
import { type Filter, blockFilter, guardrailOf, redactFilter } from "../features/guardrails/gating.ts";
import { textReply, callReply, callReplyStream, datetime, hosted, toolCalls } from "../../support/tool-replies.ts";

let acme: Upstream;
let engine: Engine;

beforeAll(async () => {
  acme = await startUpstream();
  engine = openEngine(testConfig({ url: acme.url }));
});
afterAll(async () => {
  await engine?.upstreams.close();
  await acme?.stop();
});

const turn = (fields: Partial<TurnRequest> = {}, testScope = newScope()) =>
  runTestTurn(engine.turn, testRequest({ tools: [datetime()], stream: false, ...fields }), testScope);

const sent = (index: number) =>
  acme.requests.at(index)?.json as { messages: unknown[]; tools: unknown[]; tool_choice?: unknown };

describe("an answer with a server tool, without a stream", () => {
  test("runs the tool and answers", async () => {
    acme.script([callReply({ args: { timezone: "Europe/Oslo" } }), textReply("It is Friday.")]);
    const testScope = newScope();
    const { events, fault } = await turn({}, testScope);
    expect(fault).toBeUndefined();
    expect(events).toMatchObject([
      { type: "start", model: "acme/large-2" },
      { type: "item.end", index: 0, item: { type: "service:datetime", status: "completed", timezone: "Europe/Oslo" } },
      { type: "item.end", index: 1, item: { type: "message" } },
      { type: "end", outcome: { status: "completed" } },
    ]);
    expect(sent(-2).tools).toMatchObject([{ type: "function", function: { name: "service_datetime" } }]);
    expect(sent(-1).messages.slice(1)).toMatchObject([
      { role: "assistant", tool_calls: [{ id: "call_0", function: { name: "service_datetime" } }] },
      { role: "tool", tool_call_id: "call_0", content: expect.stringMatching(/"timezone":"Europe\/Oslo"/) },
    ]);
    expect(testScope.scope.trace.usage).toMatchObject({
      inputTokens: 24,
      outputTokens: 6,
      serverToolUse: { toolCallsRequested: 1, toolCallsExecuted: 1 },
    });
    expect(testScope.scope.trace.stages).toEqual([
      {
        type: "server_tools",
        name: "server-tools",
        summary: "1 call: answer",
        data: { mode: "sdk", tools: ["service:datetime"], steps: 1, stop_reason: "answer" },
      },
    ]);
  });
});

describe("a stream with a server tool", () => {
  test("runs the tool and answers, with continuous sequence numbers", async () => {
    acme.script([callReplyStream("Let me look. ", {}), chatStream("It is ", "Friday.")]);
    const { events, fault } = await turn({ stream: true, echoUpstreamBody: true });
    expect(fault).toBeUndefined();
    expect(events.filter(({ type }) => type === "start" || type === "debug")).toHaveLength(2);
    expect(itemsOf(events)).toMatchObject([
      { type: "message", phase: "commentary" },
      { type: "service:datetime", status: "completed", timezone: "UTC" },
      { type: "message" },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "completed" } });
  });

  test("has calls of the client's functions last, after Sluice's tools", async () => {
    acme.script([callReplyStream("", { name: "weather", args: { city: "Oslo" } }, {})]);
    const { events } = await turn({ stream: true, tools: [datetime(), functionTool({ name: "weather" })] });
    expect(itemsOf(events)).toMatchObject([
      { type: "service:datetime" },
      { type: "function_call", name: "weather", call_id: "call_0", arguments: '{"city":"Oslo"}' },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "completed" } });
  });

  test("is incomplete with a call of the client's function that breaks off, and with other calls beside it", async () => {
    const tools = [datetime(), functionTool({ name: "weather" })];
    for (const calls of [[{ name: "weather", args: '{"city":"Os' }], [{}, { name: "weather", args: '{"city":"Os' }]]) {
      acme.script([callReplyStream("", ...calls), chatStream("Never asked.")]);
      const before = acme.requests.length;
      const { events } = await turn({ stream: true, tools });
      expect(itemsOf(events).at(-1)).toMatchObject({ name: "weather", arguments: '{"city":"Os', status: "incomplete" });
      expect(events.at(-1)).toMatchObject({ outcome: { status: "incomplete", reason: "max_output_tokens" } });
      expect(acme.requests.length - before).toBe(1);
    }
  });

  test("goes on after a call of a server tool that breaks off before a reported end, which the model is told", async () => {
    acme.script([callReplyStream("", { args: '{"timezone":"Eu' }), chatStream("Sorry.")]);
    const { events } = await turn({ stream: true });
    expect(sent(-1).messages.at(-1)).toMatchObject({ content: '{"error":"the arguments are not JSON"}' });
    expect(events.at(-1)).toMatchObject({ outcome: { status: "completed", reason: undefined } });
  });

  test("runs two calls for joined arguments of a server tool", async () => {
    acme.script([
      callReplyStream("", { args: '{"timezone":"Europe/Oslo"}{"timezone":"Asia/Tokyo"}' }),
      chatStream("Two."),
    ]);
    const { events } = await turn({ stream: true });
    expect(itemsOf(events)).toMatchObject([
      { timezone: "Europe/Oslo" },
      { timezone: "Asia/Tokyo" },
      { type: "message" },
    ]);
  });

  test("calls no provider again after a failure of the provider that follows a tool run", async () => {
    acme.script([callReplyStream("", {}), { status: 503 }, chatStream("Late.")]);
    const before = acme.requests.length;
    const { events, fault, rejected } = await turn({ stream: true });
    expect([fault?.status, fault?.shouldRetry, rejected]).toEqual([502, false, false]);
    expect(itemsOf(events)).toMatchObject([{ type: "service:datetime" }]);
    expect(acme.requests.length - before).toBe(2);
  });
});

describe("several calls of server tools", () => {
  test("have results in the order of the calls, for the model and the client", async () => {
    const zones = ["Europe/Oslo", "Asia/Tokyo", "America/Lima"];
    acme.script([callReply(...zones.map((timezone) => ({ args: { timezone } }))), textReply("Three.")]);
    const { events } = await turn();
    const shown = events.flatMap((event) => (event.type === "item.end" ? [event.item["timezone"]] : []));
    expect(shown).toEqual([...zones, undefined]);
    const outputs = sent(-1).messages.slice(2) as { content: string }[];
    expect(outputs.map(({ content }) => JSON.parse(content).timezone)).toEqual(zones);
  });

  test.each([
    ["unknown argument", { city: "Oslo" }, "city: unknown field"],
    ["wrong type", { timezone: 7 }, "timezone: must be a string"],
    ["no JSON", "{", "the arguments are not JSON"],
    ["no object", "[]", "the arguments are not an object"],
    ["bad zone", { timezone: "Mars/Base" }, "Mars/Base is no IANA time zone"],
  ])("that are impossible are reported to the model: %s", async (_, args, error) => {
    acme.script([callReply({ args }), textReply("Sorry.")]);
    const { events, fault } = await turn();
    expect(fault).toBeUndefined();
    expect(sent(-1).messages.at(-1)).toMatchObject({ role: "tool", content: JSON.stringify({ error }) });
    expect(events[1]).toMatchObject({ item: { type: "service:datetime", status: "incomplete", datetime: "", error } });
  });

  test("run at most twice when they are the same", async () => {
    const first = { timezone: "Europe/Oslo" };
    acme.script([callReply({ args: first }, { args: first }), callReply({ args: first }), textReply("Enough.")]);
    const testScope = newScope();
    await turn({}, testScope);
    expect(sent(-1).messages.at(-1)).toMatchObject({ content: expect.stringMatching(/^{"error":"repeated/) });
    expect(testScope.scope.trace.toolCalls?.map(({ outcome }) => outcome)).toEqual([
      "completed",
      "completed",
      "refused",
    ]);
    expect(testScope.scope.trace.usage?.serverToolUse).toEqual({ toolCallsRequested: 3, toolCallsExecuted: 2 });
  });
});

describe("the end of a tool loop", () => {
  const endless = (zone: string) => callReply({ args: { timezone: zone } });
  const zones = Intl.supportedValuesOf("timeZone");
  const stopOf = (asked: ReturnType<typeof newScope>) => asked.scope.trace.stages.at(-1)?.data;

  test.each([
    ["max_tool_calls", { maxToolCalls: 2 }, 2],
    ["step_count_is", { stopServerToolsWhen: [{ type: "step_count_is", step_count: 3 }] }, 3],
    ["has_tool_call", { stopServerToolsWhen: [{ type: "has_tool_call", tool_name: "datetime" }] }, 1],
    ["max_tokens_used", { stopServerToolsWhen: [{ type: "max_tokens_used", max_tokens: 31 }] }, 3],
    ["finish_reason_is", { stopServerToolsWhen: [{ type: "finish_reason_is", reason: "tool_calls" }] }, 1],
    [
      "step_count_is",
      {
        maxToolCalls: 1,
        stopServerToolsWhen: [
          { type: "has_tool_call", tool_name: "other" },
          { type: "step_count_is", step_count: 2 },
        ],
      },
      2,
    ],
  ] as const)("comes after %s, with one last answer without tools", async (reason, fields, steps) => {
    acme.script([...zones.slice(0, steps).map(endless), textReply("All I know.")]);
    const testScope = newScope();
    const { events, fault } = await turn(fields, testScope);
    expect(fault).toBeUndefined();
    expect(events.filter((event) => event.type === "item.end")).toHaveLength(steps + 1);
    expect(sent(-1)).toMatchObject({ tool_choice: "none", tools: [{ function: { name: "service_datetime" } }] });
    expect(sent(-1).messages.at(-1)).toMatchObject({ role: "user", content: expect.stringMatching(/^No more tools/) });
    expect(stopOf(testScope)).toMatchObject({ steps, stop_reason: reason });
  });

  test("comes without running calls beyond the limit, and ignores further calls", async () => {
    acme.script([callReply(...zones.slice(0, 3).map((timezone) => ({ args: { timezone } }))), endless("UTC")]);
    const testScope = newScope();
    const { events } = await turn({ maxToolCalls: 2 }, testScope);
    expect(testScope.scope.trace.toolCalls?.map(({ outcome }) => outcome).toSorted()).toEqual([
      "completed",
      "completed",
      "refused",
    ]);
    expect(sent(-1).messages).toContainEqual(
      expect.objectContaining({ content: '{"error":"the limit of 2 tool calls is reached"}' }),
    );
    expect(events.filter((event) => event.type === "item.end")).toHaveLength(3);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "completed" } });
  });

  test.each([
    [30, undefined],
    [100, [{ type: "step_count_is", step_count: 1_000 }] as const],
  ])("comes after at most %i answers without a fulfilled condition", async (most, conditions) => {
    acme.script([...zones.slice(0, most).map(endless), textReply("Never reached, or the last.")]);
    const testScope = newScope();
    const before = acme.requests.length;
    await turn(conditions ? { stopServerToolsWhen: conditions } : {}, testScope);
    const turns = conditions ? most : most + 1;
    expect(acme.requests.length - before).toBe(turns);
    expect(stopOf(testScope)).toMatchObject({ stop_reason: conditions ? "max_turns" : "max_tool_calls" });
  });

  test("comes after two model answers with only failing calls", async () => {
    acme.script([callReply({ args: "{" }), callReply({ args: "[" }), textReply("I cannot.")]);
    const testScope = newScope();
    await turn({}, testScope);
    expect(stopOf(testScope)).toMatchObject({ steps: 2, stop_reason: "errors" });
  });

  test("comes before a near deadline", async () => {
    acme.script([callReply({}), textReply("In short.")]);
    const testScope = newScope();
    await turn({}, { ...testScope, scope: testScope.scope.with({ deadline: performance.now() + 9_000 }) });
    expect(stopOf(testScope)).toMatchObject({ steps: 1, stop_reason: "deadline" });
  });

  test("is not delayed by a forced tool choice, which holds for the first answer", async () => {
    acme.script([callReply({}), textReply("Done.")]);
    await turn({ toolChoice: { type: "tool", tool: { type: "service:datetime" } } });
    expect(sent(-2).tool_choice).toEqual({ type: "function", function: { name: "service_datetime" } });
    expect(sent(-1).tool_choice).toBe("auto");
  });

  test("comes without a tool run after a truncated answer", async () => {
    acme.script([chatAnswer({ role: "assistant", content: "So", tool_calls: toolCalls([{}]) }, "length")]);
    const testScope = newScope();
    const { events } = await turn({}, testScope);
    expect(events.at(-1)).toMatchObject({ outcome: { status: "incomplete", reason: "max_output_tokens" } });
    expect(testScope.scope.trace.toolCalls).toBeUndefined();
  });
});

describe("an earlier run of a server tool", () => {
  const past = { id: "st_1", status: "completed", type: "service:datetime" };

  test.each([[[datetime()]], [[]]])("becomes its call again", async (tools) => {
    acme.script([textReply("Friday.")]);
    const input = [
      { type: "message", role: "user", content: "What day is it?" },
      { ...past, datetime: "2026-11-20T20:30:00+01:00", timezone: "Europe/Oslo" },
    ];
    const testScope = newScope();
    await turn({ input, tools }, testScope);
    expect(sent(-1).messages.slice(1)).toMatchObject([
      {
        role: "assistant",
        tool_calls: [{ id: "st_1", function: { name: "service_datetime", arguments: '{"timezone":"Europe/Oslo"}' } }],
      },
      {
        role: "tool",
        tool_call_id: "st_1",
        content: '{"datetime":"2026-11-20T20:30:00+01:00","timezone":"Europe/Oslo"}',
      },
    ]);
    expect(testScope.scope.trace.droppedFields).toEqual([]);
  });
});

describe("guardrails of the key and server tools:", () => {
  const secret = "SECRET-7";
  const models = [
    {
      id: "acme/large-2",
      description: `What ${secret} is`,
      endpoints: [{ provider: "acme", upstream_model: "large-2" }],
    },
  ];
  const guarded = async (filters: readonly Filter[], appliesTo: AppliesTo, fields: Partial<TurnRequest> = {}) => {
    const { turn: guardedTurn, upstreams } = openEngine(testConfig({ url: acme.url, models }));
    const tools = [hosted("service:search_models"), datetime({ timezone: "Europe/Oslo" })];
    const testScope = newScope({ guardrail: guardrailOf(filters, { appliesTo }) });
    const ending = await runTestTurn(guardedTurn, testRequest({ tools, stream: false, ...fields }), testScope);
    await upstreams.close();
    return { ...ending, stages: testScope.scope.trace.stages };
  };
  const searching = callReply({ name: "service_search_models", args: { query: "large" } });

  test("a result is redacted before the model reads it", async () => {
    acme.script([searching, textReply("One model.")]);
    const { fault, stages } = await guarded([redactFilter("SECRET-\\d", "[S]")], AppliesTo.INPUT);
    expect(fault).toBeUndefined();
    expect(acme.requests.at(-1)?.body).toContain("What [S] is");
    expect(acme.requests.at(-1)?.body).not.toContain(secret);
    expect(stages).toMatchObject([
      { type: "guardrail", data: { action: "redacted" } },
      { type: "server_tools", data: { stop_reason: "answer" } },
    ]);
  });

  test("a result is refused before the model reads it", async () => {
    acme.script([searching, textReply("Never asked.")]);
    const before = acme.requests.length;
    const { fault } = await guarded([blockFilter("SECRET-\\d")], AppliesTo.INPUT);
    expect([fault?.status, acme.requests.length - before]).toEqual([403, 1]);
  });

  test("a result does not reach the client", async () => {
    acme.script([callReply({}), textReply("Noon.")]);
    const { events } = await guarded([redactFilter("Europe/\\w+", "[Z]")], AppliesTo.OUTPUT);
    expect(events[1]).toMatchObject({ item: { type: "service:datetime", timezone: "[Z]" } });
  });

  test("a block after output ends the stream as incomplete", async () => {
    acme.script([callReplyStream("Let me look.", {}), chatStream("Noon.")]);
    const { events, fault } = await guarded([blockFilter("Europe/\\w+")], AppliesTo.OUTPUT, { stream: true });
    expect(fault).toBeUndefined();
    expect(itemsOf(events)).toMatchObject([{ type: "message" }]);
    expect(events.at(-1)).toMatchObject({ outcome: { status: "incomplete", reason: "content_filter" } });
  });

  test("a block of an answer after a tool has run ends the stream as incomplete, too", async () => {
    acme.script([callReplyStream("", {}), chatStream("The ", "secret.")]);
    const { events, fault } = await guarded([blockFilter("secret")], AppliesTo.OUTPUT, { stream: true });
    expect(fault).toBeUndefined();
    expect(itemsOf(events).at(0)).toMatchObject({ type: "service:datetime" });
    expect(JSON.stringify(events)).not.toContain("secret");
    expect(events.at(-1)).toMatchObject({ outcome: { status: "incomplete", reason: "content_filter" } });
  });
});

describe("server tools with the alignment plugin", () => {
  const rules = ['Never mention "Tokyo".', 'Never mention "Friday".'];
  const under = (stream: boolean, asked: ReturnType<typeof newScope>, settings: object = {}) =>
    turn({ stream, plugins: { alignment: create(AlignmentPluginSchema, { rules, ...settings }) } }, asked);

  test("do not run for a withheld answer, and every answer has its verdict", async () => {
    acme.script([
      callReply({ args: { timezone: "Asia/Tokyo" } }),
      callReply({}),
      textReply("It is Friday."),
      textReply("It is a weekday."),
    ]);
    const testScope = newScope();
    const { events, fault } = await under(false, testScope);
    expect(fault).toBeUndefined();
    expect(testScope.scope.trace.toolCalls).toHaveLength(1);
    const shown = events.flatMap((event) => (event.type === "item.end" ? [event.item] : []));
    expect(shown).toMatchObject([{ type: "service:datetime" }, { content: [{ text: "It is a weekday." }] }]);
    expect(events.at(-1)).toMatchObject({
      outcome: {
        alignment: {
          calls: ["blocked", "allowed", "blocked", "allowed"].map((outcome, index) => ({ call: index + 1, outcome })),
        },
      },
    });
    // Each answer has separate retries.
    expect(testScope.scope.trace.attempts).toHaveLength(4);
    const roles = (sent(-1).messages as { role: string }[]).map(({ role }) => role);
    expect(roles).toEqual(["system", "user", "assistant", "tool", "user"]);
  });

  test("end an open stream when an answer is withheld finally", async () => {
    acme.script([callReplyStream("", {}), chatStream("It is ", "Friday.")]);
    const { events, fault, rejected } = await under(true, newScope(), { maxRetries: 0 });
    expect([fault?.status, fault?.shouldRetry, rejected]).toEqual([403, false, false]);
    expect(itemsOf(events)).toMatchObject([{ type: "service:datetime" }]);
  });
});

describe("a failing provider of a turn with server tools", () => {
  const both = (backup: Upstream) =>
    testConfig({
      providers: [
        { id: "acme", dialect: "chat", base_url: `${acme.url}/v1` },
        { id: "backup", dialect: "chat", base_url: `${backup.url}/v1` },
      ],
      models: [
        {
          id: "acme/large-2",
          endpoints: [
            { provider: "acme", pricing: { prompt: "1", completion: "1" } },
            { provider: "backup", pricing: { prompt: "1000", completion: "1000" } },
          ],
        },
      ],
    });

  test("is replaced before any delivery or tool run", async () => {
    const backup = await startUpstream([textReply("From the other.")]);
    const { turn: twice, upstreams } = openEngine(both(backup));
    acme.script([callReply({}), { status: 503 }]);
    const testScope = newScope();
    const { events, fault } = await runTestTurn(twice, testRequest({ tools: [datetime()], stream: false }), testScope);
    expect(fault).toBeUndefined();
    expect(testScope.scope.trace.attempts.map(({ provider, status }) => [provider, status])).toEqual([
      ["acme", 200],
      ["acme", 503],
      ["backup", 200],
    ]);
    expect(events.filter(({ type }) => type === "item.end")).toHaveLength(2);
    await upstreams.close();
    await backup.stop();
  });

  test("is called first for the next answer", async () => {
    const backup = await startUpstream([callReply({}), textReply("From the other.")]);
    const { turn: twice, upstreams } = openEngine(both(backup));
    acme.script([{ status: 503 }]);
    const testScope = newScope();
    await runTestTurn(twice, testRequest({ tools: [datetime()], stream: false }), testScope);
    expect(testScope.scope.trace.attempts.map(({ provider }) => provider)).toEqual(["acme", "backup", "backup"]);
    await upstreams.close();
    await backup.stop();
  });
});

test("the built-in model calls a tool of Sluice, and answers", async () => {
  const file = testConfig({
    providers: [{ id: "sluice", dialect: "echo" }],
    models: [{ id: "sluice/echo", endpoints: [{ provider: "sluice" }] }],
  });
  const { turn: echoing, upstreams } = openEngine(file);
  const { events, fault } = await runTestTurn(
    echoing,
    testRequest({ models: ["sluice/echo"], tools: [datetime()], stream: false }),
  );
  await upstreams.close();
  expect(fault).toBeUndefined();
  const shown = events.flatMap((event) => (event.type === "item.end" ? [event.item] : []));
  expect(shown).toMatchObject([
    { type: "service:datetime", status: "completed", timezone: "UTC" },
    { type: "message" },
  ]);
});

test("the spelling and the names of server tools in the request stay in the answer", async () => {
  acme.script([callReply({ name: "service_datetime__1" }), textReply("Done.")]);
  const tools = [functionTool({ name: "service_datetime" }), datetime({}, "acme:datetime")];
  const { events } = await turn({ tools });
  expect(events[1]).toMatchObject({ item: { type: "acme:datetime" } });
});

test("a client that leaves during a later model call stops the call", async () => {
  const never = new Promise<void>(() => {});
  acme.script([callReply({}), { chunks: [{ bytes: " ", after: never }] }]);
  const testScope = newScope();
  const running = turn({}, testScope);
  await acme.nextRequest();
  await acme.nextRequest();
  const closed = acme.nextClose();
  testScope.abort.abort(new Error("left"));
  await closed;
  expect((await running).fault).toBeDefined();
});
