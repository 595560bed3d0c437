/** service/auto and service/jev-router call a model for an unsure guess: the model's input, and the choice without it. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { parseReading } from "@sluice/inference-svc/features/routers/auto/tasks/classifier.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { AutoRouterPluginSchema, ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { FaultReason, Fault } from "@sluice/proto/lib/faults/fault.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { noPackages } from "@sluice/inference-svc/models/upstream/ai-sdk/load.js";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatStream,
  startUpstream,
} from "../../../support/providers/upstream.ts";
import {
  type TestScope,
  type Engine,
  testRequest,
  newScope,
  unlimitedBudget,
  openEngine,
  runTestTurn,
} from "../../asking.ts";
import { guardrailOf, redactFilter } from "../guardrails/gating.ts";

let acme: Upstream;
let reader: Upstream;
let engine: Engine;

const patience = { timeout_ms: 60_000, total_ms: 120_000 };
const models = [
  { id: "a/small", price: "1", scores: { general: 0.6, coding: 0.95 } },
  { id: "a/mid", price: "5", scores: { general: 0.75, coding: 0.5 } },
  { id: "a/large", price: "9", scores: { general: 0.9, coding: 0.5 }, supported_parameters: ["reasoning"] },
];

const fileOf = (roles: object) =>
  configSchema.parse({
    providers: [
      { id: "acme", dialect: "chat", base_url: `${acme.url}/v1`, data_policy: { retention: "none" } },
      { id: "reader", dialect: "chat", base_url: `${reader.url}/v1` },
    ],
    models: [
      ...models.map(({ id, price, scores, supported_parameters }) => ({
        id,
        scores,
        endpoints: [{ provider: "acme", pricing: { prompt: price, completion: price }, supported_parameters }],
      })),
      { id: "a/reader", scores: {}, endpoints: [{ provider: "reader", pricing: { prompt: "20", completion: "20" } }] },
    ],
    internal_models: roles,
  });

const role = (more: object = {}) => ({ model: "a/reader", ...patience, ...more });
const both = (more: object = {}) => ({ router_classifier: role(more), jev_decider: role(more) });

async function open(roles: object = both()): Promise<void> {
  await engine?.upstreams.close();
  engine = openEngine(fileOf(roles));
}
beforeEach(async () => {
  acme = await startUpstream([chatStream("Hello.")]);
  reader = await startUpstream();
  engine = openEngine(fileOf(both()));
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([acme.stop(), reader.stop()]);
});

const reads = (task: string, difficulty: number): Reply =>
  chatAnswer({ content: JSON.stringify({ task, difficulty }) }, "stop", {
    usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
  });

/** The local model is unsure of its task, and the estimate finds no cue in it. */
const unsure = "Warum faellt der Server jede Nacht aus?";
const sure = "Fix the race condition in our Go worker pool";

const auto = (text = unsure, more: Partial<TurnRequest> = {}) =>
  testRequest({ models: ["service/auto"], text, ...more });
const jev = (text = unsure, more: Partial<TurnRequest> = {}) =>
  testRequest({ models: ["service/jev-router"], text, ...more });

async function served(request: TurnRequest, asker: TestScope = newScope()) {
  const { fault, events } = await runTestTurn(engine.turn, request, asker);
  expect(fault).toBeUndefined();
  const start = events.find(({ type }) => type === "start") as { model: string };
  const stage = asker.scope.trace.stages.find(({ name }) => name.endsWith("-router"));
  return { model: start.model, data: stage?.data, stage, trace: asker.scope.trace };
}

test.each<[string, string, number, string]>([
  ["service/auto", "code", 1, "a/small"],
  ["service/auto", "other", 4, "a/large"],
  ["service/jev-router", "code", 1, "a/small"],
  ["service/jev-router", "other", 2, "a/large"],
])(
  "the router %s with a classifier sends a request of kind %s and difficulty %d to %s instead of a/mid",
  async (slug, task, difficulty, expected) => {
    reader.script([reads(task, difficulty)]);
    const word = slug === "service/auto" ? "classifier" : "decider";
    const { model, data, stage, trace } = await served(testRequest({ models: [slug], text: unsure }));
    expect([model, data]).toMatchObject([
      expected,
      { [word]: "model", [`${word}_model`]: "a/reader", [`${word}_ms`]: expect.any(Number) },
    ]);
    expect(stage?.cost_usd).toBe(0.00024);
    expect(trace.candidates[0]?.model).toBe(expected);
    expect(trace.stages.filter(({ name }) => name.endsWith("-router"))).toHaveLength(1);
    expect(engine.opened[0]).toMatchObject({ operation: "classifier", payer: "operator", model: "a/reader" });
    await open({});
    const alone = await served(testRequest({ models: [slug], text: unsure }));
    expect([alone.model, alone.data?.[word]]).toEqual(["a/mid", "local"]);
  },
);

