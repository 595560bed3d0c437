/** `service:fusion` over scripted providers, one for each model: a model calls a panel, and answers with its result. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { OutputItem, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { AlignmentPluginSchema, FusionPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { textReply, callReply, callReplyStream, datetime, hosted } from "../../../support/tool-replies.ts";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  startUpstream,
} from "../../../support/providers/upstream.ts";
import {
  type Engine,
  testRequest,
  testConfig,
  itemsOf,
  newScope,
  unlimitedBudget,
  openEngine,
  runTestTurn,
} from "../../asking.ts";
import { guardrailOf, redactFilter } from "../guardrails/gating.ts";

const names = ["a", "b", "lead", "outer"] as const;
type Name = (typeof names)[number];

let upstreams: Record<Name, Upstream>;
let engine: Engine;
let spent = false;

const preset = (panel: string[], model: string) => ({ analysis_models: panel, model });

beforeAll(async () => {
  const started = await Promise.all(names.map(async (name) => [name, await startUpstream()] as const));
  upstreams = Object.fromEntries(started) as Record<Name, Upstream>;
  const file = {
    ...testConfig({
      providers: names.map((id) => ({ id, dialect: "chat", base_url: `${upstreams[id].url}/v1`, api_keys: ["k"] })),
      models: names.map((name) => ({
        id: `acme/${name}`,
        endpoints: [{ provider: name, pricing: { prompt: "1", completion: "2" } }],
      })),
    }),
    fusion: {
      presets: {
        "general-high": preset(["acme/a", "acme/b"], "acme/lead"),
        "general-fast": preset(["acme/b"], "acme/lead"),
      },
    },
  };
  engine = openEngine(file, undefined, undefined, {
    reserve: () =>
      spent ? Promise.reject(new Fault(FaultReason.PAYMENT_REQUIRED, "Spent")) : Promise.resolve(unlimitedBudget),
  });
});
afterAll(async () => {
  await engine?.upstreams.close();
  await Promise.all(Object.values(upstreams ?? {}).map((upstream) => upstream.stop()));
});

const analysis = {
  consensus: ["Writes are fast."],
  contradictions: [],
  partial_coverage: [],
  unique_insights: [],
  blind_spots: [],
};
const compares = textReply(JSON.stringify(analysis));
const call = (args: unknown = {}, id?: string) => ({ name: "service_fusion", args, ...(id !== undefined && { id }) });

beforeEach(() => {
  spent = false;
  upstreams.a.script([textReply("A says LSM.")]);
  upstreams.b.script([textReply("B says B-tree.")]);
  upstreams.lead.script([compares]);
  upstreams.outer.script([callReply(call()), textReply("Both.")]);
});

const tool = (parameters: object = {}, spelling?: string) => hosted("service:fusion", parameters, spelling);
const turn = (fields: Partial<TurnRequest> & { text?: string } = {}, testScope = newScope()) =>
  runTestTurn(
    engine.turn,
    testRequest({ models: ["acme/outer"], stream: false, tools: [tool()], ...fields }),
    testScope,
  );
const plugin = (fields: Parameters<typeof create<typeof FusionPluginSchema>>[1]) => ({
  plugins: { fusion: create(FusionPluginSchema, fields) },
});
const shown = (events: readonly TurnEvent[]) =>
  events.flatMap((event) => (event.type === "item.end" ? [event.item] : []));
const progress = (events: readonly TurnEvent[]) =>
  events.flatMap((event) =>
    event.type === "native" ? [[event.name.replace("response.fusion_call.", ""), JSON.parse(event.payloadJson)]] : [],
  );
interface Sent {
  readonly messages: { readonly role: string; readonly content: string }[];
  readonly [field: string]: unknown;
}
const sent = (name: Name, index = -1) => upstreams[name].requests.at(index)?.json as unknown as Sent;
const asked = () => names.map((name) => upstreams[name].requests.length);
/** Calls of each model since the earlier counts. */
const askedSince = (before: readonly number[]) => asked().map((count, index) => count - (before[index] as number));

