/**
 * The plugin `moderation` over the whole stack: which texts are moderated, which model moderates, refusals, and
 * failures of the moderation model.
 */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { elideMiddle } from "@sluice/inference-svc/features/moderation/feature.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { ModerationPluginSchema, ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { findInvalidReferences } from "@sluice/proto/config/references.js";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatStream,
  startUpstream,
} from "../../../support/providers/upstream.ts";
import { type TestScope, type Engine, testRequest, newScope, openEngine, runTestTurn } from "../../asking.ts";

let acme: Upstream;
let guard: Upstream;
let engines: Engine[];

beforeEach(async () => {
  acme = await startUpstream([chatStream("Hello.")]);
  guard = await startUpstream([looks()]);
  engines = [];
});
afterEach(async () => {
  await Promise.all(engines.map(({ upstreams }) => upstreams.close()));
  await Promise.all([acme.stop(), guard.stop()]);
});

/** An answer of POST /moderations. */
const looks = (
  scores: Readonly<Record<string, number>> = { violence: 0.01, hate: 0.02 },
  named: string[] = [],
): Reply => ({
  chunks: [
    {
      json: {
        id: "modr-1",
        model: "omni-moderation-latest",
        results: [
          {
            flagged: named.length > 0,
            categories: Object.fromEntries(Object.keys(scores).map((name) => [name, named.includes(name)])),
            category_scores: scores,
          },
        ],
      },
    },
  ],
});
const violent = looks({ violence: 0.98, hate: 0.02 }, ["violence"]);

const service = { provider: "guard", retries: 0 };
function open(role: object | undefined): Engine {
  const file = configSchema.parse({
    providers: [
      { id: "acme", name: "Acme", dialect: "chat", base_url: `${acme.url}/v1`, data_policy: { retention: "none" } },
      { id: "chat", dialect: "chat", base_url: `${guard.url}/v1` },
      { id: "guard", dialect: "responses", base_url: `${guard.url}/v1`, api_keys: ["first", "second"] },
    ],
    models: [
      { id: "acme/large", input_modalities: ["text", "image"], endpoints: [{ provider: "acme" }] },
      { id: "guard/chat", endpoints: [{ provider: "chat", pricing: { prompt: "1", completion: "1" } }] },
    ],
    internal_models: role && { moderation: role },
  });
  const engine = openEngine(file);
  engines.push(engine);
  return engine;
}

const request = (fields: Parameters<typeof testRequest>[0] = {}): TurnRequest =>
  testRequest({ models: ["acme/large"], plugins: { moderation: create(ModerationPluginSchema) }, ...fields });
const user = (content: unknown) => ({ type: "message", role: "user", content });
const assistant = { type: "message", role: "assistant", content: "Go on." };
const stagesOf = ({ scope }: TestScope) => scope.trace.stages;
const askedOf = (upstream: Upstream) => upstream.requests.map(({ json }) => json["input"]);

