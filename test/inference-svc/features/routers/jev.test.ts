/** service/jev-router: which models are good enough, which of them is cheapest, and the effect of requests and lists. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import {
  type JevOption,
  bestChance,
  efforts,
  rankOptions,
  rateOptions,
  findSlack,
  findCostTier,
} from "@sluice/inference-svc/features/routers/jev/choice.js";
import { estimateDifficulty } from "@sluice/inference-svc/models/routing/choose/difficulty.js";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { effort } from "@sluice/proto/contract/request/settings.js";
import { JevRouterPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import fc from "../../../support/properties.js";
import { type Upstream, chatStream, startUpstream } from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, functionTool, newScope, openEngine, runTestTurn } from "../../asking.ts";

const option = (model: string, ability: number, cost: number, effort: JevOption["effort"] = "none"): JevOption => ({
  model,
  effort,
  ability,
  cost,
});

describe("a choice by the jev router", () => {
  test.each<[string, number, number, number]>([
    ["middling at a middling task", 0, 2, 0.5],
    ["able at a middling task", 1, 2, 0.769],
    ["middling at an easy task", 0, 0, 0.917],
    ["middling at a hard task", 0, 4, 0.083],
  ])("estimates the expected chance of success for a model %s", (_, ability, difficulty, chance) => {
    expect(rateOptions([option("a", ability, 1)], difficulty, undefined)[0]?.chance).toBeCloseTo(chance, 3);
  });

  test("prefers higher effort, and a requested effort a little more", () => {
    const options = efforts.map((each) => option("a", 0, 1, each));
    const chances = rateOptions(options, 2, undefined).map(({ chance }) => chance);
    expect(chances).toEqual(chances.toSorted((a, b) => a - b));
    expect(rateOptions(options, 2, "low")[2]!.chance).toBeCloseTo(chances[2]! + 0.05, 9);
  });

  /** At difficulty 2 their chances are .917, .832, .769 and .5. */
  const field = rateOptions(
    [option("best", 2, 100), option("good", 1.333, 20), option("fair", 1, 10), option("poor", 0, 1)],
    2,
    undefined,
  );
  test.each([
    ["high", ["best", "good", "fair", "poor"]],
    ["medium", ["good", "best", "fair", "poor"]],
    [undefined, ["good", "best", "fair", "poor"]],
    ["low", ["fair", "good", "best", "poor"]],
  ] as const)("puts the models of tier %s in their order", (tier, expected) => {
    expect(rankOptions(field, findSlack(tier)).map(({ model }) => model)).toEqual(expected);
  });

  test("has first a cheapest model within the slack of the best, and less slack never costs less", () => {
    const some = fc.array(fc.tuple(fc.integer({ min: -20, max: 20 }), fc.nat(9)), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(some, fc.double({ min: 0, max: 4, noNaN: true }), (all, difficulty) => {
        const options = rateOptions(
          all.map(([ability, cost], index) => option(String(index), ability / 10, cost)),
          difficulty,
          undefined,
        );
        const firsts = [0.2, 0.12, 0.1, 0.03].map((slack) => {
          const [first] = rankOptions(options, slack);
          expect(first!.chance).toBeGreaterThanOrEqual(bestChance(options) - slack);
          for (const { chance, cost } of options) {
            if (chance >= bestChance(options) - slack) expect(first!.cost).toBeLessThanOrEqual(cost);
          }
          return first!.cost;
        });
        expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
      }),
    );
  });

  test.each([
    [0, "high"],
    [0.03, "high"],
    [0.031, "medium"],
    [0.1, "medium"],
    [0.101, "low"],
    [0.2, "low"],
    [0.201, undefined],
  ])("that is %d below the best chance has the tier %s", (below, tier) => {
    expect(findCostTier({ ...option("a", 0, 1), chance: 1 - below + 1e-12 }, 1)).toBe(tier);
  });
});