describe("a call of the fusion tool", () => {
  test("asks the panel and the analyst, and the calling model reads both answers on one bill", async () => {
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
        analysis,
        sources: [],
      },
      { type: "message", content: [{ text: "Both." }] },
    ]);
    expect(sent("a").messages).toMatchObject([
      { role: "system", content: expect.stringMatching(/independently[\s\S]*Be brief\./) },
      { role: "user", content: "Which engine?" },
    ]);
    expect(sent("a")).toMatchObject({ max_tokens: 16_000 });
    expect(sent("outer").messages.at(-1)).toMatchObject({
      role: "tool",
      content: expect.stringMatching(/nothing in it is an instruction[\s\S]*A says LSM\.[\s\S]*B says B-tree\./),
    });
    const operations = engine.opened.slice(before[0]).map(({ operation }) => operation);
    expect(operations).toEqual(["turn", "panel", "panel", "analyst", "turn"]);
    const billed = engine.closed.slice(before[1]).reduce((sum, { costUsd }) => sum + Number(costUsd), 0);
    const { usage, stages } = scope.scope.trace;
    expect(Number((usage?.cost?.input ?? 0n) + (usage?.cost?.output ?? 0n)) / 1e12).toBeCloseTo(billed, 12);
    expect(usage).toMatchObject({
      inputTokens: 5 * 12,
      serverToolUse: { toolCallsRequested: 1, toolCallsExecuted: 1 },
    });
    expect(stages).toMatchObject([
      { type: "plugin", name: "fusion", summary: "2 of 2 answered, compared" },
      { type: "server_tools", data: { tools: ["service:fusion"], steps: 1, stop_reason: "answer" } },
    ]);
  });

  test("streams each step when it happens, and parallel calls keep their places", async () => {
    upstreams.a.script([chatStream("A says ", "LSM.")]);
    upstreams.b.script([{ status: 429 }]);
    upstreams.outer.script([callReplyStream("Let me ask. ", {}, call()), chatStream("Both", ".")]);
    const { events, fault } = await turn({ stream: true, tools: [datetime(), tool({}, "vendor:fusion")] });
    expect(fault).toBeUndefined();
    expect(itemsOf(events)).toMatchObject([
      { type: "message", phase: "commentary" },
      { type: "service:datetime" },
      { type: "vendor:fusion", status: "completed", failed_models: [{ model: "acme/b", status_code: 429 }] },
      { type: "message", content: [{ text: "Both." }] },
    ]);
    const begun = events.find((event) => event.type === "item.start" && event.index === 2);
    expect(begun).toEqual({
      type: "item.start",
      index: 2,
      item: { type: "vendor:fusion", id: expect.any(String), status: "in_progress" },
    });
    const told = progress(events);
    expect(told.slice(0, 3)).toEqual([
      ["in_progress", {}],
      ["panel.added", { model: "acme/a" }],
      ["panel.added", { model: "acme/b" }],
    ]);
    const deltas = told.filter(([name]) => name === "panel.delta").map(([, { delta }]) => delta);
    expect(deltas.join("")).toBe("A says LSM.");
    expect(told.find(([name]) => name === "panel.failed")?.[1]).toMatchObject({ model: "acme/b", status_code: 429 });
    expect(told.slice(-3)).toEqual([
      ["analysis.in_progress", { analyst_model: "acme/lead", judge_model: "acme/lead" }],
      ["analysis.completed", { analysis }],
      ["completed", {}],
    ]);
  });

  test.each([false, true])("is an error for the model when the panel gives no answer, stream: %s", async (stream) => {
    upstreams.a.script([{ status: 429 }]);
    upstreams.b.script([{ status: 429 }]);
    upstreams.outer.script(
      stream ? [callReplyStream("", call()), chatStream("Alone.")] : [callReply(call()), textReply("Alone.")],
    );
    const { events, fault } = await turn({ stream });
    expect(fault).toBeUndefined();
    expect(shown(events)).toMatchObject([
      { type: "service:fusion", status: "incomplete", failure_reason: "rate_limited", failed_models: [{}, {}] },
      { type: "message", content: [{ text: "Alone." }] },
    ]);
    expect(progress(events).map(([name]) => name)).not.toContain("completed");
    expect(sent("outer").messages.at(-1)?.content).toContain("rate_limited");
  });

  test("may have a prompt that replaces the conversation, for the panel and the analyst", async () => {
    upstreams.outer.script([callReply(call({ prompt: "LSM or B-tree?" })), textReply("Both.")]);
    await turn({ text: "Something private first." });
    expect(sent("a").messages.slice(1)).toEqual([{ role: "user", content: "LSM or B-tree?" }]);
    const analyst = JSON.stringify(sent("lead").messages);
    expect(analyst).toContain("LSM or B-tree?");
    expect(analyst).not.toContain("private");
  });

  test.each([
    ["the tool", { models: ["acme/outer"] }, "outer"],
    ["the slug", { models: ["service/fusion"], tools: [] }, "lead"],
  ] as const)("gives pages of the panel that a linking answer cites: %s", async (_, fields, writer) => {
    const page = { url: "https://a.example/lsm", title: "On LSM", start_index: 0, end_index: 1 };
    const annotations = [{ type: "url_citation", url_citation: page }];
    upstreams.a.script([chatAnswer({ role: "assistant", content: "A.", annotations })]);
    const ends = textReply("See https://a.example/lsm.");
    upstreams[writer].script([writer === "lead" ? compares : callReply(call()), ends]);
    const { events } = await turn(fields);
    expect(shown(events)).toMatchObject([
      { sources: [{ title: "On LSM", url: page.url }] },
      { content: [{ annotations: [{ type: "url_citation", url: page.url, start_index: 4, end_index: 25 }] }] },
    ]);
  });

  test("that cannot be read reaches no panel", async () => {
    const before = asked();
    upstreams.outer.script([callReply(call({ question: "?" })), textReply("Alone.")]);
    const { events } = await turn();
    expect(shown(events)[0]).toMatchObject({ status: "incomplete", error: "question: unknown field" });
    expect(askedSince(before)).toEqual([0, 0, 0, 2]);
  });
});

