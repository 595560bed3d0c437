/** Routers over requests with known outcomes: what they gain, that difficulty matters, and how long a decision takes. */
import { describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { estimateDifficulty } from "@sluice/inference-svc/models/routing/choose/difficulty.js";
import { page, pagePath } from "./plot.ts";
import { simulatedRequests } from "./prompts.ts";
import { chooseAuto, outcomes, simulate, simulatePairs } from "./simulate.ts";
import { findMinCpuMs, measureCpuMs } from "../../support/clock.ts";
import { testRequest } from "../../inference-svc/asking.ts";

const { all, code, switchyard, weak } = simulate();

test.each([...all, ...code, ...switchyard, ...weak].map((point) => [point.name, point] as const))(
  "the router %s solves at least as many tasks as a random choice of the same cost",
  (_, { solved, line }) => {
    expect(solved).toBeGreaterThanOrEqual(line - 1e-9);
  },
);

test("service/switchyard solves fewer tasks than a random choice of the same cost for few pairs of models", () => {
  const gains = simulatePairs().map(({ solved, line }) => solved - line);
  expect(gains.filter((gain) => gain < -1e-9).length / gains.length).toBeLessThan(0.1);
  expect(Math.min(...gains)).toBeGreaterThan(-4);
});

test("the figures of routers in the documentation are current (npm run routers)", () => {
  expect(readFileSync(pagePath, "utf8")).toBe(page());
});

describe("a router without settings", () => {
  const hard: ReadonlySet<string> = new Set(["Humanity's Last Exam", "Terminal-Bench Hard", "CritPt"]);
  const solved = (model: string): number => (outcomes.models[model] ?? []).reduce((sum, share) => sum + share, 0);

  test("gives hard requests other and better models than easy requests", () => {
    const chosen = simulatedRequests.map((request) => ({
      isHard: hard.has(request.benchmark),
      model: chooseAuto(request.text),
    }));
    const [easy, harder] = [false, true].map((isHard) => chosen.filter((each) => each.isHard === isHard));
    const easyModels = new Set(easy?.map(({ model }) => model));
    expect(harder?.filter(({ model }) => easyModels.has(model))).toEqual([]);
    expect(Math.min(...(harder ?? []).map(({ model }) => solved(model)))).toBeGreaterThan(
      Math.max(...[...easyModels].map(solved)),
    );
  });

  test("estimates every hard request above every easy request", () => {
    const of = (isHard: boolean) =>
      simulatedRequests
        .filter(({ benchmark }) => hard.has(benchmark) === isHard)
        .map(({ text }) =>
          estimateDifficulty(testRequest({ input: [{ type: "message", role: "user", content: text }] })),
        );
    const easiest = Math.min(...of(true).map(({ difficulty }) => difficulty));
    expect(Math.max(...of(false).map(({ difficulty }) => difficulty))).toBeLessThan(easiest);
  });

  test.each([
    ["a line", "What is the capital of France?"],
    ["sixteen thousand characters", "Explain this log and find the root cause. ".repeat(400)],
  ])("over %s decides in at most two milliseconds", async (_, text) => {
    for (let warmUp = 0; warmUp < 200; warmUp++) chooseAuto(text);
    expect(await findMinCpuMs(2, () => measureCpuMs(() => chooseAuto(text)))).toBeLessThanOrEqual(2);
  });
});
