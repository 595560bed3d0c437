/** Answers meant to be JSON: the repairs, and the texts that must stay unchanged. */
import { describe, expect, test } from "@jest/globals";
import { type Verdict, anyObject, healJson } from "@sluice/inference-svc/features/healing/ladder.js";
import { findWantedJson } from "@sluice/inference-svc/features/healing/wanted.js";
import type { Yielding } from "@sluice/inference-svc/turn/time-slice.js";
import { replaceRegions } from "@sluice/inference-svc/turn/replacements.js";
import fc from "../../../support/properties.js";
import { testRequest } from "../../asking.js";

function done<Result>(work: Yielding<Result>): Result {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

const bySchema = (text: string, schema: unknown): Verdict => {
  const textFormat = { type: "json_schema" as const, name: "s", schemaJson: JSON.stringify(schema) };
  return done(healJson(text, findWantedJson(testRequest({ textFormat }))!));
};
const byForm = (text: string): Verdict => done(healJson(text, anyObject));

const person = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
  additionalProperties: false,
};

describe("a JSON object is found or repaired", () => {
  test.each([
    ['```json\n{"a": 1}\n```', '{"a": 1}', "extracted"],
    ['Sure! Here it is:\n\n{"a": [1, 2]}\n\nHope it helps!', '{"a": [1, 2]}', "extracted"],
    ['<think>maybe {"a": 0}</think>{"a": 1}', '{"a": 1}', "extracted"],
    ['\ufeff{"a": 1}', '{"a": 1}', "extracted"],
    ['{"a": 1}}', '{"a": 1}', "extracted"],
    ['See [1].\n```\n{"a": 1}\n```\nNot {"a": 2}.', '{"a": 1}', "extracted"],
    ['{"a": 1, "b": [1, 2,],}', '{"a": 1, "b": [1, 2]}', "repaired"],
    ["{'name': 'O'Brien', 'x': 'it\\'s'}", `{"name": "O'Brien", "x": "it's"}`, "repaired"],
    ['{a: 1, b_c: "x"}', '{"a": 1, "b_c": "x"}', "repaired"],
    ['{"a": True, "b": None, "c": NaN, "d": -Infinity}', '{"a": true, "b": null, "c": null, "d": null}', "repaired"],
    ['{"a": 1 "b": 2}', '{"a": 1, "b": 2}', "repaired"],
    ['{"a": "x"\n "b": "y"}', '{"a": "x",\n "b": "y"}', "repaired"],
    ['{"a": [1, 2}', '{"a": [1, 2]}', "repaired"],
    ['{"a": {"b": 1}', '{"a": {"b": 1}}', "repaired"],
    ['{"a": ["x" "y"]}', '{"a": ["x", "y"]}', "repaired"],
    ['{"a": "b}', '{"a": "b"}', "repaired"],
    ['{"a": "b, "c": 1}', '{"a": "b", "c": 1}', "repaired"],
    ['{"name: "Ada", "x": 1}', '{"name": "Ada", "x": 1}', "repaired"],
    ['{"a": "He said "hi" to me", "b": 2}', '{"a": "He said \\"hi\\" to me", "b": 2}', "repaired"],
    ['{"a": "He said "hi", then left", "b": 2}', '{"a": "He said \\"hi\\", then left", "b": 2}', "repaired"],
    ['{"a": "line\nbreak\ttab\u0001"}', '{"a": "line\\nbreak\\ttab\\u0001"}', "repaired"],
    ['{"re": "\\d+\\u12"}', '{"re": "\\\\d+\\\\u12"}', "repaired"],
    ['{"a": 1, // one\n "b": /* two */ 2}', '{"a": 1, \n "b":  2}', "repaired"],
    ['{"a": +5, "b": .5, "c": 5.}', '{"a": 5, "b": 0.5, "c": 5}', "repaired"],
    ['{"a" = 1, "b" => 2}', '{"a" : 1, "b" : 2}', "repaired"],
    ["{“a”: “b”}", '{"a": "b"}', "repaired"],
    ['{"a": """tri "ple"\nx""", "b": 1}', '{"a": "tri \\"ple\\"\\nx", "b": 1}', "repaired"],
    ['{"when": 2024-01-05, "state": active}', '{"when": "2024-01-05", "state": "active"}', "repaired"],
    ['```json\n{"a": [1, 2]\n```', '{"a": [1, 2]}', "repaired"],
    ['{"md": "```json\\n{\\"x\\": 1}\\n```",}', '{"md": "```json\\n{\\"x\\": 1}\\n```"}', "repaired"],
    // Numbers are kept as they were written.
    ['{"big": 12345678901234567890, "a": 1.0,}', '{"big": 12345678901234567890, "a": 1.0}', "repaired"],
    ['"{\\"a\\": 1}"', '{"a": 1}', "unwrapped"],
    ['{\\"a\\": 1}', '{"a": 1}', "unwrapped"],
    ['"a": 1, "b": 2}', '{"a": 1, "b": 2}', "opened"],
    ["{&quot;a&quot;: &quot;x &amp; y&quot;}", '{"a": "x & y"}', "unescaped"],
  ])("in %j", (text, expected, how) => {
    const verdict = byForm(text);
    expect(verdict).toMatchObject({ is: "healed", text: expected, how });
    JSON.parse(expected);
    // The regions map every place of the text to its replacement.
    if (verdict.is === "healed") expect(replaceRegions(text, verdict.regions)).toBe(expected);
    expect(byForm(expected)).toEqual({ is: "right" });
  });
});