describe("moderation by a service", () => {
  test("scans the user's latest text before any other call, and is in the ledger", async () => {
    const engine = open(service);
    const testScope = newScope();
    const { fault, events } = await runTestTurn(engine.turn, request({ text: "How are you?" }), testScope);
    expect([fault, events.at(-1)?.type]).toEqual([undefined, "end"]);
    expect(guard.requests).toMatchObject([
      { method: "POST", path: "/v1/moderations", headers: { authorization: "Bearer first" } },
    ]);
    expect(guard.requests[0]?.json).toEqual({ model: "omni-moderation-latest", input: "How are you?" });
    expect(stagesOf(testScope)).toEqual([]);
    expect(engine.opened).toMatchObject([
      {
        operation: "moderation",
        payer: "operator",
        provider: "guard",
        model: "guard/omni-moderation-latest",
        attempt: 1,
      },
      { provider: "acme", model: "acme/large" },
    ]);
    expect(engine.closed).toMatchObject([{ status: "completed", httpStatus: 200 }, { status: "completed" }]);
  });

  test("refuses a flagged text, with the category and the requester", async () => {
    guard.script([violent]);
    const testScope = newScope();
    const { fault, rejected } = await runTestTurn(open(service).turn, request({ text: "Hurt them" }), testScope);
    expect([rejected, fault?.reason, fault?.message, fault?.metadata]).toEqual([
      true,
      FaultReason.GUARDRAIL_BLOCKED,
      "Request blocked by moderation: violence",
      { reasons: ["violence"], flagged_input: "Hurt them", provider_name: "Acme", model_slug: "acme/large" },
    ]);
    expect(stagesOf(testScope)).toEqual([
      {
        type: "guardrail",
        name: "moderation",
        summary: "Blocked: violence",
        cost_usd: 0,
        data: {
          action: "blocked",
          detected: true,
          engines: ["moderation:guard/omni-moderation-latest"],
          patterns: ["violence"],
        },
      },
    ]);
    expect(acme.requests).toEqual([]);
  });

  test.each<[string, object, Reply, string[] | undefined]>([
    ["flags nothing", {}, looks({ hate: 0.9 }), undefined],
    ["reaches a threshold of the operator's", { thresholds: { hate: 0.5 } }, looks({ hate: 0.5 }), ["hate"]],
    ["stays below it", { thresholds: { hate: 0.5 } }, looks({ hate: 0.499 }), undefined],
    ["flags and names no category", {}, flaggedOnly(), ["flagged"]],
    ["flags two", {}, looks({ hate: 0.9, violence: 0.9 }, ["hate", "violence"]), ["hate", "violence"]],
  ])("refuses with the categories beyond their thresholds when the service %s", async (_, role, reply, reasons) => {
    guard.script([reply]);
    const { fault } = await runTestTurn(open({ ...service, ...role }).turn, request());
    expect((fault?.metadata as { reasons?: unknown } | undefined)?.reasons).toEqual(reasons);
  });

  test("reads the user's text since the last answer, also after the assistant's words", async () => {
    const engine = open({ ...service, images: false });
    const parts = [
      { type: "input_text", text: "Two" },
      { type: "input_image", image_url: "https://a.example/x" },
      { type: "input_text", text: "three" },
    ];
    const testScope = newScope();
    await runTestTurn(engine.turn, request({ input: [user("Zero"), assistant, user("One"), user(parts)] }), testScope);
    expect(stagesOf(testScope)).toMatchObject([
      {
        name: "moderation",
        summary: "Not moderated: 1 input_image",
        data: { action: "not_run", detected: false, unread: { input_image: 1 } },
      },
    ]);
    await runTestTurn(engine.turn, request({ input: [user("Zero"), user("Last"), assistant] }));
    expect(askedOf(guard)).toEqual(["One", "Two\nthree", "Last"]);
  });

  const picture = "data:image/png;base64,iVBORw0KGgo=";
  const showing = request({
    input: [
      user([
        { type: "input_text", text: "Look" },
        { type: "input_image", image_url: picture },
      ]),
    ],
  });

  test("scans images, too, if the service can", async () => {
    const engine = open(service);
    const testScope = newScope();
    const { fault } = await runTestTurn(engine.turn, showing, testScope);
    expect([fault, stagesOf(testScope)]).toEqual([undefined, []]);
    expect(askedOf(guard)).toEqual(
      expect.arrayContaining(["Look", [{ type: "image_url", image_url: { url: picture } }]]),
    );
    expect(engine.opened.map(({ operation }) => operation)).toEqual(["moderation", "moderation", "turn"]);
    await runTestTurn(engine.turn, showing);
    expect(guard.requests).toHaveLength(2);
  });

  test("refuses a flagged image without showing its bytes", async () => {
    guard.script([violent]);
    const input = [user([{ type: "input_image", image_url: picture }])];
    const { fault } = await runTestTurn(open(service).turn, request({ input }));
    expect([fault?.reason, fault?.metadata]).toMatchObject([
      FaultReason.GUARDRAIL_BLOCKED,
      { reasons: ["violence"], flagged_input: "[image]" },
    ]);
    expect(acme.requests).toEqual([]);
  });

  test.each<[string, Reply]>([
    ["finds an image too large", { status: 413, chunks: [{ json: {} }] }],
    ["cannot read an image", { status: 400, chunks: [{ json: { error: { message: "no" } } }] }],
    ["never ends", { hang: true }],
  ])("passes no request when the service %s, and is called once", async (_, reply) => {
    guard.script([reply]);
    const long = `data:image/png;base64,${"A".repeat(4_000)}`;
    const input = [user([{ type: "input_image", image_url: long }])];
    const { fault } = await runTestTurn(open({ ...service, timeout_ms: 200, total_ms: 200 }).turn, request({ input }));
    expect([fault?.reason, guard.requests.length]).toEqual([FaultReason.UNAVAILABLE, 1]);
  });

  test.each([
    ["reads texts only", "text-moderation-latest", {}],
    ["is said to read texts only", "omni-moderation-latest", { images: false }],
  ])("leaves images unread when the model %s, with a note in the receipt", async (_, upstream_model, settings) => {
    const testScope = newScope();
    await runTestTurn(open({ ...service, upstream_model, ...settings }).turn, showing, testScope);
    expect(askedOf(guard)).toEqual(["Look"]);
    expect(stagesOf(testScope)).toMatchObject([{ data: { action: "not_run", unread: { input_image: 1 } } }]);
  });

  test("is called once for the same text, and in pieces for a long text", async () => {
    const engine = open(service);
    for (let count = 0; count < 3; count++) await runTestTurn(engine.turn, request({ text: "Again" }));
    expect(guard.requests).toHaveLength(1);
    const long = `${"word ".repeat(1_600)}over`;
    await runTestTurn(engine.turn, request({ text: long }));
    const [, first, second] = askedOf(guard).map(String);
    expect([first?.length, second]).toEqual([8_000, `${"word ".repeat(40)}over`]);
  });
});