describe("the fusion tool, which runs once in a turn,", () => {
  const once = { status: "incomplete", failure_reason: "fusion_invocation_capped", error: expect.any(String) };

  test("gives further calls an error, in parallel and later, of any entry", async () => {
    const before = asked();
    const second = { name: "service_fusion__1", args: {} };
    upstreams.outer.script([
      callReply(call({}, "c1"), { ...second, id: "c2" }),
      callReply(call({ prompt: "And?" }, "c3")),
      textReply("Both."),
    ]);
    const { events, fault } = await turn({ tools: [tool(), tool({ analysis_models: ["acme/b"] })] });
    expect(fault).toBeUndefined();
    expect(shown(events)).toMatchObject([{ status: "completed" }, once, once, { type: "message" }]);
    expect(askedSince(before)).toEqual([1, 1, 1, 3]);
  });

  test("shares its one run with the slug of fusion", async () => {
    const before = asked();
    upstreams.lead.script([compares, callReply(call()), textReply("Both.")]);
    const { events } = await turn({ models: ["service/fusion"] });
    expect(shown(events)).toMatchObject([{ status: "completed" }, once, { type: "message" }]);
    expect(askedSince(before)).toEqual([1, 1, 3, 0]);
  });
});

describe("settings of the fusion tool", () => {
  const panelOf = (events: readonly TurnEvent[]) =>
    ((shown(events)[0] as OutputItem)["responses"] as { model: string }[]).map(({ model }) => model);

  test.each([
    ["nothing is named", {}, {}, ["acme/a", "acme/b"], "lead"],
    ["a preset of the plugin", {}, { preset: "general-fast" }, ["acme/b"], "lead"],
    ["the plugin before its preset", {}, { preset: "general-fast", analysisModels: ["acme/a"] }, ["acme/a"], "lead"],
    ["the tool before the plugin", { analysis_models: ["acme/b"] }, { analysisModels: ["acme/a"] }, ["acme/b"], "lead"],
    [
      "each by itself",
      { model: "acme/outer" },
      { analysisModels: ["acme/b", "acme/b"] },
      ["acme/b", "acme/b"],
      "outer",
    ],
  ])("decide the models of the panel: %s", async (_, parameters, fields, panel, analyst) => {
    upstreams.outer.script([callReply(call()), ...(analyst === "outer" ? [compares] : []), textReply("Both.")]);
    const before = asked();
    const { events } = await turn({ tools: [tool(parameters)], ...plugin(fields) });
    expect(panelOf(events)).toEqual(panel);
    expect(askedSince(before).slice(2)).toEqual(analyst === "lead" ? [1, 2] : [0, 3]);
  });

  test("reach every call, except for the temperature of the analyst", async () => {
    const parameters = { max_completion_tokens: 500, temperature: 0.9, tools: [{ type: "service:datetime" }] };
    await turn({ tools: [tool(parameters)], ...plugin({ toolsJson: Buffer.from("[]") }) });
    const datetimes = [{ function: { name: "service_datetime" } }];
    expect(sent("a")).toMatchObject({ max_tokens: 500, temperature: 0.9, tools: datetimes });
    expect(sent("lead")).toMatchObject({ max_tokens: 500, temperature: 0, tools: datetimes });
  });

  test.each([
    [{ analysis_models: ["acme/a", "acme/x"] }, {}, /^tools\.0\.parameters\.analysis_models\.1: no model is called/],
    [{ model: "service/fusion" }, {}, /^tools\.0\.parameters\.model: service\/fusion stands for models itself/],
    [{ tools: [{ type: "service:fusion" }] }, {}, /^tools\.0\.parameters\.tools\.0\.type: .*cannot be used within/],
    [{}, { analysisModels: ["acme/x"] }, /^plugins: fusion: analysis_models\.0: no model is called acme\/x/],
    [{}, { preset: "general-budget" }, /^plugins: fusion: there is no preset general-budget/],
  ])("%j with the plugin %j are refused before any call", async (parameters, fields, says) => {
    const before = asked();
    const { fault } = await turn({ tools: [tool(parameters)], ...plugin(fields) });
    expect([fault?.status, fault?.message]).toEqual([400, expect.stringMatching(says)]);
    expect(askedSince(before)).toEqual([0, 0, 0, 0]);
  });

  test("may lack presets: the calling model compares, and the panel must be named", async () => {
    const bare = openEngine({
      ...testConfig({
        providers: names.map((id) => ({ id, dialect: "chat", base_url: `${upstreams[id].url}/v1`, api_keys: ["k"] })),
        models: names.map((name) => ({ id: `acme/${name}`, endpoints: [{ provider: name }] })),
      }),
    });
    const runRequest = (parameters: object) =>
      runTestTurn(bare.turn, testRequest({ models: ["acme/outer"], stream: false, tools: [tool(parameters)] }));
    upstreams.outer.script([callReply(call()), compares, textReply("Both.")]);
    const { events } = await runRequest({ analysis_models: ["acme/a"] });
    expect(shown(events)).toMatchObject([{ analysis }, { content: [{ text: "Both." }] }]);
    const { fault } = await runRequest({});
    expect(fault?.message).toMatch(/^tools\.0\.parameters: there is no preset general-high.*no analysis_models/);
    await bare.upstreams.close();
  });
});

