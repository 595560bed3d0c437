/** Comments understandable without their surroundings, and no personal pronoun for a program. */
import { describe, expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import {
  beginsWithPronoun,
  countElliptical,
  describeRemark,
  findFragments,
  hasPersonalPronoun,
  readComments,
  readTexts,
} from "./comments.ts";
import { type SourceFile, readSources, rooms } from "./sources.ts";

/** Comments with openings like "Of the plugin." were a quarter of the tree once; a few are good English. */
const maxEllipticalShare = 0.03;

/** Files with lists of English words, not texts for users. */
const wordLists = new Set([
  "inference-svc/features/guardrails/detectors/person-name.ts",
  "inference-svc/features/guardrails/input/rot13.ts",
]);

const sources = readSources(root);
const comments = sources.flatMap(readComments);

const plant = (text: string, path = "gateway/planted.ts"): SourceFile => ({ path, room: "gateway", text });

describe("elliptical comments in sources", () => {
  test("are less than 3 % of the whole tree", () => {
    const { share, worst } = countElliptical(comments);
    expect(share < maxEllipticalShare ? [] : worst).toEqual([]);
  });

  test.each(rooms)("are less than 3 % of %s", (room) => {
    const {
      comments: count,
      share,
      worst,
    } = countElliptical(comments.filter(({ path }) => path.startsWith(`${room}/`)));
    expect(count).toBeGreaterThan(20);
    expect(share < maxEllipticalShare ? [] : worst).toEqual([]);
  });

  test.each([
    "/** Of the plugin. */\nexport const a = 1;",
    "/**\n * Whom a tool asks has none.\n */\nexport const a = 1;",
    "// What is asked of it.\n// A second line.\nexport const a = 1;",
    "export function a() {\n  // Only here.\n  return 1;\n}",
  ])("are found: %j", (text) => {
    expect(countElliptical(readComments(plant(text)))).toMatchObject({ comments: 1, elliptical: 1, share: 1 });
  });

  test("are found in a contract", () => {
    const text = "message A {\n  // By name.\n  string a = 1;\n\n  // Name of the key.\n  string b = 2;\n}\n";
    expect(countElliptical(readComments(plant(text, "proto/planted.proto")))).toMatchObject({
      comments: 2,
      elliptical: 1,
      worst: ['proto/planted.proto: 1, such as "By name."'],
    });
  });

  test("are neither noun phrases nor text in a string or behind code", () => {
    const text = '/** Sum per counter. */\nexport const a = "/** Of it. */"; // By name.\n';
    expect(countElliptical(readComments(plant(text)))).toMatchObject({ comments: 1, elliptical: 0 });
  });
});

describe("the first word of a comment", () => {
  test("is no pronoun for a noun elsewhere", () => {
    expect(comments.filter(beginsWithPronoun).map(describeRemark)).toEqual([]);
  });

  test.each([
    "Its only model.",
    "It translates for the provider behind it.",
    "Those of the file first.",
    "Their names.",
  ])("is found as a pronoun: %j", (text) =>
    expect(readComments(plant(`/** ${text} */\nexport const a = 1;`)).filter(beginsWithPronoun)).toHaveLength(1),
  );

  test("may begin like a pronoun", () => {
    expect(beginsWithPronoun({ text: "Items of an answer." })).toBe(false);
  });
});

describe("later sentences of a comment", () => {
  test("have a subject and a verb", () => {
    expect(comments.filter((comment) => findFragments(comment).length > 0).map(describeRemark)).toEqual([]);
  });

  test.each([
    "Finds a model. What is left of it.",
    "Finds a model.\nThose of a vendor first.",
    "Finds a model. Without a name: the cheapest.",
    "Finds a model. Only for routers.",
  ])("without a subject or a verb are found: %j", (text) => {
    expect(findFragments({ text })).toHaveLength(1);
  });

  test("may begin with a preposition", () => {
    expect(findFragments({ text: "Finds a model. Without a name, the first is used." })).toEqual([]);
  });
});

describe("personal pronouns in sources", () => {
  test("stand in no comment", () => {
    expect(comments.filter(hasPersonalPronoun).map(describeRemark)).toEqual([]);
  });

  test("stand in no text of a program for its users", () => {
    const programs = sources.filter(({ path, room }) => room !== "test" && !wordLists.has(path));
    expect(programs.flatMap(readTexts).filter(hasPersonalPronoun).map(describeRemark)).toEqual([]);
  });

  test("are found in comments, texts and templates", () => {
    const file = plant('/** The gateway and whoever asks it. */\nlog(`asks ${a} for his key`, "He asks.", "the");\n');
    expect(readComments(file).filter(hasPersonalPronoun)).toMatchObject([{ line: 1 }]);
    expect(readTexts(file).filter(hasPersonalPronoun)).toMatchObject([{ text: " for his key" }, { text: "He asks." }]);
  });
});
