/** Scores of models that follow the spending of keys on the models they name. */
import { describe, expect, test } from "@jest/globals";
import { chooseByTask } from "@sluice/inference-svc/features/routers/auto/choice.js";
import { learnScores } from "@sluice/inference-svc/features/routers/auto/learned-scores.js";
import { learnedTasks } from "@sluice/inference-svc/features/routers/auto/tasks/learned.js";
import { testRequest, newScope } from "../../asking.ts";

const scored = [
  { model: "a", score: 0.8 },
  { model: "b", score: 0.7 },
  { model: "c", score: 0.4 },
  { model: "unscored", score: undefined },
];
const learn = (spending: Readonly<Record<string, number>>) => learnScores(scored, new Map(Object.entries(spending)));
const asRecord = (spending: Readonly<Record<string, number>>) => Object.fromEntries(learn(spending) ?? []);

describe("scores learned from spending", () => {
  test("stay unchanged without spending on a scored model", () => {
    expect([learn({}), learn({ a: 0 }), learn({ unscored: 1_000 })]).toEqual([undefined, undefined, undefined]);
  });

  test("are exchanged between models in the order of spending and score, so that distances stay", () => {
    expect(asRecord({ c: 1_000 })).toEqual({ c: 0.8, a: 0.7, b: 0.4 });
    expect(asRecord({ c: 1_000, b: 2_000 })).toEqual({ b: 0.8, c: 0.7, a: 0.4 });
  });

  test("rise by 0.1 for every 5 dollars, and less spending does not move a model past a better one", () => {
    expect(asRecord({ b: 4.9 })).toEqual({ a: 0.8, b: 0.7, c: 0.4 });
    expect(asRecord({ b: 5.1 })).toEqual({ b: 0.8, a: 0.7, c: 0.4 });
  });

  test("leave easy requests with the cheap models", () => {
    const learned = learn({ a: 100_000 });
    const field = ["a", "b", "c"].map((model, index) => ({ model, cost: 3 - index, score: learned?.get(model) }));
    expect(chooseByTask(field, field, { difficulty: 0.1 }).models[0]).toBe("b");
    expect(chooseByTask(field, field, { difficulty: 2 }).models[0]).toBe("a");
  });
});

describe("the task of a request", () => {
  const request = testRequest({ text: "Translate into French: the cat sleeps on the warm stove all day long." });

  test("is a word, guessed once for a turn", () => {
    const { scope } = newScope();
    expect(learnedTasks(1)?.(request, scope)).toBe("translate");
    expect(learnedTasks(1)?.(testRequest({ text: "Fix the bug in this function" }), scope)).toBe("translate");
  });

  test.each(["auto", "pareto", "fusion"] as const)("is not recorded for a model chosen by %s", (strategy) => {
    const { scope } = newScope();
    scope.trace.strategy = strategy;
    expect(learnedTasks(1)?.(request, scope)).toBeUndefined();
  });

  test("is recorded neither for helper calls nor beyond the configured share", () => {
    const { scope } = newScope();
    expect(learnedTasks(1)?.(request, scope.with({ operation: "judge" }))).toBeUndefined();
    expect(learnedTasks(0)?.(request, scope)).toBeUndefined();
    const ending = (digits: string) => scope.with({ turnId: `01990000-0000-7000-8000-0000${digits}` });
    expect(learnedTasks(0.5)?.(request, ending("7fffffff"))).toBe("translate");
    expect(learnedTasks(0.5)?.(request, ending("80000000"))).toBeUndefined();
  });
});
