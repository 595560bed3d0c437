/** Answers stopped early by the alignment plugin, because no continuation could keep a rule. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Message } from "@sluice/inference-svc/features/alignment/message.js";
import { compileRule } from "@sluice/inference-svc/features/alignment/rules/compile.js";
import fc from "fast-check";
import { type Reply, chatChunk, chatStream } from "../../../support/providers/upstream.ts";
import { functionTool, itemsOf, newScope } from "../../asking.ts";
import { type AlignmentTest, runAlignedTurn, startAlignmentTest } from "./alignment.ts";

/** An answer without an end. */
const begun = (...deltas: readonly object[]): Reply => ({
  chunks: [{ sse: deltas.map((delta) => chatChunk(delta)) }],
  hang: true,
});
const words = (...said: readonly string[]): Reply => begun(...said.map((content) => ({ content })));
const call = (name: string): Reply =>
  begun({ tool_calls: [{ index: 0, id: "call_1", function: { name, arguments: '{"a' } }] });

describe("an answer stopped by a broken alignment rule", () => {
  let installation: AlignmentTest;
  beforeEach(async () => {
    installation = await startAlignmentTest();
  });
  afterEach(() => installation.stop());

  test("has its call cancelled and charged, and the model is called again", async () => {
    installation.acme.script([words("Ten off! ", "Call now"), chatStream("Prices ", "are fixed.")]);
    const testScope = newScope();
    const closed = installation.acme.nextClose();
    const ending = await runAlignedTurn(
      installation,
      ["At most 9 words.", "No exclamation marks"],
      { stream: true },
      testScope,
    );
    await closed;
    expect(itemsOf(ending.events)).toMatchObject([{ content: [{ text: "Prices are fixed." }] }]);
    expect(ending.events).not.toContainEqual(expect.objectContaining({ delta: "Ten off! " }));
    const [first] = installation.engine.closed;
    expect([first?.status, installation.engine.closed.at(-1)?.status]).toEqual(["cancelled", "completed"]);
    expect([first?.isEstimated, Number(first?.costUsd) > 0, first?.tokens?.output]).toEqual([true, true, 5]);
    const sent = installation.acme.requests[1]?.json["messages"] as { content: string }[] | undefined;
    expect(sent?.at(-1)?.content).toContain('{"role":"assistant","content":"Ten off! Call now"}');
    expect(sent?.at(-1)?.content).toMatch(/\n1\. No exclamation marks$/);
    const last = ending.events.at(-1);
    expect(last).toMatchObject({
      outcome: {
        alignment: {
          calls: [
            {
              outcome: "blocked",
              rules: [
                { probability: 0, broken: false },
                { probability: 1, broken: true },
              ],
            },
            { outcome: "allowed" },
          ],
        },
      },
    });
  });

  test.each([
    ["a text", "No URLs", words("See https://a.b"), { type: "message", content: [{ text: "See https://a.b" }] }],
    ["a call", "Never call refund", call("refund"), { type: "function_call", name: "refund", arguments: "" }],
  ])("in %s is 403 with its received part when retries are used up", async (_, rule, reply, item) => {
    installation.acme.script([reply]);
    const testScope = newScope();
    const fields = { stream: true, tools: [functionTool({ name: "refund" })], alignment: { maxRetries: 0 } };
    const { fault, events } = await runAlignedTurn(installation, [rule], fields, testScope);
    expect([fault?.status, events.map(({ type }) => type)]).toEqual([403, ["start"]]);
    expect(fault?.metadata).toMatchObject({ alignment: { rejected: [{ ...item, status: "incomplete" }] } });
    expect(testScope.scope.trace.stages).toMatchObject([{ summary: "Blocked: rule 0", data: { action: "blocked" } }]);
  });

  test("that is too long for evaluation is refused with 503 at once, under any rules", async () => {
    installation.acme.script([words("a".repeat(10_000), "b")]);
    const closed = installation.acme.nextClose();
    const testScope = newScope();
    const { fault } = await runAlignedTurn(installation, ["At least 2 words."], { stream: true }, testScope);
    await closed;
    expect(fault?.status).toBe(503);
    expect(fault?.metadata).toMatchObject({ alignment: { calls: [{ outcome: "unavailable", reason: "cut" }] } });
    expect(installation.acme.requests).toHaveLength(1);
    expect(installation.engine.closed[0]).toMatchObject({ status: "cancelled", isEstimated: true });
  });

  test("ends its call when the client leaves", async () => {
    installation.acme.script([words("Ten off")]);
    const testScope = newScope();
    const arrived = installation.acme.nextRequest();
    const ending = runAlignedTurn(installation, ["No exclamation marks"], { stream: true }, testScope);
    await arrived;
    const closed = installation.acme.nextClose();
    testScope.abort.abort(new Error("left"));
    await closed;
    expect((await ending).fault).toBeDefined();
  });
});

