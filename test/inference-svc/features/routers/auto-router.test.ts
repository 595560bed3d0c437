/** The choice of an auto router by prices and scores. */
import { describe, expect, test } from "@jest/globals";
import { CostRanks, maxCostRank, costTiers, findBandTier } from "@sluice/inference-svc/features/routers/auto/bands.js";
import {
  type RankedModel,
  type AutoOptions,
  chooseByTask,
} from "@sluice/inference-svc/features/routers/auto/choice.js";
import fc from "../../../support/properties.js";

const model = (name: string, cost: number, score?: number): RankedModel => ({ model: name, cost, score });
/** Models a, b, c … at prices 1, 2, 3 …; dearer models have better scores. */
const fieldOf = (count: number) =>
  Array.from({ length: count }, (_, index) => model(String.fromCharCode(97 + index), index + 1, index));
const order = (field: readonly RankedModel[], wish: AutoOptions = {}, able = field): string =>
  chooseByTask(able, field, wish).models.join("");

describe("cost bands of the auto router", () => {
  /** Models of each cost band by the number of models, the cheapest band first. */
  const golden: Readonly<Record<number, string>> = {
    1: "a,,,,",
    2: "a,,,,b",
    3: "a,,b,,c",
    4: "a,b,,c,d",
    5: "a,b,c,d,e",
    6: "a,b,c,d,ef",
    7: "ab,c,d,e,fg",
    8: "ab,c,de,f,gh",
    9: "ab,cd,e,fg,hi",
    10: "ab,cd,ef,gh,ij",
    11: "ab,cd,ef,gh,ijk",
    12: "abc,de,fg,hi,jkl",
  };

  test.each(Object.entries(golden))("divide %s models by cost", (count, bands) => {
    const field = fieldOf(Number(count));
    const places = new CostRanks(field.map(({ cost }) => cost));
    const found = costTiers.map((tier) =>
      field.filter(({ cost }) => findBandTier(places.of(cost, true)) === tier).map((each) => each.model),
    );
    expect(found.map((names) => names.join("")).join(",")).toBe(bands);
  });

  test.each([
    [0, "low"],
    [0.199, "low"],
    [0.2, "medium"],
    [0.399, "medium"],
    [0.4, "high"],
    [0.599, "high"],
    [0.6, "xhigh"],
    [0.799, "xhigh"],
    [0.8, "max"],
    [1, "max"],
  ])("put a model at the share %d of the order by cost into the tier %s", (place, tier) => {
    expect(findBandTier(place)).toBe(tier);
  });

  test("give models of equal cost the same rank, whether they are candidates or not", () => {
    const places = new CostRanks([1, 2, 2, 3, Number.POSITIVE_INFINITY]);
    expect([1, 2, 3, Number.POSITIVE_INFINITY].map((cost) => places.of(cost, true))).toEqual([0, 0.375, 0.75, 1]);
    expect([0, 1, 2.5, Number.POSITIVE_INFINITY].map((cost) => places.of(cost, false))).toEqual([0, 0.1, 0.6, 0.9]);
    expect(new CostRanks([]).of(5, false)).toBe(0);
  });

  test("have ceilings from the cheapest tenth to nine of ten", () => {
    expect([10, 9, 5, 0].map(maxCostRank)).toEqual([0.1, 0.18, 0.5, 0.9]);
  });
});

