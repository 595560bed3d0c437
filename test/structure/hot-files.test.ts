/** Files on the path of every turn keep to forms that V8 compiles well. */
import { expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { findSlowForms, hotFiles } from "./hot-files.ts";
import { readSources } from "./sources.ts";

const sources = readSources(root);

test.each(hotFiles)("the file %s on the path of a stream has no slow code form", (path) => {
  const file = sources.find((source) => source.path === path);
  expect(file && findSlowForms(file)).toEqual([]);
});

test("slow code forms are found in files on the path of a stream", () => {
  const text = [
    "const a = { ...(x && { y }) };",
    "const b = { ...(x ? y : z), c: 1 };",
    "for (const each of Object.entries(a)) delete a[each];",
    "const d = Object.fromEntries(list);",
    "const fine = { ...a, list: [...(x ? y : z)] };",
  ].join("\n");
  expect(findSlowForms({ path: "a.ts", room: "gateway", text })).toEqual([
    "a.ts:1, conditional spread",
    "a.ts:2, conditional spread",
    "a.ts:3, Object.entries",
    "a.ts:3, delete",
    "a.ts:4, Object.fromEntries",
  ]);
});