function flaggedOnly(): Reply {
  return { chunks: [{ json: { results: [{ flagged: true, categories: {}, category_scores: {} }] } }] };
}

describe("a moderation without an answer", () => {
  const failures: readonly (readonly [string, Reply])[] = [
    ["an error", { status: 500, chunks: [{ json: { error: { message: "no" } } }] }],
    ["a limit", { status: 429, chunks: [{ json: { error: { message: "no" } } }] }],
    ["no JSON", { chunks: [{ bytes: "fine" }] }],
    ["no result", { chunks: [{ json: { results: [] } }] }],
    [
      "a result of another form",
      { chunks: [{ json: { results: [{ flagged: "no", categories: {}, category_scores: {} }] } }] },
    ],
    [
      "a score that is none",
      { chunks: [{ json: { results: [{ flagged: false, categories: {}, category_scores: { a: 7 } }] } }] },
    ],
    ["a cut", { cut: true }],
    ["nothing in time", { hang: true }],
  ];

  test.each(failures)("refuses the request with the reason: %s", async (_, reply) => {
    guard.script([reply]);
    const testScope = newScope();
    const engine = open({ ...service, timeout_ms: 200 });
    const { fault, rejected } = await runTestTurn(engine.turn, request(), testScope);
    expect([rejected, fault?.reason, fault?.message]).toEqual([
      true,
      FaultReason.UNAVAILABLE,
      "The request cannot be moderated",
    ]);
    expect(stagesOf(testScope)).toMatchObject([
      { name: "moderation", data: { action: "error", detected: false, fail_mode: "closed" } },
    ]);
    expect(acme.requests).toEqual([]);
    expect(engine.closed).toMatchObject([{ status: "failed", httpStatus: 502 }]);
  });

  test("passes the request if the operator allows it, with a note", async () => {
    guard.script([{ status: 500, chunks: [{ json: {} }] }]);
    const testScope = newScope();
    const { fault } = await runTestTurn(open({ ...service, fail: "open" }).turn, request(), testScope);
    expect(fault).toBeUndefined();
    expect(stagesOf(testScope)).toMatchObject([{ data: { action: "error", fail_mode: "open" } }]);
  });

  test("does not weaken a flag from another part", async () => {
    const says = (probability: number) =>
      chatAnswer({
        content: JSON.stringify({ evidence: "", verdict: probability >= 0.5 ? "broken" : "followed", probability }),
      });
    guard.script([says(0.9), { status: 500, chunks: [{ json: {} }] }]);
    const role = { ...byModel, max_concurrency: 1, categories: { a: "Never a.", b: "Never b." } };
    const { fault } = await runTestTurn(open(role).turn, request());
    expect(fault?.reason).toBe(FaultReason.GUARDRAIL_BLOCKED);
  });
});