const tools = new Set(["refund"]);
const says = (content: string): Message => ({ role: "assistant", content });

/** Rules, each with a text that breaks it at its end, whatever follows. */
const rules: readonly (readonly [rule: string, text: string])[] = [
  ["At most 2 words", "one two t"],
  ["Use fewer than 5 characters", "12345"],
  ["At most 2 paragraphs", "a\n\nb\n\nc"],
  ["At most 1 line", "a\nb"],
  ["Ask no questions", "So?"],
  ["Never ask more than 1 question", "a? b?"],
  ['Never mention "Acme"', "by Acme "],
  ['Start with "Hello"', "Hi "],
  ["No code blocks", "a\n```"],
  ["No emojis", "\u{1f600}"],
  ["No digits", "a1"],
  ["No URLs", "https://a"],
  ["Only use URLs of example.com", "https://a.test "],
  ["Never use Cyrillic letters", "я"],
  ["Only use Latin letters", "я"],
  ['If the content is not null, start with "Hello"', "Hi "],
];

/** Words of the rules, and characters that change their neighbours. */
const pieces = [
  "Acme",
  "acme",
  "Hello",
  "He",
  "o",
  "e",
  "\u0301",
  "\u0332",
  "\u200b",
  " ",
  "\n",
  "\n\n",
  "?",
  "!",
  "-",
  "\u2014",
  "https://",
  "http:",
  "//",
  "example.com",
  ".",
  "/",
  "www.",
  "a",
  "1",
  "`",
  "```",
  "ไทย",
  "คำ",
  "я",
  "\u{1f600}",
  "\u00a9",
  "\ufe0f",
  ")",
  "](",
  "<a",
  "\u1100",
  "\u1161",
  "\u03a3",
  "[",
  "ﬁ",
  "\u0345",
];

describe("an alignment rule that can be decided early", () => {
  test.each(rules)("%s is certainly broken by %j, and not a character earlier", (rule, text) => {
    const local = compileRule(rule, tools);
    const before = text.slice(0, text.endsWith("\u{1f600}") ? -2 : -1);
    expect([local?.isBrokenForGood?.(says(text)), local?.isBrokenForGood?.(says(before))]).toEqual([true, false]);
  });

  test.each([
    "At least 2 words",
    "At most 2 sentences",
    'Always mention "Acme"',
    'End with "Acme"',
    "The content is valid JSON",
    "Answer in Russian",
  ])("%s can be kept until the end", (rule) => {
    const local = compileRule(rule, tools);
    expect(["a", "a b c. D e. F g. H", "", "{"].some((text) => local?.isBrokenForGood?.(says(text)))).toBe(false);
  });

  test.each(rules)("%s is never reported as broken for the beginning of a text that keeps it", (rule) => {
    const local = compileRule(rule, tools);
    const piece = fc.constantFrom(...pieces);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.nat(), (said, at) => {
        const text = Array.from(said.join(""));
        const start = text.slice(0, at % (text.length + 1)).join("");
        if (local?.isBrokenForGood?.(says(start))) expect(local.isBroken(says(text.join("")))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