describe("a text that healing leaves unchanged", () => {
  test.each([
    ["truncated", '{"a": "unfinished'],
    ["truncated", '{"a": 12'],
    ["truncated", '{"a": tru'],
    ["truncated", '{"a": "b", "c"'],
    ["truncated", '{"a": "b", "'],
    ["truncated", '{"a":'],
    ["truncated", '{"a": 1,'],
    ["truncated", '{"a": {"x": 1}, "b": "unfin'],
    ["truncated", '```json\n{"a": [1, 2,\n```'],
    ["unfit", "[1, 2]"],
    ["unrepairable", '"just a string"'],
    ["unfit", "12"],
    ["unrepairable", "I cannot do that."],
    ["unrepairable", "Use {name} in the template."],
    ["unrepairable", "function f() { return x; }"],
    ["unrepairable", "p { color: red; }"],
    ["unrepairable", "The answer is {}."],
    // An object inside a broken object is never returned as the whole answer.
    ["unrepairable", '{"a": , "b": {"x": 1}}'],
    ["unrepairable", 'Here: "a": {"x": 1}, "b": 2}'],
    ["unrepairable", '{"a": ("x", "y"), "b": {"c": 1}}'],
    ["unrepairable", "Words: note: {brackets, and no: colon}"],
  ])("is reported as %s: %j", (why, text) => {
    expect(byForm(text)).toEqual({ is: "left", why });
  });
});

describe("a text repaired by a schema", () => {
  test.each([
    ["the last that fits", '{"name": "Example", "age": 1}\n{"name": "Ada", "age": 36}', '{"name": "Ada", "age": 36}'],
    ["one of several", 'From {"x": 1} follows {"name": "Ada", "age": 36}, not {"y": 2}', '{"name": "Ada", "age": 36}'],
    ["keys without quotes among words", "It is {name: 'Ada', age: 36}.", '{"name": "Ada", "age": 36}'],
  ])("may be %s", (_, text, expected) => {
    expect(bySchema(text, person)).toMatchObject({ is: "healed", text: expected });
  });

  test.each([
    ["a field of another type", '```\n{"name": "Ada", "age": "36"}\n```'],
    ["a field too many", '{"name": "Ada", "age": 36, "x": 1,}'],
    ["another root", '[{"name": "Ada", "age": 36}]'],
    ["a field too few, valid", '{"name": "Ada"}'],
  ])("is not changed to fit: %s", (_, text) => {
    expect(bySchema(text, person)).toEqual({ is: "left", why: "unfit" });
  });

  test("becomes a list when the schema is a list", () => {
    const list = { type: "array", items: { type: "string" } };
    expect(bySchema('See [link](x): ["a", "b",]', list)).toMatchObject({ text: '["a", "b"]' });
    expect(bySchema("See [this note", list)).toEqual({ is: "left", why: "unrepairable" });
    expect(bySchema('"text"', { type: "string" })).toEqual({ is: "right" });
  });
});

describe("any text under response healing", () => {
  test("stays unchanged if it is valid", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, "\t"), (value, indent) => {
        expect(byForm(JSON.stringify(value, null, indent))).toEqual({ is: "right" });
        expect(byForm(` \n${JSON.stringify(value)}\r\n`)).toEqual({ is: "right" });
      }),
    );
  });

  test("becomes an object that needs no repair", () => {
    const piece = fc.constantFrom(
      ...Array.from("{}[]:,\"'`\\ \n#/*="),
      "```",
      '"""',
      "a",
      "1",
      "-",
      "null",
      "\u201c",
      "<think>",
      "&quot;",
    );
    const texts = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(
        fc.oneof(
          texts,
          texts.map((text) => `{"a": ${text}`),
        ),
        (text) => {
          const verdict = byForm(text);
          if (verdict.is !== "healed") return;
          expect(typeof JSON.parse(verdict.text)).toBe("object");
          expect(verdict.text.trimStart()[0]).toBe("{");
          expect(byForm(verdict.text)).toEqual({ is: "right" });
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test.each([
    ["brackets", "[".repeat(200_000)],
    ["braces", "{".repeat(200_000)],
    ["begun objects", '{"a":'.repeat(50_000)],
    ["quotes", `{"a": ${'"'.repeat(200_000)}`],
    ["spaces", `{"a": "${" ".repeat(500_000)}x`],
    ["quotes apart", `{"a": "${'" '.repeat(100_000)}`],
    ["lost ends", `{${'"a": "b, '.repeat(50_000)}`],
    ["commas", `{"a": 1${",".repeat(200_000)}}`],
    ["thoughts", "<think>".repeat(50_000)],
    ["backslashes", `{"a": "${"\\".repeat(200_001)}`],
    ["comments", `{${"/*".repeat(100_000)}`],
  ])("takes at most linear time for %s", (_, text) => {
    const before = process.cpuUsage();
    done(healJson(text, anyObject));
    // Limit in microseconds of processor time; quadratic work would take minutes.
    expect(process.cpuUsage(before).user).toBeLessThan(20_000_000);
  });
});