test("a router chooses the reasoning effort again with the model, and keeps the client's other settings", async () => {
  reader.script([reads("other", 2)]);
  await served(jev(unsure, { reasoning: { summary: "auto" } }));
  expect(JSON.parse(acme.requests[0]?.body ?? "")).toMatchObject({ model: "a/large", reasoning_effort: "low" });
});

test("a router's classifier gets the question between markers and whether there are tools, in one call", async () => {
  reader.script([reads("other", 4)]);
  const together = await Promise.all([served(auto()), served(auto()), served(auto())]);
  await served(auto());
  expect(together.map(({ model }) => model)).toEqual(["a/large", "a/large", "a/large"]);
  expect(reader.requests).toHaveLength(1);
  const { messages } = JSON.parse(reader.requests[0]?.body ?? "") as { messages: { content: string }[] };
  expect(messages.at(-1)?.content).toMatch(
    new RegExp(`^The last request of the user:\\nThe text stands between the two lines[^]*<<DATA \\w+\\n.{0,3}Warum`),
  );
});

test("a router's classifier reads the text left by guardrails", async () => {
  reader.script([reads("other", 4)]);
  const asker = newScope({ guardrail: guardrailOf([redactFilter("Server", "<m>")], { appliesTo: AppliesTo.INPUT }) });
  const { model } = await served(auto(), asker);
  expect(model).toBe("a/large");
  expect(reader.requests[0]?.body).toContain("<m>");
  expect(reader.requests[0]?.body).not.toContain("Server jede");
});

test.each<[string, TurnRequest]>([
  ["a sure guess", auto(sure)],
  ["an estimate with cues", jev("Please debug this")],
])("a request with %s is routed without a call of the classifier", async (_, request) => {
  const { data } = await served(request);
  expect([reader.requests, data?.["classifier_ms"] ?? data?.["decider_ms"]]).toEqual([[], undefined]);
});

/** Texts for which the router's own guess of the task has a confidence below 0.45. */
const doubtful = [
  unsure,
  "Compare both and pick one",
  "Kannst du das noch einmal anders machen?",
  "Make the second half better",
  "My boiler makes a strange noise",
];

describe("service/auto with an unsure guess", () => {
  test.each(doubtful)("calls the classifier about %j", async (text) => {
    reader.script([reads("other", 4)]);
    const { data } = await served(auto(text));
    expect(data?.["confidence"]).toBeLessThan(0.45);
    expect([reader.requests.length, data?.["classifier"], data?.["classifier_skipped"]]).toEqual([
      1,
      "model",
      undefined,
    ]);
  });

  const plugin = (settings: object) => ({ autoRouter: create(AutoRouterPluginSchema, settings) });
  const answered = { type: "message", role: "assistant", content: "Well.", model: "a/mid" };
  const user = { type: "message", role: "user", content: unsure };

  test.each<[string, TurnRequest]>([
    ["sure", auto(sure)],
    ["one_model", auto(unsure, { plugins: plugin({ allowedModels: ["a/mid"] }) })],
    ["one_model", auto(unsure, { plugins: plugin({ costTier: "low" }) })],
    ["pin", auto(unsure, { input: [user, answered, user], plugins: plugin({ pinModel: true }) })],
  ])("reports the missing call in the receipt: %s", async (skipped, request) => {
    const { data } = await served(request);
    expect([reader.requests.length, data?.["classifier_skipped"]]).toEqual([0, skipped]);
  });

  test("calls no classifier in a session that already has a model", async () => {
    reader.script([reads("other", 4)]);
    const request = auto(unsure, { sessionId: "s" });
    await served(request);
    expect((await served(request)).data?.["classifier_skipped"]).toBe("session");
  });

  test("calls no model without a configured classifier", async () => {
    await open({});
    expect((await served(auto())).data?.["classifier_skipped"]).toBe("not_configured");
  });
});