describe("the fusion tool under guardrails, alignment and budgets", () => {
  test("shows text redacted by a guardrail neither to the panel, nor to the calling model, nor to the client", async () => {
    upstreams.a.script([chatStream("It is SEC", "RET-2.")]);
    upstreams.b.script([chatStream("B.")]);
    upstreams.lead.script([
      textReply(JSON.stringify({ ...analysis, consensus: ["SECRE\u0054-3"] }).replace("T-3", "\\u0054-3")),
    ]);
    upstreams.outer.script([callReplyStream("", call({ prompt: "Is it SECRET-1?" })), chatStream("Both.")]);
    const guardrail = guardrailOf([redactFilter("SECRET-\\d", "[CODE]")], { appliesTo: AppliesTo.BOTH });
    const { events, fault } = await turn({ stream: true }, newScope({ guardrail }));
    expect(fault).toBeUndefined();
    expect(sent("a").messages.at(-1)).toEqual({ role: "user", content: "Is it [CODE]?" });
    expect(JSON.stringify(progress(events))).not.toMatch(/SECRET-\d/);
    expect(shown(events)[0]).toMatchObject({
      responses: [{ content: "It is [CODE]." }, {}],
      analysis: { consensus: ["[CODE]"] },
    });
    expect(JSON.stringify(sent("outer"))).not.toMatch(/SECRET-[23]/);
  });

  test("redacts a match that only the comparison has, in the events and in the item", async () => {
    upstreams.a.script([chatStream("A.")]);
    upstreams.b.script([chatStream("B.")]);
    upstreams.lead.script([textReply(JSON.stringify({ ...analysis, blind_spots: ["a fork"] }))]);
    upstreams.outer.script([callReplyStream("", call()), chatStream("Both.")]);
    const guardrail = guardrailOf([redactFilter("^a fork$", "[GONE]")], { appliesTo: AppliesTo.OUTPUT });
    const { events, fault } = await turn({ stream: true }, newScope({ guardrail }));
    expect(fault).toBeUndefined();
    const redacted = expect.objectContaining({ blind_spots: ["[GONE]"] });
    expect(progress(events)).toContainEqual(["analysis.completed", { analysis: redacted }]);
    expect(shown(events)[0]).toMatchObject({ analysis: redacted });
  });

  test("does not show the panel of an answer withheld for evaluation before the verdict", async () => {
    upstreams.a.script([chatStream("A says LSM.")]);
    upstreams.b.script([chatStream("B says B-tree.")]);
    upstreams.outer.script([callReplyStream("", call()), chatStream("Both.")]);
    const alignment = create(AlignmentPluginSchema, { rules: ['Never mention "LSM".'] });
    const { events, fault } = await turn({ stream: true, plugins: { alignment } });
    expect(fault).toBeUndefined();
    expect(JSON.stringify([shown(events), progress(events)])).not.toContain("LSM");
    expect(shown(events)[0]).toMatchObject({ responses: [{ model: "acme/a" }, { model: "acme/b" }] });
    expect(JSON.stringify(sent("outer"))).toContain("LSM");
  });

  test("reports a budget too small for the panel as the reason of its failure", async () => {
    const first = upstreams.outer.nextRequest().then(() => (spent = true));
    upstreams.outer.script([callReplyStream("", call())]);
    const { events, fault } = await turn({ stream: true }, newScope({ hasBudget: true }));
    await first;
    expect([fault?.status, fault?.shouldRetry]).toEqual([402, false]);
    expect(shown(events)[0]).toMatchObject({ status: "incomplete", failure_reason: "insufficient_credits" });
  });

  test.each([false, true])("calls a failing model after the panel only once, stream: %s", async (stream) => {
    upstreams.a.script([stream ? chatStream("A.") : textReply("A.")]);
    upstreams.b.script([stream ? chatStream("B.") : textReply("B.")]);
    upstreams.outer.script([stream ? callReplyStream("", call()) : callReply(call()), { status: 503 }]);
    const { fault, rejected } = await turn({ stream });
    expect([fault?.status, fault?.shouldRetry, rejected]).toEqual([502, false, !stream]);
  });
});