describe("the difficulty of a request for the jev router", () => {
  test.each([
    ["Hi!", 0, 0.7, "general"],
    ["Translate into German: good morning", 0, 0.9, "general"],
    ["Prove the theorem by induction, and derive the distribution without integrals.", 1.2, 4, "math"],
    ["Debug this race condition:\n```ts\nfunction f() { return g(); }\n```", 1.2, 4, "coding"],
  ] as const)("is estimated for %j", (text, least, most, task) => {
    const found = estimateDifficulty(testRequest({ text }));
    expect(found.task).toBe(task);
    expect(found.difficulty).toBeGreaterThanOrEqual(least);
    expect(found.difficulty).toBeLessThanOrEqual(most);
  });
});

describe("the jev router with the whole stack", () => {
  let acme: Upstream;
  let engine: Engine;
  const model = (id: string, price: number, general: number, more: object = {}, endpoint: object = {}) => ({
    id,
    scores: { general },
    endpoints: [{ provider: "acme", pricing: { prompt: `${price}`, completion: `${price}` }, ...endpoint }],
    ...more,
  });
  beforeEach(async () => {
    acme = await startUpstream([chatStream("Hello.")]);
    engine = openEngine(
      configSchema.parse({
        providers: [{ id: "acme", dialect: "chat", base_url: `${acme.url}/v1` }],
        models: [
          model("a/small", 1, 0.5),
          model("a/large", 10, 0.6),
          model("c/poor", 20, 0),
          model("b/thinker", 12, 0.7, {}, { supported_parameters: ["reasoning", "tools"] }),
        ],
      }),
    );
  });
  afterEach(async () => {
    await engine.upstreams.close();
    await acme.stop();
  });

  const request = (settings: object = {}, fields: Parameters<typeof testRequest>[0] = {}) =>
    testRequest({
      models: ["service/jev-router"],
      plugins: { jevRouter: create(JevRouterPluginSchema, settings) },
      ...fields,
    });
  async function chosen(asked: ReturnType<typeof request>) {
    const scope = newScope();
    const { fault, events } = await runTestTurn(engine.turn, asked, scope);
    const start = events.find(({ type }) => type === "start") as { model: string } | undefined;
    return { fault, model: start?.model, data: scope.scope.trace.stages[0]?.data, scope: scope.scope };
  }
  const hard = {
    text: "Prove the theorem, derive a distributed algorithm, and design its architecture without deadlock:\n```ts\nfunction f() {}\n```",
  };

  test("sends an easy task to the cheap model, a hard task to the best, with the reasoning effort", async () => {
    const easy = await chosen(request());
    expect([easy.model, easy.scope.trace.strategy]).toEqual(["a/small", "auto"]);
    expect(acme.requests.at(-1)?.json).not.toHaveProperty("reasoning_effort");
    const difficult = await chosen(request({ costTier: "high" }, hard));
    expect(difficult.model).toBe("b/thinker");
    expect(acme.requests.at(-1)?.json).toMatchObject({ reasoning_effort: "high" });
    expect(difficult.data).toMatchObject({
      resolved_models: ["b/thinker", expect.any(String), expect.any(String)],
      reason: expect.stringMatching(/^difficulty \d\.\d of 4, (?:coding|math): the cheapest within 0\.03 of the best$/),
      pipeline: "default",
      candidates: expect.arrayContaining([
        { model: "b/thinker", effort: "high", tier: "high", estimated_cost: expect.any(Number) },
      ]),
    });
  });

  test("falls back to the next models", async () => {
    acme.script([{ status: 500, chunks: [{ json: {} }] }]);
    await chosen(request());
    expect(new Set(acme.requests.map((each) => each.json["model"])).size).toBe(3);
  });

  test.each<[object, string | undefined, object]>([
    [{ allowedModels: ["b/*"] }, "b/thinker", {}],
    [{ models: ["a/large"], allowedModels: ["b/*"] }, "a/large", {}],
    [{ models: ["d/*"] }, "a/small", { list_fallback: "models_ignored" }],
    [{ excludedModels: ["a/small"] }, "a/large", {}],
    [{ models: ["a/small"], excludedModels: ["a/small"] }, "a/large", { list_fallback: "models_ignored" }],
  ])("chooses only from its lists of models: %j", async (settings, expected, data) => {
    const found = await chosen(request(settings));
    expect(found.model).toBe(expected);
    expect(found.data).toMatchObject(data);
    if (!("list_fallback" in data)) expect(found.data).not.toHaveProperty("list_fallback");
  });

  test("names a list that excludes the better models", async () => {
    expect((await chosen(request({ models: ["a/small"] }, hard))).data).toMatchObject({ list_tier_cap: "low" });
    expect((await chosen(request({ models: ["a/small"] }))).data).not.toHaveProperty("list_tier_cap");
  });

  test("without a candidate is 404", async () => {
    const { fault } = await chosen(request({ excludedModels: ["*"] }));
    expect([fault?.reason, fault?.metadata]).toMatchObject([
      FaultReason.NO_ENDPOINTS,
      { availability: { code: "no_endpoints" } },
    ]);
  });

  test("keeps the model of a session's task with tools until the model makes no progress", async () => {
    const tools = [functionTool({ name: "run" })];
    const session = { sessionId: "s", tools };
    expect((await chosen(request({ models: ["a/large"] }, session))).model).toBe("a/large");
    const going = await chosen(request({}, session));
    expect([going.model, going.data?.["pipeline"], going.data?.["reason"]]).toEqual([
      "a/large",
      "agentic",
      expect.stringContaining("the session's model goes on"),
    ]);
    const stuck: InputItem[] = [1, 2, 3].flatMap((n) => [
      { type: "function_call", call_id: `c${n}`, name: "run", arguments: "{}" },
      { type: "function_call_output", call_id: `c${n}`, output: "Error: no" },
    ]);
    const input = [{ type: "message", role: "user", content: hard.text }, ...stuck];
    expect(await chosen(request({}, { ...session, input }))).toMatchObject({
      model: "b/thinker",
      data: { reason: expect.stringContaining("within 0.03 of the best, as the task has got stuck") },
    });
  });

  test("treats a requested effort as a hint", async () => {
    const { data } = await chosen(request({ models: ["b/*"] }, { ...hard, reasoning: { effort: "xhigh" } }));
    const candidates = (data?.["candidates"] ?? []) as { effort: string }[];
    expect(candidates.map(({ effort }) => effort).toSorted()).toEqual(["high", "low", "medium", "xhigh"]);
  });

  const { enum: hints } = effort.schema(new Map()) as { enum: string[] };
  test.each(hints)("treats %s as a hint as well, and a hard task still goes to the best", async (hint) => {
    const { model, data } = await chosen(request({ costTier: "high" }, { ...hard, reasoning: { effort: hint } }));
    expect(model).toBe("b/thinker");
    expect(data).toMatchObject({ candidates: expect.arrayContaining([expect.objectContaining({ tier: "high" })]) });
  });

  test.each([
    [{ reasoning: { maxTokens: 100 } }, "reasoning.max_tokens"],
    [{ reasoning: { mode: "pro" } }, "reasoning.mode"],
    [{ models: ["service/jev-router", "service/auto"] }, "cannot be combined with service/auto"],
  ])("refuses the settings %j with 400", async (fields, says) => {
    const { fault } = await chosen(request({}, fields));
    expect([fault?.reason, fault?.message]).toEqual([FaultReason.INVALID_REQUEST, expect.stringContaining(says)]);
    expect(acme.requests).toEqual([]);
  });

  test("chooses in a dry run, too, without a call", async () => {
    const { plan } = await engine.planDryRun(request(), newScope().scope);
    expect([plan[0]?.endpoint.model, acme.requests]).toEqual(["a/small", []]);
  });
});