const byModel = { model: "guard/chat", retries: 0 };

describe("moderation by a model", () => {
  const says = (probability: number): Reply =>
    chatAnswer(
      { content: JSON.stringify({ evidence: "", verdict: probability >= 0.5 ? "broken" : "followed", probability }) },
      "stop",
      { usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 } },
    );

  test("sends a question for each category to the model, at the operator's expense", async () => {
    guard.script([says(0.1), says(0.5)]);
    const testScope = newScope();
    const engine = open({
      ...byModel,
      max_concurrency: 1,
      categories: { theft: "Never steals.", fraud: "Never cheats." },
    });
    const { fault } = await runTestTurn(engine.turn, request({ text: "Sell me a lie" }), testScope);
    expect(fault?.metadata).toMatchObject({ reasons: ["fraud"], flagged_input: "Sell me a lie" });
    expect(stagesOf(testScope)).toMatchObject([
      { cost_usd: 0.000024, data: { action: "blocked", engines: ["moderation:guard/chat"], patterns: ["fraud"] } },
    ]);
    expect(engine.opened.map(({ operation }) => operation)).toEqual(["moderation", "moderation"]);
    const [first] = guard.requests.map(({ body }) => body);
    expect(first).toContain("Never steals.");
    expect(first).toContain("Sell me a lie");
  });
});

describe("unavailable moderation is an error:", () => {
  test.each<[string, object | undefined, object, string]>([
    ["without the role", undefined, {}, "internal_models.moderation"],
    ["where nothing may be kept", service, { zdr: true }, "data_policy:zdr"],
    ["where only others may be asked", service, { only: ["acme"] }, "allowed_providers"],
    ["where nothing may be kept, of a model", byModel, { zdr: true }, "data_policy:zdr"],
  ])("%s", async (_, role, preferences, says) => {
    const provider = create(ProviderPreferencesSchema, preferences);
    const { fault } = await runTestTurn(open(role).turn, request({ provider }));
    expect([fault?.reason, fault?.message]).toEqual([FaultReason.INVALID_REQUEST, expect.stringContaining(says)]);
    expect([acme.requests, guard.requests]).toEqual([[], []]);
  });
});

test("a request without moderation is not scanned", async () => {
  const { plugins: _, ...plain } = request();
  expect((await runTestTurn(open(service).turn, plain)).fault).toBeUndefined();
  expect(guard.requests).toEqual([]);
});

test("a dry run calls no moderation, and notes it", async () => {
  const testScope = newScope();
  const { plan } = await open(service).planDryRun(request(), testScope.scope);
  expect(plan).toHaveLength(1);
  expect(stagesOf(testScope)).toMatchObject([{ name: "moderation", data: { action: "not_run", detected: false } }]);
  expect(guard.requests).toEqual([]);
});

test.each([
  [100, 100, "x".repeat(100)],
  [101, 100, `${"x".repeat(50)}\u2026${"x".repeat(49)}`],
  [5_000, 100, `${"x".repeat(50)}\u2026${"x".repeat(49)}`],
])("of a flagged text of %d characters, %d are shown", (length, shown, expected) => {
  expect([elideMiddle("x".repeat(length)), codePointLength(elideMiddle("\u{1f600}".repeat(length)))]).toEqual([
    expected,
    shown,
  ]);
});

test.each<[object, string]>([
  [{}, "give either model or provider"],
  [{ model: "a/b", provider: "guard" }, "give either model or provider"],
  [{ provider: "guard", categories: {} }, "at least one category"],
])("the settings %j of the moderation role are refused", (role, says) => {
  const result = configSchema.safeParse({ internal_models: { moderation: role } });
  expect(JSON.stringify(result.error?.issues)).toContain(says);
});

test("the moderation role names a configured model", () => {
  const file = (role: object) => configSchema.parse({ internal_models: { moderation: role } });
  expect(findInvalidReferences(file({ provider: "nobody" }))).toEqual([
    "internal_models.moderation.provider: no provider with a base_url is called nobody",
  ]);
  expect(findInvalidReferences(file({ model: "a/b" }))).toEqual([
    "internal_models.moderation.model: no model is called a/b",
  ]);
});
