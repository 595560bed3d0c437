/** `service/fusion` over scripted providers, one for each model: what each is sent, what a client gets, and what it costs. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { collectAnswers } from "@sluice/inference-svc/features/fusion/panel.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { AppliesTo, FilterAction, GuardrailSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  AlignmentPluginSchema,
  FusionPluginSchema,
  ProviderPreferencesSchema,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  startUpstream,
} from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, testConfig, itemsOf, newScope, openEngine, runTestTurn } from "../../asking.ts";

const names = ["a", "b", "lead"] as const;
type Name = (typeof names)[number];

let upstreams: Record<Name, Upstream>;
let engine: Engine;

const fileFor = (more: object = {}) => ({
  ...testConfig({
    providers: names.map((name) => ({
      id: name,
      dialect: "chat",
      base_url: `${upstreams[name].url}/v1`,
      api_keys: ["k"],
      ...(name === "a" && { data_policy: { retention: "none", training: false } }),
    })),
    models: names.map((name) => ({
      id: `acme/${name}`,
      endpoints: [{ provider: name, pricing: { prompt: "1", completion: "2" } }],
    })),
  }),
  fusion: { presets: { "general-high": { analysis_models: ["acme/a", "acme/b"], model: "acme/lead" } } },
  ...more,
});

beforeAll(async () => {
  const [a, b, lead] = await Promise.all(names.map(() => startUpstream()));
  upstreams = { a: a!, b: b!, lead: lead! };
  engine = openEngine(fileFor());
});
afterAll(async () => {
  await engine?.upstreams.close();
  await Promise.all(Object.values(upstreams ?? {}).map((upstream) => upstream.stop()));
});

const says = (content: string): Reply => chatAnswer({ role: "assistant", content });
const analysis = {
  consensus: ["Writes are fast."],
  contradictions: [],
  partial_coverage: [{ models: ["R1", "R9"], point: "Reads" }],
  unique_insights: [{ model: "R7", insight: "From nobody" }],
  blind_spots: [],
};
const compares = says(`\`\`\`json\n${JSON.stringify(analysis)}\n\`\`\``);

beforeEach(() => {
  upstreams.a.script([says("A says LSM.")]);
  upstreams.b.script([says("B says B-tree.")]);
  upstreams.lead.script([compares, says("Both.")]);
});

const turn = (fields: Partial<TurnRequest> & { text?: string } = {}, testScope = newScope()) =>
  runTestTurn(engine.turn, testRequest({ models: ["service/fusion"], stream: false, ...fields }), testScope);
const plugin = (fields: Parameters<typeof create<typeof FusionPluginSchema>>[1] = {}) => ({
  plugins: { fusion: create(FusionPluginSchema, fields) },
});
const tools = (list: unknown) => ({ toolsJson: Buffer.from(JSON.stringify(list)) });
const shown = (events: readonly TurnEvent[]) =>
  events.flatMap((event) => (event.type === "item.end" ? [event.item] : []));
const progress = (events: readonly TurnEvent[]) =>
  events.flatMap((event) =>
    event.type === "native" ? [[event.name.replace("response.fusion_call.", ""), JSON.parse(event.payloadJson)]] : [],
  );
const asked = () => names.map((name) => upstreams[name].requests.length);

describe("a fusion run", () => {
  test("asks the panel, the analyst and the model, all in one response with one bill", async () => {
    const before = [engine.opened.length, engine.closed.length] as const;
    const scope = newScope();
    const { events, fault } = await turn({ text: "Which engine?", instructions: "Be brief." }, scope);
    expect(fault).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(["start", "item.end", "item.end", "end"]);
    expect(shown(events)).toMatchObject([
      {
        type: "service:fusion",
        status: "completed",
        responses: [
          { model: "acme/a", content: "A says LSM." },
          { model: "acme/b", content: "B says B-tree." },
        ],
        failed_models: [],
        analysis: { consensus: ["Writes are fast."], unique_insights: [] },
        sources: [],
      },
      { type: "message", content: [{ text: "Both." }] },
    ]);
    const [{ analysis: found } = {}] = shown(events) as { analysis?: { partial_coverage: { models: string[] }[] } }[];
    expect(found?.partial_coverage[0]?.models).toEqual([expect.stringMatching(/^acme\/[ab]$/)]);
    const panelist = upstreams.a.requests.at(-1)?.json as {
      messages: { role: string; content: string }[];
      max_tokens: number;
    };
    expect(panelist.messages[0]?.content).toMatch(/independently[\s\S]*Be brief\./);
    expect(panelist.messages[1]).toEqual({ role: "user", content: "Which engine?" });
    const [analyst, writer] = upstreams.lead.requests.slice(-2).map(({ body }) => body) as [string, string];
    expect(analyst).toMatch(/R1[\s\S]*R2/);
    expect(analyst).not.toMatch(/acme\/[ab]/);
    expect(writer).toContain("A says LSM.");
    const operations = engine.opened.slice(before[0]).map(({ operation }) => operation);
    expect(operations).toEqual(["panel", "panel", "analyst", "turn"]);
    const billed = engine.closed.slice(before[1]).reduce((sum, { costUsd }) => sum + Number(costUsd), 0);
    const { usage, stages } = scope.scope.trace;
    const { cost } = usage ?? {};
    expect(Number((cost?.input ?? 0n) + (cost?.output ?? 0n)) / 1e12).toBeCloseTo(billed, 12);
    expect(usage?.inputTokens).toBe(4 * 12);
    expect(stages).toMatchObject([
      {
        type: "plugin",
        name: "fusion",
        summary: "2 of 2 answered, compared",
        data: {
          panel: [{ model: "acme/a", outcome: "answered", tool_calls: 0 }, { model: "acme/b" }],
          analyst: { model: "acme/lead", outcome: "answered" },
        },
      },
    ]);
  });

  test("streams each step when it happens, in the contract's order", async () => {
    upstreams.a.script([chatStream("A says ", "LSM.")]);
    upstreams.b.script([{ status: 429 }]);
    upstreams.lead.script([compares, chatStream("Both", ".")]);
    const { events, fault } = await turn({ stream: true });
    expect(fault).toBeUndefined();
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["start", "item.start"]);
    expect(itemsOf(events)).toMatchObject([
      { type: "service:fusion", failed_models: [{ model: "acme/b", status_code: 429 }] },
      { type: "message", content: [{ text: "Both." }] },
    ]);
    const told = progress(events);
    expect(told.slice(0, 3)).toEqual([
      ["in_progress", {}],
      ["panel.added", { model: "acme/a" }],
      ["panel.added", { model: "acme/b" }],
    ]);
    const deltas = told.filter(([name]) => name === "panel.delta").map(([, { delta }]) => delta);
    expect(deltas.join("")).toBe("A says LSM.");
    const failed = told.findIndex(([name]) => name === "panel.failed");
    expect(told[failed]?.[1]).toMatchObject({ model: "acme/b", status_code: 429 });
    const names = told.map(([name]) => name);
    expect(names.slice(-3)).toEqual(["analysis.in_progress", "analysis.completed", "completed"]);
    expect(names.filter((name) => name === "panel.completed")).toHaveLength(1);
    expect(events.filter(({ type }) => type === "end")).toHaveLength(1);
  });

  test.each([false, true])(
    "without an answer of the panel leaves the answer to the model by itself, stream: %s",
    async (stream) => {
      upstreams.a.script([{ status: 429 }]);
      upstreams.b.script([{ status: 429 }]);
      upstreams.lead.script([stream ? chatStream("Alone.") : says("Alone.")]);
      const { events, fault } = await turn({ stream });
      expect(fault).toBeUndefined();
      expect(shown(events)).toMatchObject([
        { type: "service:fusion", status: "incomplete", failure_reason: "rate_limited", failed_models: [{}, {}] },
        { type: "message", content: [{ text: "Alone." }] },
      ]);
      expect(progress(events).map(([name]) => name)).not.toContain("completed");
    },
  );

  test("calls an unreadable analyst once more, and then leaves it out", async () => {
    upstreams.lead.script([says("No idea."), says('{"consensus": "x"}'), says("Both.")]);
    const scope = newScope();
    const { events } = await turn({}, scope);
    expect(shown(events)[0]).not.toHaveProperty("analysis");
    expect(shown(events)[1]).toMatchObject({ content: [{ text: "Both." }] });
    expect(scope.scope.trace.stages).toMatchObject([{ data: { analyst: { outcome: "malformed" } } }]);
    upstreams.lead.script([says("No idea."), compares, says("Both.")]);
    expect(shown((await turn()).events)[0]).toHaveProperty("analysis");
  });

  test.each([false, true])("calls a failing model after the panel only once, stream: %s", async (stream) => {
    upstreams.a.script([stream ? chatStream("A.") : says("A.")]);
    upstreams.b.script([stream ? chatStream("B.") : says("B.")]);
    upstreams.lead.script([compares, { status: 503 }]);
    const { fault, rejected } = await turn({ stream });
    expect([fault?.status, fault?.shouldRetry, rejected]).toEqual([502, false, !stream]);
  });

  test("calls no panel again in a turn after a call of the client's function", async () => {
    upstreams.lead.script([says("Done.")]);
    const before = asked();
    const { events } = await turn({
      input: [
        { type: "message", role: "user", content: "Hi" },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: "1" },
      ],
    });
    expect(shown(events)).toMatchObject([{ type: "message" }]);
    expect(asked()).toEqual([before[0], before[1], before[2]! + 1]);
  });
});

describe("tools of a fusion panel", () => {
  test("have a separate loop and limit for each model", async () => {
    const call = { index: 0, id: "call", type: "function", function: { name: "service_datetime", arguments: "{}" } };
    upstreams.a.script([
      chatAnswer({ role: "assistant", content: null, tool_calls: [call] }, "tool_calls"),
      says("Today."),
    ]);
    const scope = newScope();
    const { events } = await turn(plugin({ ...tools([{ type: "service:datetime" }]), maxToolCalls: 1 }), scope);
    expect(shown(events)[0]).toMatchObject({ responses: [{ content: "Today." }, {}] });
    expect(upstreams.a.requests.at(-1)?.json).toMatchObject({ tool_choice: "none" });
    expect(scope.scope.trace.usage?.serverToolUse).toEqual({ toolCallsRequested: 1, toolCallsExecuted: 1 });
    expect(scope.scope.trace.stages).toMatchObject([{ data: { panel: [{ tool_calls: 1 }, { tool_calls: 0 }] } }]);
  });

  test.each([
    [[{ type: "service:fusion" }], /tools\.0\.type: service:fusion cannot be used within fusion/],
    [[{ type: "service:datetime" }, { type: "service:advisor" }], /tools\.1\.type: service:advisor cannot/],
    [[{ type: "service:magic" }], /tools\.0\.type: service:magic is no tool of the service/],
    [[{ type: "service:datetime", parameters: { timezone: "Mars" } }], /tools\.0\.parameters\.timezone/],
    [[{ type: "service:bash" }], /service:bash/],
  ])("exclude %j, which is refused by name", async (list, says) => {
    const before = asked();
    const { fault } = await turn(plugin(tools(list)));
    expect([fault?.status, fault?.message]).toEqual([400, expect.stringMatching(says)]);
    expect(asked()).toEqual(before);
  });

  test("are disabled by an empty list", async () => {
    await turn(plugin(tools([])));
    expect(upstreams.a.requests.at(-1)?.json).not.toHaveProperty("tools");
  });
});

describe("the models of a fusion panel", () => {
  test("are those of the request before the preset, and a model may appear twice", async () => {
    const { events } = await turn(plugin({ analysisModels: ["acme/b", "acme/b"], model: "acme/a" }));
    expect(shown(events)[0]).toMatchObject({ responses: [{ model: "acme/b" }, { model: "acme/b" }] });
    expect(shown(events)[1]).toMatchObject({ content: [{ text: "A says LSM." }] });
  });

  test.each([
    [plugin({ preset: "general-fast" }), /no preset general-fast.*sets fusion\.presets\.general-fast/],
    [plugin({ preset: "general-fast", analysisModels: ["acme/a"] }), /names no model;.*fusion\.presets\.general-fast/],
    [plugin({ analysisModels: ["acme/a", "acme/none"] }), /analysis_models\.1: no model is called acme\/none/],
    [plugin({ model: "service/fusion" }), /model: service\/fusion stands for models itself/],
    [{ models: ["acme/a", "service/fusion"] }, /service\/fusion can only be the first/],
  ])("may not be %j", async (fields, says) => {
    const { fault } = await turn(fields);
    expect([fault?.status, fault?.message]).toEqual([400, expect.stringMatching(says)]);
  });

  test("are refused without presets, with the configuration key", async () => {
    const bare = openEngine(fileFor({ fusion: { presets: {} } }));
    const { fault } = await runTestTurn(bare.turn, testRequest({ models: ["service/fusion"] }));
    expect([fault?.status, fault?.message]).toEqual([400, expect.stringMatching(/fusion\.presets\.general-high/)]);
    await bare.upstreams.close();
  });

  test("are not called in a dry run", async () => {
    const before = asked();
    const scope = newScope();
    await engine.planDryRun(testRequest({ models: ["service/fusion"] }), scope.scope);
    expect(scope.scope.trace.stages).toMatchObject([{ name: "fusion", data: { analyst: { outcome: "not_run" } } }]);
    expect(asked()).toEqual(before);
  });
});

describe("a fusion run under policies", () => {
  test("applies the data policy of the request to every call", async () => {
    const before = asked();
    const { events, fault } = await turn({
      provider: create(ProviderPreferencesSchema, { zdr: true }),
      ...plugin({ analysisModels: ["acme/a", "acme/b"], model: "acme/a" }),
    });
    expect(fault).toBeUndefined();
    expect(shown(events)[0]).toMatchObject({ failed_models: [{ model: "acme/b", status_code: 404 }] });
    expect(asked().slice(1)).toEqual(before.slice(1));
  });

  test("hides redacted text from the panel, and the panel's unredacted answers from the client", async () => {
    upstreams.a.script([says("It is SECRET-2.")]);
    const guardrail = create(GuardrailSchema, {
      id: "g",
      appliesTo: AppliesTo.BOTH,
      contentFilters: [{ pattern: "SECRET-\\d", label: "[CODE]", action: FilterAction.REDACT }],
    });
    const bodies = () => names.flatMap((name) => upstreams[name].requests.slice(-2).map(({ body }) => body)).join("");
    const { events, fault } = await turn({ text: "The code is SECRET-1." }, newScope({ guardrail }));
    expect(fault).toBeUndefined();
    expect(upstreams.a.requests.at(-1)?.body).toContain("The code is [CODE].");
    expect(bodies()).not.toMatch(/SECRET-\d/);
    expect(JSON.stringify(shown(events))).not.toMatch(/SECRET-\d/);
    expect(shown(events)[0]).toMatchObject({ responses: [{ content: "It is [CODE]." }, {}] });
  });

  test("does not show the panel of an answer withheld for evaluation before the verdict", async () => {
    upstreams.a.script([chatStream("A says LSM.")]);
    upstreams.b.script([chatStream("B says B-tree.")]);
    upstreams.lead.script([compares, chatStream("Both.")]);
    const alignment = create(AlignmentPluginSchema, { rules: ['Never mention "LSM".'] });
    const { events, fault } = await turn({ stream: true, plugins: { alignment } });
    expect(fault).toBeUndefined();
    expect(JSON.stringify(events, (_, value) => (typeof value === "bigint" ? String(value) : value))).not.toContain(
      "LSM",
    );
    expect(shown(events)[0]).toMatchObject({ responses: [{ model: "acme/a" }, { model: "acme/b" }] });
  });
});

describe("the end of a fusion run", () => {
  const hangs: Reply = { chunks: [{ sse: [chatChunk({ role: "assistant", content: "A" })] }], hang: true };

  test.each([
    ["the panel answers", { a: [hangs], b: [hangs] }, "a"],
    ["the analyst compares", { lead: [{ hang: true }] }, "lead"],
    ["the model writes", { lead: [compares, hangs] }, "lead"],
  ] as [string, Partial<Record<Name, Reply[]>>, Name][])(
    "while %s stops every call at once",
    async (phase, replies, at) => {
      upstreams.a.script([chatStream("A.")]);
      upstreams.b.script([chatStream("B.")]);
      for (const [name, script] of Object.entries(replies)) upstreams[name as Name].script(script);
      const scope = newScope();
      const reached =
        phase === "the model writes"
          ? upstreams.lead.nextRequest().then(() => upstreams.lead.nextRequest())
          : upstreams[at].nextRequest();
      const running = turn({ stream: true }, scope);
      await reached;
      const closed = Promise.all(names.filter((name) => replies[name]).map((name) => upstreams[name].nextClose()));
      const before = engine.closed.length;
      const startedAt = performance.now();
      scope.abort.abort(new Error("left"));
      const closedAt = await closed;
      // The promise is 100 ms; the measured time includes delays by other processes. Time limits come much later.
      expect(Math.max(...closedAt) - startedAt).toBeLessThan(10_000);
      await running.catch(() => {});
      expect(engine.closed.slice(before).every(({ status }) => status === "cancelled")).toBe(true);
    },
  );

  test("comes when half of the panel has answered and the others are late", async () => {
    upstreams.b.script([{ hang: true }]);
    const { scope } = newScope();
    const request = testRequest({ stream: false });
    const outcomes = await collectAnswers(
      { request, scope },
      {
        settings: {
          panel: ["acme/a", "acme/b"],
          model: "acme/lead",
          maxToolCalls: 4,
          maxTokens: 16_000,
          tools: [],
          leftOut: [],
          manner: {},
        },
        callModel: engine.turn,
        room: (_, wanted) => wanted,
        timeouts: { memberMs: 60_000, quorumMs: 0, graceMs: 1, analystMs: 1 },
      },
      { onDelta: () => {}, over: () => {} },
    );
    expect(outcomes).toMatchObject([
      { content: "A says LSM." },
      { model: "acme/b", status: 408, error: "It took too long" },
    ]);
  });
});
