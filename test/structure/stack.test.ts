/** One file has the order of the layers, and is small enough to be read at a glance. */
import { describe, expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { type SourceFile, readSources } from "./sources.ts";
import { findLongFunctions } from "./syntax.ts";

const sources = readSources(root);

describe("the order of layers, inference-svc/stack.ts,", () => {
  const stack = sources.find(({ path }) => path === "inference-svc/stack.ts") as SourceFile;

  test("has no function above 40 lines", () => {
    expect(findLongFunctions(stack, 40)).toEqual([]);
  });

  test("would be found with a longer function", () => {
    const text = "export const a = 1;\nclass B {\n  c() {\n    d();\n  }\n}\nconst f = () =>\n  g(\n  );\n";
    expect(findLongFunctions({ ...stack, text }, 2)).toEqual([
      "inference-svc/stack.ts:3, 3 lines",
      "inference-svc/stack.ts:7, 3 lines",
    ]);
  });
});