describe.each(["service/auto", "service/jev-router"])("%s uses its own guess without the classifier", (slug) => {
  const word = slug === "service/auto" ? "classifier" : "decider";

  test.each<[string, Reply]>([
    ["error", { status: 500, chunks: [{ json: {} }] }],
    ["malformed_answer", chatAnswer({ content: "Maybe code?" })],
    ["malformed_answer", chatAnswer({ content: '{"task":"cooking","difficulty":1}' })],
    ["malformed_answer", chatAnswer({ content: '{"task":"code","difficulty":9}' })],
    ["time_limit", { hang: true }],
  ])("after %s", async (failure, reply) => {
    if (reply.hang === true) await open(both({ total_ms: 300 }));
    reader.script([reply]);
    const { model, data } = await served(testRequest({ models: [slug], text: unsure }));
    expect([model, data]).toMatchObject(["a/mid", { [word]: "local", [`${word}_failure`]: failure }]);
  });

  test("if the classifier's model is down", async () => {
    await reader.stop();
    const { model, data } = await served(testRequest({ models: [slug], text: unsure }));
    expect([model, data?.[`${word}_failure`]]).toEqual(["a/mid", "error"]);
    reader = await startUpstream();
  });

  test("if the data policy excludes the classifier's model", async () => {
    const provider = create(ProviderPreferencesSchema, { zdr: true });
    const { model, data } = await served(testRequest({ models: [slug], text: unsure, provider }));
    expect([model, data?.[`${word}_failure`], reader.requests]).toEqual(["a/mid", "data_policy", []]);
  });

  test("in a dry run, without a call", async () => {
    const asker = newScope();
    const { plan } = await engine.planDryRun(testRequest({ models: [slug], text: unsure }), asker.scope);
    expect([plan[0]?.endpoint.model, asker.scope.trace.stages[0]?.data?.[word], reader.requests]).toEqual([
      "a/mid",
      "not_run",
      [],
    ]);
  });
});

test("a session keeps the model chosen by a classifier, without another call", async () => {
  reader.script([reads("other", 4)]);
  const first = await served(auto(unsure, { sessionId: "s" }));
  const second = await served(auto("Und warum der andere in Halle zwei?", { sessionId: "s" }));
  expect([first.model, second.model]).toEqual(["a/large", "a/large"]);
  expect(reader.requests).toHaveLength(1);
});

test("a pinned model stays with a classifier, and models named next to the slug keep their places", async () => {
  reader.script([reads("other", 4)]);
  const pinned = auto(unsure, {
    plugins: { autoRouter: create(AutoRouterPluginSchema, { pinModel: true }) },
    input: [
      { type: "message", role: "user", content: "Hi" },
      { type: "message", role: "assistant", content: "Hello", model: "a/small" },
      { type: "message", role: "user", content: unsure },
    ],
  });
  expect((await served(pinned)).model).toBe("a/small");
  expect(reader.requests).toEqual([]);
  const { trace } = await served(auto(unsure, { models: ["service/auto:floor", "a/mid"] }));
  expect(trace.candidates.map(({ model }) => model)).toEqual(["a/large", "a/mid", "a/small"]);
});

test("the key pays for classifier calls beyond the operator's, and a budget without room ends the request", async () => {
  await open(both({ max_calls_per_request: 0 }));
  reader.script([reads("other", 4)]);
  const { trace } = await served(auto());
  expect(engine.opened[0]).toMatchObject({ operation: "classifier", payer: "key" });
  expect(trace.usage?.inputTokens).toBeGreaterThanOrEqual(10);
  await engine.upstreams.close();
  const full = new Fault(FaultReason.PAYMENT_REQUIRED, "full");
  const reserve = () => (engine.opened.length === 0 ? Promise.reject(full) : Promise.resolve(unlimitedBudget));
  engine = openEngine(fileOf(both({ max_calls_per_request: 0 })), new EndpointRecords(), noPackages, { reserve });
  const { fault } = await runTestTurn(engine.turn, auto(), newScope({ hasBudget: true }));
  expect(fault?.reason).toBe(FaultReason.PAYMENT_REQUIRED);
});

test.each<[string, object | undefined]>([
  ['{"task":"math","difficulty":2.5}', { task: "math", difficulty: 2.5 }],
  ['Sure: ```json\n{"task":"chat","difficulty":0}\n```', { task: "chat", difficulty: 0 }],
  ['{"task":"math"}', undefined],
  ['{"task":"toString","difficulty":1}', undefined],
  ['{"task":"math","difficulty":"2"}', undefined],
  ["", undefined],
])("the classifier's answer %j is read as %j", (text, reading) => {
  expect(parseReading(text)).toEqual(reading);
});
