/** Tags of doc comments name parameters and classes that exist. */
import { describe, expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { findClasses, findUnknownErrors, findUnknownParams } from "./comment-tags.ts";
import { describeRemark } from "./comments.ts";
import { type SourceFile, readSources } from "./sources.ts";

const sources = readSources(root);
const plant = (text: string): SourceFile => ({ path: "gateway/planted.ts", room: "gateway", text });

describe("a @param tag", () => {
  test("names a parameter of its declaration", () => {
    expect(sources.flatMap(findUnknownParams).map(describeRemark)).toEqual([]);
  });

  test.each([
    "/** @param old the limit */\nexport function a(limit: number) {}",
    "/**\n * @param limit the limit\n * @param old the key\n */\nexport const a = (limit: number) => limit;",
    "class A {\n  /** @param old the limit */\n  b(limit: number) {}\n}",
    "interface A {\n  /** @param old the limit */\n  readonly b: (limit: number) => void;\n}",
  ])("of a renamed parameter is found: %j", (text) => {
    expect(findUnknownParams(plant(text))).toMatchObject([{ path: "gateway/planted.ts", text: "old" }]);
  });

  test.each([
    "/** @param limit the limit */\nexport const a = ({ limit = 1 }: Options) => limit;",
    "/** @param limit the limit */\nexport const a = (key: string) => (limit: number) => limit;",
    "interface A {\n  /** @param limit the limit */\n  b(limit: number): void;\n}",
  ])("may name a part of a parameter, and a parameter of an inner function: %j", (text) => {
    expect(findUnknownParams(plant(text))).toEqual([]);
  });
});

describe("a @throws tag", () => {
  test("names a class that exists", () => {
    const classes = new Set(sources.flatMap(findClasses));
    expect(sources.flatMap((file) => findUnknownErrors(file, classes)).map(describeRemark)).toEqual([]);
  });

  test("with a class that exists nowhere is found", () => {
    const file = plant("class Kept extends Error {}\n\n/** Reads. @throws Gone for a wrong name */\nread();\n");
    expect(findUnknownErrors(file, new Set(findClasses(file)))).toMatchObject([{ line: 3, text: "Gone" }]);
  });

  test.each(["Kept for a wrong name", "a TypeError", "the error of the connection"])("may be: @throws %s", (text) => {
    const file = plant(`class Kept extends Error {}\n\n/** Reads. @throws ${text} */\nread();\n`);
    expect(findUnknownErrors(file, new Set(findClasses(file)))).toEqual([]);
  });
});
