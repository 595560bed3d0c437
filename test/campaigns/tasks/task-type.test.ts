/** The kind of task guessed for a request: how often it is right, that it is reproducible, and that no text takes long. */
import { describe, expect, test } from "@jest/globals";
import { isDeepStrictEqual } from "node:util";
import { weights } from "@sluice/inference-svc/features/routers/auto/tasks/gen/weights.js";
import { guessTaskLocally } from "@sluice/inference-svc/features/routers/auto/tasks/local.js";
import { parseModel } from "@sluice/inference-svc/features/routers/auto/tasks/model.js";
import { scoreFor, trainedTasks } from "@sluice/inference-svc/features/routers/auto/tasks/tasks.js";
import { evaluateTaskModel } from "./evaluate.ts";
import { readFixture, requestOf } from "./texts.ts";
import { trainTaskModel } from "./train.ts";
import { findMinCpuMs, measureCpuMs } from "../../support/clock.ts";

describe("the guessed task of a request", () => {
  test("has the stated accuracy for requests unseen in training", () => {
    const found = evaluateTaskModel(parseModel(weights));
    expect(found.requests).toBeGreaterThanOrEqual(100);
    expect(found.sameTask).toBeGreaterThanOrEqual(0.72);
    expect(found.sameScores).toBeGreaterThanOrEqual(0.72);
    expect(found.sameTaskOfConfident).toBeGreaterThanOrEqual(0.83);
  });

  test("comes from weights that can be reproduced from the committed requests", () => {
    // Compared as a whole: a difference of two hundred thousand characters helps no reader.
    expect(isDeepStrictEqual(trainTaskModel(readFixture("training")), weights)).toBe(true);
  }, 300_000);

  test("is unknown for an unfamiliar text, and marked as unsure", () => {
    expect(guessTaskLocally(requestOf("Zzgh qwrt plmk vrrt snnp kldr wqqt hhjk ptrf lmnr tvvx."))).toEqual({
      task: "other",
      confidence: expect.any(Number),
    });
  });

  test.each([
    ["Write a Java class that implements an LRU cache.", "code"],
    ["[image] What is in this picture?", "vision"],
    ["[tools] Send an e-mail to Anna about the meeting.", "agent"],
    ["[edits] Fix the failing test and commit.", "code_agent"],
    ["Translate into German: Good evening.", "translate"],
    ["Summarise this: The river rose during the night and reached the streets by morning.", "document"],
  ])("is, for %j, %s", (line, task) => {
    expect(guessTaskLocally(requestOf(line)).task).toBe(task);
  });

  const long = 20_000;
  test.each([
    "\n",
    " ",
    "1 ",
    "1",
    "a\n",
    "\n \n",
    "; ",
    "*a",
    "select ",
    "at ",
    "\n\tat x",
    "a^",
    "1+1",
    "<div",
    "? ",
    "Error",
    "\\int",
    "\u{1F600}",
  ])("takes little time for a long text of %j", async (piece) => {
    const request = requestOf("");
    const text = piece.repeat(long / piece.length);
    const input = [{ type: "message", role: "user", content: text }];
    const guess = () => measureCpuMs(() => guessTaskLocally({ ...request, instructions: text, input }));
    expect(await findMinCpuMs(40, guess)).toBeLessThan(40);
  });
});

describe("scores of a model by task", () => {
  test("differ between kinds of task, and a missing score is replaced by the general one", () => {
    expect(trainedTasks).toHaveLength(10);
    const scores = { coding: 1, agentic: 2, general: 3 };
    expect(scoreFor("code", scores)).toBe(1);
    expect(scoreFor("code_agent", scores)).toBe(2);
    expect(scoreFor("code_agent", { coding: 1 })).toBe(1);
    expect(scoreFor("agent", { coding: 1 })).toBeUndefined();
    expect(scoreFor("math", scores)).toBe(3);
    expect(scoreFor("other", { coding: 1 })).toBeUndefined();
    expect(scoreFor("chat", undefined)).toBeUndefined();
  });
});
