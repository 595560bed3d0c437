/** The quick check of a shape finds the same problems as the shape itself. */
import { expect, test } from "@jest/globals";
import { input } from "@sluice/proto/contract/items/input.js";
import { textFormat } from "@sluice/proto/contract/request/settings.js";
import { toolsShape } from "@sluice/proto/contract/tools/tools.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { type Shape, checkShape } from "@sluice/proto/lib/validation/shape.js";
import { generateBody } from "../support/random-requests/bodies.js";

function problemsOf(check: (problems: Problems) => void): unknown {
  const problems = new Problems();
  check(problems);
  try {
    problems.throwIfAny();
  } catch (error) {
    if (error instanceof Fault) return error.metadata?.["issues"];
    throw error;
  }
  return [];
}

function read(body: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(body.toString()) as Record<string, unknown>;
  } catch {
    return {};
  }
}

test("2,000 request bodies, most of them wrong, give the expected errors", () => {
  let wrong = 0;
  for (let number = 0; number < 2_000; number++) {
    const body = read(generateBody(29, number)) ?? {};
    const shapes: readonly (readonly [Shape, string, unknown])[] = [
      [input, "input", body["input"]],
      [toolsShape, "tools", body["tools"]],
      [textFormat, "text.format", body["text"]],
    ];
    for (const [shape, path, value] of shapes) {
      const found = problemsOf((problems) => checkShape(shape, value, path, problems, " or null"));
      expect(found).toEqual(problemsOf((problems) => shape.check(value, path, problems, " or null")));
      if (JSON.stringify(found) !== "[]") wrong++;
    }
  }
  expect(wrong).toBeGreaterThan(500);
});