describe("a choice by the auto router", () => {
  const eleven = fieldOf(11);

  test.each<[AutoOptions, string]>([
    [{}, "ba"],
    [{ costQualityTradeoff: 9 }, "ba"],
    [{ costQualityTradeoff: 10 }, "ba"],
    [{ costQualityTradeoff: 5 }, "fedcba"],
    [{ costQualityTradeoff: 0 }, "jihgfedcba"],
    [{ tier: "low" }, "ba"],
    [{ tier: "medium" }, "dc"],
    [{ tier: "max" }, "kji"],
    [{ tier: "high", costQualityTradeoff: 10 }, "fe"],
    [{ tier: "low", difficulty: 4 }, "ba"],
    [{ costQualityTradeoff: 9, difficulty: 4 }, "ba"],
  ])("for %j has the best model within the price first", (wish, expected) => {
    expect(order(eleven, wish)).toBe(expected);
  });

  test.each([
    [0, "e"],
    [0.5, "h"],
    [1, "j"],
    [4, "k"],
  ])(
    "for a difficulty of %d has the cheapest good enough model first, then the dearer, then the weaker models",
    (difficulty, first) => {
      const models = order(eleven, { difficulty });
      const at = "abcdefghijk".indexOf(first);
      expect(models).toBe("abcdefghijk".slice(at) + "kjihgfedcba".slice(11 - at));
    },
  );

  test("ignores difficulty without scores, and prefers the cheapest", () => {
    const field = [model("a", 1), model("b", 2), model("c", 3)];
    expect(order(field, { difficulty: 4 })).toBe("a");
  });

  test("has better models first, then cheaper, then by name, and models without a score last", () => {
    const field = [model("z", 1, 5), model("y", 2, 5), model("x", 2, 5), model("w", 0), model("v", 3, 6)];
    const dear = Array.from({ length: 40 }, (_, index) => model(`dear${index}`, 100, 9));
    expect(order([...field, ...dear], { tier: "low" })).toBe("vzxyw");
  });

  test.each<[AutoOptions, string, string | undefined, string]>([
    [{ tier: "low" }, "cdefghijk", "medium", "dc"],
    [{ tier: "high" }, "abcdghijk", "medium", "dc"],
    [{ tier: "high" }, "abghijk", "xhigh", "hg"],
    [{ tier: "medium" }, "ab", "low", "ba"],
    [{ tier: "max" }, "a", "low", "a"],
    [{}, "cdk", undefined, "c"],
    [{ costQualityTradeoff: 0 }, "k", undefined, "k"],
  ])(
    "for %j when only %s can serve is the nearest, and of two equally near the cheaper",
    (wish, able, tier, expected) => {
      const choice = chooseByTask(
        eleven.filter((each) => able.includes(each.model)),
        eleven,
        wish,
      );
      expect([choice.models.join(""), choice.tier, choice.isNearest]).toEqual([expected, tier, true]);
    },
  );

  test("puts a model outside the field at the place of its cost", () => {
    const stranger = model("stranger", 5.5, 99);
    expect(chooseByTask([...eleven, stranger], eleven, { tier: "high" }).models).toEqual(["stranger", "f", "e"]);
  });

  test("without prices treats all models as equally dear, and prefers the best", () => {
    const field = fieldOf(4).map((each) => ({ ...each, cost: Number.POSITIVE_INFINITY }));
    expect([order(field), order(field, { tier: "low" })]).toEqual(["dcba", "dcba"]);
  });

  test("without candidates is empty", () => {
    expect(chooseByTask([], eleven, {})).toEqual({ models: [], isNearest: false });
    expect(chooseByTask([], eleven, { tier: "low" })).toEqual({ models: [], isNearest: false });
  });

  const cost = fc.oneof(fc.nat(12), fc.constant(Number.POSITIVE_INFINITY));
  const some = fc
    .array(fc.tuple(cost, fc.option(fc.nat(5), { nil: undefined }), fc.boolean(), fc.boolean()), { minLength: 1 })
    .map((all) =>
      all.map(([each, score, isAble, isKnown], index) => ({ each: model(`m${index}`, each, score), isAble, isKnown })),
    );

  test.each<[string, readonly AutoOptions[]]>([
    ["a higher tier", costTiers.map((tier) => ({ tier }))],
    ["a harder request", [0, 0.3, 0.6, 0.9, 1.2, 4].map((difficulty) => ({ difficulty }))],
    ["less of a tradeoff", [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((costQualityTradeoff) => ({ costQualityTradeoff }))],
  ])("with %s never has a cheaper model", (_, wishes) => {
    fc.assert(
      fc.property(some, (all) => {
        const able = all.filter(({ isAble }) => isAble).map(({ each }) => each);
        const known = all.filter(({ isKnown }) => isKnown).map(({ each }) => each);
        const costs = wishes.map((wish) => {
          const [first] = chooseByTask(able, known, wish).models;
          expect(first === undefined).toBe(able.length === 0);
          return able.find((each) => each.model === first)?.cost ?? 0;
        });
        for (let index = 1; index < costs.length; index++) {
          expect(costs[index]).toBeGreaterThanOrEqual(costs[index - 1] as number);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("is the same for any order of the models", () => {
    fc.assert(
      fc.property(some, fc.constantFrom(...costTiers), (all, tier) => {
        const able = all.filter(({ isAble }) => isAble).map(({ each }) => each);
        const known = all.map(({ each }) => each);
        expect(chooseByTask(able.toReversed(), known.toReversed(), { tier })).toEqual(
          chooseByTask(able, known, { tier }),
        );
      }),
    );
  });
});
