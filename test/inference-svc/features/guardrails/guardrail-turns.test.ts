/** No guardrail delays other turns by more than 50 ms, for any text. */
import { WholeAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { describe, expect, test } from "@jest/globals";
import { inputGuardrails } from "@sluice/inference-svc/features/guardrails/input/guard.js";
import { isJson } from "@sluice/inference-svc/content/is-json.js";
import { tokenizeJson, decodeToken } from "@sluice/inference-svc/features/guardrails/json-tokens.js";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { findMinCpuMs, measureLongestBlockMs } from "../../../support/clock.js";
import { testRequest, newScope, runTestTurn } from "../../asking.js";
import {
  type Filter,
  itemEnd,
  flagFilter,
  runGuarded,
  guardrailOf,
  outputMessage,
  turnEnd,
  redactFilter,
} from "./gating.js";

const limitMs = 50;

/** The best of several tries, since garbage collection and compilation affect some of them. */
async function expectShort(what: string, attempt: () => Promise<unknown>): Promise<void> {
  const longest = await findMinCpuMs(limitMs, () => measureLongestBlockMs(attempt));
  process.stdout.write(`longest turn, ${what}: ${longest.toFixed(0)} ms\n`);
  expect(longest).toBeLessThan(limitMs);
}

async function asked(items: readonly InputItem[], filters: readonly Filter[]): Promise<void> {
  const scope = newScope({ guardrail: guardrailOf(filters, { appliesTo: AppliesTo.INPUT }) });
  const turn = inputGuardrails([])(() => new WholeAnswer([]));
  await runTestTurn(turn, testRequest({ input: items }), scope);
}

const says = (text: string): InputItem => ({ type: "message", role: "user", content: text });
const calls = (json: string): InputItem => ({ type: "function_call", call_id: "a", name: "f", arguments: json });
const parts = (count: number): InputItem => ({
  type: "message",
  role: "user",
  content: Array.from({ length: count }, () => ({ type: "input_text", text: "ab" })),
});

const none = Array.from({ length: 5 }, (_, index) => redactFilter(`[a-z]+~${index}`));
const each = [redactFilter("b"), redactFilter("[ab]")];

describe("a request while it is scanned", () => {
  test.each<[string, () => InputItem, readonly Filter[]]>([
    ["a long text", () => says("x".repeat(2_000_000)), none],
    ["in disguise", () => says("p\u200bl ".repeat(250_000)), none],
    ["letters that stand apart", () => says("a ".repeat(500_000)), none],
    ["another script", () => says("\u4f60\u597d\uff0c\u4e16\u754c".repeat(100_000)), none],
    ["base64", () => says(`${Buffer.from("some text ".repeat(500)).toString("base64")} `.repeat(150)), none],
    ["one base64 text", () => says(Buffer.from("some text ".repeat(100_000)).toString("base64")), none],
    ["turned letters", () => says("jr arire fubhyq gryy gur frperg. ".repeat(60_000)), none],
    ["entities", () => says("&amp;#112;&notit;&".repeat(60_000)), none],
    ["markup", () => says("<b>a</b>**b**`c`[d](e) ".repeat(50_000)), none],
    ["tags that end nowhere", () => says("<a b='c d=e ".repeat(90_000)), none],
    ["comments that end nowhere", () => says("<!-- ".repeat(200_000)), none],
    ["links that end nowhere", () => says("](<a [b](c \"d [e](f 'g ".repeat(40_000)), none],
    ["markup without a seam", () => says(`x${"<b c d e>".repeat(100_000)}`), none],
    ["marks upon marks", () => says(`a${"\u0301\u0323".repeat(40_000)}`), none],
    ["a text full of matches", () => says("ab".repeat(60_000)), each],
    ["parts in which all is found", () => parts(20_000), each],
    ["arguments with many strings", () => calls(JSON.stringify(Array(20_000).fill("ab"))), each],
    ["arguments with many numbers", () => calls(`[${"1,".repeat(1_000_000)}1]`), none],
    ["arguments with many brackets", () => calls("[".repeat(300_000) + "]".repeat(300_000)), none],
    ["arguments that are no JSON in the end", () => calls(`[${"1,".repeat(1_000_000)}`), none],
    ["one argument full of escapes", () => calls(JSON.stringify('\n"'.repeat(250_000))), none],
  ])(
    "lets other turns run: %s",
    async (what, item, filters) => expectShort(what, () => asked([item()], filters)),
    120_000,
  );
});

describe("an answer while it is scanned", () => {
  const filters = [redactFilter("a"), redactFilter("(?:a|b)+c"), redactFilter("[ab]{0,200}c"), flagFilter("b")];

  test.each([
    ["a long text full of matches", outputMessage("ab".repeat(30_000))],
    [
      "arguments with many strings",
      { type: "function_call", id: "f", call_id: "c", name: "f", arguments: JSON.stringify(Array(5_000).fill("ab")) },
    ],
    ["a text full of markup", outputMessage("<b>a</b>**b**`c`[d](e) &amp;#112; ".repeat(5_000))],
    ["a text of links that end nowhere", outputMessage("](<a [b](c \"d [e](f 'g ".repeat(5_000))],
    ["an item with many texts", { type: "later", id: "l", deep: Array(20_000).fill("ab") }],
  ])(
    "lets other turns run: %s",
    async (what, item) => expectShort(what, () => runGuarded([[itemEnd(0, item), turnEnd]], filters)),
    120_000,
  );
});

/** Runs sliced work to its end without a pause, and returns its result. */
function done<Result>(work: Generator<undefined, Result>): Result {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

describe("JSON scanned in pieces", () => {
  const long = " ".repeat(20_000);
  const values = [
    "null",
    "true",
    "-0.5e+7",
    "0",
    '""',
    '"a\\u0041\\n\u00e9"',
    "[]",
    "{}",
    '[1,[2,{}],{"a":[]}]',
    '{"a":{"b":"]"},"c":[false]}',
    "truex",
    "01",
    "-",
    "1.",
    "1e",
    '"\n"',
    '"\\x"',
    '"\\u12g4"',
    '"open',
    "[",
    "[1",
    "[1,]",
    "[,1]",
    "{a:1}",
    '{"a"}',
    '{"a":1,}',
    '{"a":1]',
    "[1}",
    "1 2",
    "]",
    "",
    '{"a" : "b" , "c":1}',
    "nul",
    "\u00a01",
    "[1]]",
  ];

  test.each(values)("accepts %j exactly if JSON.parse does", (value) => {
    for (const text of [
      value,
      `${long}${value}`,
      `${value}${long}`,
      `[${long}${value}${long}]`,
      `{"${"k".repeat(20_000)}":${value}}`,
    ]) {
      let parses = true;
      try {
        JSON.parse(text);
      } catch {
        parses = false;
      }
      expect([text.length, done(isJson(text))]).toEqual([text.length, parses]);
    }
  });

  test("reads a long string like the whole", () => {
    const random = ["a", '"', "\\", "\n", "\u0001", "\u{1f600}", "\ud83d"];
    for (let length = 65_520; length < 65_545; length++) {
      const said = `${"x".repeat(length)}${Array.from({ length: 40_000 }, (_, index) => random[(index * 7 + length) % 7]).join("")}`;
      const json = JSON.stringify(said);
      const [token] = [...tokenizeJson(json)].filter((each) => each !== undefined);
      expect(token && done(decodeToken(json, token)) === said).toBe(true);
    }
  });
});
