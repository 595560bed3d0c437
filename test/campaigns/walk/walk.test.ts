/** The number of files and functions that a plain stream passes through. */
import { expect, test } from "@jest/globals";
import { fileOf, maxFiles, maxFunctions, plainStream, walk } from "./walk.ts";

test("a plain stream enters no more files and functions than the recorded limits", async () => {
  const { gateway, "inference-svc": inference } = await walk(plainStream, false);
  const entered = [...gateway, ...inference];
  expect(entered.some((label) => fileOf(label) === "inference-svc/engine/engine.ts")).toBe(true);
  expect(new Set(entered.map(fileOf)).size).toBeLessThanOrEqual(maxFiles);
  expect(entered.length).toBeLessThanOrEqual(maxFunctions);
});
