/** The choice of the pareto-router by scores and prices. */
import { describe, expect, test } from "@jest/globals";
import { type ParetoOptions, chooseByScore } from "@sluice/inference-svc/features/routers/pareto/choice.js";
import {
  type CodingModel,
  findFrontier,
  percentileOf,
  findScoreTier,
} from "@sluice/inference-svc/features/routers/pareto/field.js";
import { paretoRouter } from "@sluice/inference-svc/features/routers/pareto/router.js";
import { create } from "@bufbuild/protobuf";
import { ParetoRouterPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import fc from "../../../support/properties.js";
import { testRequest, newScope } from "../../asking.ts";
import { openDecider } from "./deciding.ts";

const coder = (model: string, score: number, price?: number, throughput?: number): CodingModel => ({
  model,
  score,
  price,
  throughput,
});
const cheapest: ParetoOptions = { fastest: false };
const order = (coders: readonly CodingModel[], wish: Partial<ParetoOptions> = {}, field = coders): string[] =>
  chooseByScore(
    coders,
    field.map(({ score }) => score),
    { ...cheapest, ...wish },
  ).coders.map(({ model }) => model);

/** Percentiles 0, 0.1 … 1: models a and b are high, c and d medium, e and f low. */
const eleven = "abcdefghijk".split("").map((model, index) => coder(model, 1 - index / 100, 10 - index));

describe("tiers of the Pareto router", () => {
  test.each([
    [1, "high"],
    [0.85, "high"],
    [0.849, "medium"],
    [0.7, "medium"],
    [0.699, "low"],
    [0.5, "low"],
    [0.499, undefined],
    [0, undefined],
  ])("are, for the percentile %d, %s", (percentile, tier) => {
    expect(findScoreTier(percentile)).toBe(tier);
  });

  test.each([
    [5, [5], 1],
    [1, [1, 2], 0],
    [2, [1, 2], 1],
    [2, [1, 2, 3], 0.5],
    [2, [1, 2, 2, 3], 0.5],
    [7, [7, 7], 0.5],
  ])("use percentiles: the place of %d among %j is %d", (score, scores, expected) => {
    expect(percentileOf(score, scores)).toBe(expected);
  });

  test.each([
    [undefined, ["b", "a"]],
    [1, ["b", "a"]],
    [0.66, ["b", "a"]],
    [0.659, ["d", "c"]],
    [0.33, ["d", "c"]],
    [0.329, ["f", "e"]],
    [0, ["f", "e"]],
  ])("are chosen by min_coding_score %s", (minCodingScore, expected) => {
    expect(order(eleven, minCodingScore === undefined ? {} : { minCodingScore })).toEqual(expected);
  });

  test.each([
    ["high", 1, "cdefk", ["d", "c"]],
    ["high and medium", 1, "efk", ["f", "e"]],
    ["medium", 0.5, "abefk", ["b", "a"]],
    ["low", 0, "abcdk", ["d", "c"]],
    ["all three", 0.5, "ghijk", []],
  ])("use a neighbour when %s has no candidate", (_, minCodingScore, able, expected) => {
    const left = eleven.filter(({ model }) => able.includes(model));
    expect(order(left, { minCodingScore }, eleven)).toEqual(expected);
  });

  test("have the cheapest model first, of two at one price the better, and unpriced models last", () => {
    const field = [coder("dear", 3, 9), coder("free", 3, 0), coder("good", 5, 2), coder("poor", 3, 2), coder("?", 3)];
    const low = Array.from({ length: 40 }, (_, n) => coder(`low${n}`, 0, 1));
    expect(order(field, {}, [...field, ...low])).toEqual(["free", "good", "poor", "dear", "?"]);
  });

  test("have with nitro unmeasured models first, then the fastest", () => {
    const field = [coder("slow", 3, 1, 20), coder("new", 3, 9), coder("fast", 3, 9, 80)];
    const low = Array.from({ length: 40 }, (_, n) => coder(`low${n}`, 0, 1));
    expect(order(field, { fastest: true }, [...field, ...low])).toEqual(["new", "fast", "slow"]);
  });
});

describe("a choice of the Pareto router for a price", () => {
  const field = [
    coder("best", 9, 10),
    coder("worse and dearer", 5, 4),
    coder("good", 7, 3),
    coder("equal and dearer", 7, 5),
    coder("cheap", 2, 1),
    coder("?", 8),
  ];

  test.each([
    [100, ["best", "good", "cheap", "equal and dearer", "worse and dearer"]],
    [4, ["good", "cheap", "worse and dearer"]],
    [1, ["cheap"]],
    [0.99, []],
  ])("of %d USD has the best on the frontier first, then the models it beats", (maxPrice, expected) => {
    expect(order(field, { maxPrice })).toEqual(expected);
  });

  test("has a first model that no affordable model beats", () => {
    const price = fc.option(fc.nat(20), { nil: undefined });
    const some = fc.array(fc.tuple(fc.nat(10), price), { minLength: 1, maxLength: 12 });
    const coders = some.map((all) => all.map(([score, each], index) => coder(String(index), score, each)));
    fc.assert(
      fc.property(coders, fc.nat(20), (all, maxPrice) => {
        const [first] = chooseByScore(all, [1], { ...cheapest, maxPrice }).coders;
        const affordable = all.filter((each) => (each.price ?? Number.POSITIVE_INFINITY) <= maxPrice);
        expect(first === undefined).toBe(affordable.length === 0);
        if (first) expect(findFrontier(affordable)).toContain(first);
      }),
    );
  });
});

describe("price_source: weighted_avg of the Pareto router", () => {
  const decider = openDecider(
    [
      ["a/terse", "1", "20"],
      ["a/wordy", "3", "4"],
    ].map(([id, prompt, completion]) => ({
      id,
      scores: { coding: 0.9 },
      endpoints: [{ provider: "a", upstream_model: id, pricing: { prompt, completion } }],
    })),
  );
  let asked = 0;
  /** Each request has a separate conversation, because a session keeps its model. */
  const choose = async (priceSource: string) => {
    const { scope } = newScope();
    const plugins = { paretoRouter: create(ParetoRouterPluginSchema, { priceSource, minCodingScore: 0.1 }) };
    const [first] = await paretoRouter.choose(decider.router)(
      testRequest({ plugins, text: `${++asked}` }),
      scope,
      undefined,
    );
    return [first, scope.trace.stages[0]?.data];
  };

  test("uses the price of the prompt until a hundred answers are measured, then the price by their mix", async () => {
    const { tokenMix } = decider.records;
    for (let n = 0; n < 99; n++) tokenMix.add(100, 300, decider.clock.now);
    expect(await choose("weighted_avg")).toMatchObject(["a/terse", { price_source: "prompt" }]);
    tokenMix.add(100, 300, decider.clock.now);
    expect(await choose("weighted_avg")).toMatchObject([
      "a/wordy",
      { price_source: "weighted_avg", prompt_share: 0.25 },
    ]);
    expect(await choose("prompt")).toMatchObject(["a/terse", { price_source: "prompt" }]);
    // Two days later the earlier answers count a quarter, so new answers decide.
    decider.clock.now += 2 * 86_400_000;
    expect(await choose("weighted_avg")).toMatchObject(["a/terse", { price_source: "prompt" }]);
    for (let n = 0; n < 100; n++) tokenMix.add(9_900, 100, decider.clock.now);
    expect(await choose("weighted_avg")).toMatchObject(["a/terse", { price_source: "weighted_avg" }]);
  });
});