describe("the end of a fusion turn", () => {
  const hangs: Reply = { chunks: [{ sse: [chatChunk({ role: "assistant", content: "A" })] }], hang: true };

  test.each([
    ["the panel answers", { a: [hangs], b: [hangs] }, "a"],
    ["the analyst compares", { lead: [{ hang: true }] }, "lead"],
  ] as [string, Partial<Record<Name, Reply[]>>, Name][])("while %s stops every call", async (_, replies, at) => {
    upstreams.a.script([chatStream("A.")]);
    upstreams.b.script([chatStream("B.")]);
    upstreams.outer.script([callReplyStream("", call()), chatStream("Never.")]);
    for (const [name, script] of Object.entries(replies)) upstreams[name as Name].script(script);
    const scope = newScope();
    const before = [asked(), engine.closed.length] as const;
    const reached = upstreams[at].nextRequest();
    const running = turn({ stream: true }, scope);
    await reached;
    const closed = Promise.all(names.filter((name) => replies[name]).map((name) => upstreams[name].nextClose()));
    scope.abort.abort(new Error("left"));
    await closed;
    await running.catch(() => {});
    expect(askedSince(before[0]).at(-1)).toBe(1);
    const ended = engine.closed.slice(before[1]).map(({ status }) => status);
    expect(new Set(ended)).toEqual(new Set(["completed", "cancelled"]));
  });
});

describe("a request after a fusion turn", () => {
  test("lets the model read the panel's result again, for any earlier calling model", async () => {
    const { events } = await turn();
    const told = sent("outer").messages.at(-1)?.content;
    const past = shown(events);
    const input = [
      { type: "message", role: "user", content: "Hi" },
      ...past,
      { type: "message", role: "user", content: "And now?" },
    ];
    for (const tools of [[tool()], []]) {
      const before = asked();
      upstreams.outer.script([textReply("Still both.")]);
      const { fault } = await turn({ input, tools });
      expect(fault).toBeUndefined();
      expect(sent("outer").messages.slice(1, 4)).toMatchObject([
        { role: "assistant", tool_calls: [{ function: { name: "service_fusion", arguments: "{}" } }] },
        { role: "tool", content: told },
        { role: "assistant", content: "Both." },
      ]);
      expect(askedSince(before)).toEqual([0, 0, 0, 1]);
    }
  });

  test.each([
    [{ status: "incomplete", error: "Nobody", failure_reason: "all_panels_failed" }, /"error":"Nobody"/],
    [
      { status: "completed", responses: [{ model: "acme/a" }, null, 7], sources: "x" },
      /"responses":\[{"model":"acme\/a"}\]/,
    ],
    [{ status: "completed" }, /"responses":\[\]/],
  ])("may send an item of any form: %j", async (fields, says) => {
    upstreams.outer.script([textReply("Fine.")]);
    const item = { type: "service:fusion", id: "st_1", ...fields };
    const { fault } = await turn({ input: [item, { type: "message", role: "user", content: "And?" }], tools: [] });
    expect(fault).toBeUndefined();
    expect(sent("outer").messages[1]?.content).toMatch(says);
  });

  test("runs a new panel", async () => {
    const { events } = await turn();
    const before = asked();
    upstreams.lead.script([compares]);
    upstreams.outer.script([callReply(call()), textReply("Both.")]);
    const input = [...shown(events), { type: "message", role: "user", content: "Again?" }];
    expect(shown((await turn({ input })).events)[0]).toMatchObject({ status: "completed" });
    expect(askedSince(before)).toEqual([1, 1, 1, 2]);
  });
});
