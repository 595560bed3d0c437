/** Rules that are decided without a judge: the meaning of each form, and similar texts that are no such rule. */
import { describe, expect, test } from "@jest/globals";
import type { Message } from "@sluice/inference-svc/features/alignment/message.js";
import { compileRule } from "@sluice/inference-svc/features/alignment/rules/compile.js";
import { isLinear } from "../../../support/clock.ts";

const tools = new Set(["refund"]);

const says = (content: string | null, more: Partial<Message> = {}): Message => ({
  role: "assistant",
  content,
  ...more,
});
const calls = (name: string, args: unknown = {}, namespace?: string): Message => {
  const json = typeof args === "string" ? args : JSON.stringify(args);
  return says(null, { tool_calls: [{ name, arguments: json, ...(namespace !== undefined && { namespace }) }] });
};
const messageOf = (said: string | null | Message): Message =>
  typeof said === "string" || said === null ? says(said) : said;

/** How the rule is decided for messages that keep it, and for messages that break it. */
function expectRule(
  rule: string,
  kept: readonly (string | null | Message)[],
  broken: readonly (string | null | Message)[],
): void {
  const local = compileRule(rule, tools);
  expect([rule, local?.isTotal]).toEqual([rule, true]);
  for (const said of kept) expect([rule, said, local?.isBroken(messageOf(said))]).toEqual([rule, said, false]);
  for (const said of broken) expect([rule, said, local?.isBroken(messageOf(said))]).toEqual([rule, said, true]);
}

type Case = readonly [string, readonly (string | null | Message)[], readonly (string | null | Message)[]];

describe("alignment rules about tools:", () => {
  test.each<Case>([
    ["Never call refund.", ["refund", calls("refunds")], [calls("refund")]],
    ["Do not use the `search` tool", [calls("research")], [calls("search")]],
    ["Never call delete_user", [calls("delete_users")], [calls("delete_user")]],
    ["Don't invoke crm.refund", [calls("refund", {}, "erp")], [calls("refund", {}, "crm")]],
    ["Never use tools", ["tools"], [calls("x")]],
    [
      "At most one tool call",
      [calls("x")],
      [says(null, { tool_calls: [1, 2].map(() => ({ name: "x", arguments: "{}" })) })],
    ],
    [
      "Never call refund with amount above 100",
      [calls("refund", { amount: 100 }), calls("other", { amount: 500 }), calls("refund", { sum: 500 })],
      [calls("refund", { amount: 100.01 }), calls("refund", { order: { amount: "500" } })],
    ],
    [
      "Do not call the transfer tool with an amount of at least 1000.",
      [calls("transfer", { amount: 999 })],
      [calls("transfer", { amount: 1_000 })],
    ],
    ["Never call refund with amount below -5", [calls("refund", { amount: -5 })], [calls("refund", { amount: -6 })]],
    ["Never call refund with amount equal to 7", [calls("refund", { amount: 8 })], [calls("refund", { amount: 7 })]],
  ])('"%s" is decided without a judge', expectRule);

  test.each([calls("refund", "{amount: 500"), calls("refund", { amount: "lots" }), calls("refund", { amount: [500] })])(
    "the expression %j cannot be compared",
    (message) => {
      expect(compileRule("Never call refund with amount above 100", tools)?.isBroken(message)).toBeUndefined();
    },
  );
});

describe("alignment rules about lengths:", () => {
  const words = (count: number) => Array<string>(count).fill("word").join(" ");
  test.each<Case>([
    ["Use at most 3 words.", [words(3), null, "don't stop, twenty-first"], [words(4)]],
    ["At most 5 words", ["it's a well-known 3.5 % (sic)"], ["it's a well-known fact, isn't it"]],
    ["Keep replies under 3 words", [words(2)], [words(3)]],
    ["The reply must have at least two sentences", ["One. Two!", "Mr. Smith came. He left."], ["One.", null]],
    ["Answer in exactly 1 sentence", ["It costs 3.50 dollars."], ["One. Two."]],
    ["Use no more than 4 characters", ["😀😀😀😀"], ["12345"]],
    ["Ask at most one question", ["Why? See https://x.example/?a=1&b=?"], ["Why? How?"]],
    ["Ask no questions", ["Why not!"], ["Why not?", "为什么？"]],
    ["Never ask more than 2 questions", ["A? B?"], ["A? B? C?"]],
    ["Never ask a question.", ["A!"], ["A?"]],
    ["At most 2 lines", ["a\n\nb"], ["a\nb\nc"]],
    ["Use at most two paragraphs", ["a\nb\n\nc"], ["a\n\nb\n\nc"]],
    ["Use at most 3 words", ["我们走。"], ["我们今天下午一起去公园。"]],
  ])('"%s" is decided without a judge', expectRule);
});

describe("alignment rules about words:", () => {
  test.each<Case>([
    [
      'Never mention "Acme Corp".',
      ["Acme", "Acme Corporation", null],
      ["ACME  corp!", "\uff21cme Corp", says(null, { refusal: "Not Acme Corp." }), calls("x", { q: "acme corp" })],
    ],
    [
      'Never mention "a-b"',
      ["a b", calls("x", "a_b")],
      ["An A-B.", "a\u200b-b", calls("x", '{"q":"\\u0061-b"}'), calls("x", { "a-b": 1 }), calls("x", "a-b")],
    ],
    ['Never say "a.*+?^${}()|[]\\/-#&~=!<>,:;%@_b"', ["a"], ["Say: a.*+?^${}()|[]\\/-#&~=!<>,:;%@_b"]],
    ["Do not contain the word 'cat'", ["concatenate, cats, cat_x"], ["A cat.", "the CAT"]],
    ["The answer must never say “c++”", ["c"], ["I like C++."]],
    ['Always mention "order number"', ["Your Order Number is 5."], ["Your number is 5.", null]],
    ['The reply must end with "Thanks!"', ["Bye. Thanks!\n"], ["Thanks! Bye.", null]],
    ['If the content is not null, end with "Thanks!"', [null, "Thanks!"], ["Thanks"]],
    ['Start every reply with "Hello"', ["Hello there"], ["Oh, Hello", null]],
  ])('"%s" is decided without a judge', expectRule);
});

describe("alignment rules about the form of a text:", () => {
  test.each<Case>([
    ["The content is valid JSON.", ['{"a":[1]}', "5"], ["{a:1}", "", null, "```json\n{}\n```"]],
    ["Reply only in JSON", ["{}"], ["Here: {}"]],
    ["No code blocks", ["`a`", "a ``` b"], ["a\n```js\nx\n```", "  ~~~\nx"]],
    ["Never use emojis", ["© 2026 ™ 1#"], ["Hi 🙂", "🇩🇪", "©\ufe0f", "1\ufe0f\u20e3"]],
    ["Do not use exclamation marks.", ["Hi."], ["Hi!"]],
    ["No digits", ["one"], ["1", "\u0661"]],
    ["Never use capital letters", ["abc"], ["Abc"]],
  ])('"%s" is decided without a judge', expectRule);
});

describe("alignment rules about links:", () => {
  test.each<Case>([
    [
      "No URLs",
      ["See node.js, e.g. v1.2, or a@b.example"],
      ["https://a.example", "www.a.example", "at a.example/b", "[a](/b)", '<a href="x">'],
    ],
    [
      "Only use URLs of the domain example.com",
      ["No link.", "https://example.com/a", "www.docs.EXAMPLE.com", "(https://example.com.)"],
      [
        "https://example.com.evil.test",
        "https://example.com@evil.test/",
        "https://notexample.com",
        "evil.test/example.com",
        "http://[",
      ],
    ],
    ["All links must be on example.com or example.org", ["https://example.org"], ["https://example.net"]],
  ])('"%s" is decided without a judge', expectRule);
});

describe("alignment rules about scripts:", () => {
  test.each<Case>([
    ["Never use Cyrillic letters", ["abc"], ["аbc"]],
    ["Only use Latin characters", ["abc é 5!"], ["abc я"]],
  ])('"%s" is decided without a judge', expectRule);

  test("a text without characters of the required script breaks the rule; other text goes to the judge", () => {
    const rule = compileRule("Answer in Russian.", tools);
    expect(rule?.isTotal).toBe(false);
    expect(rule?.isBroken(says("Hello."))).toBe(true);
    expect(rule?.isBroken(says("Привет."))).toBeUndefined();
    expect(rule?.isBroken(says("42!"))).toBeUndefined();
  });
});

test.each([
  "Never offer a discount.",
  "Never use profanity",
  "Never call customers",
  "Never use snake_case",
  "Never run away",
  "Never mention politics",
  'Never mention "Acme" unless asked',
  "Use at most 50 words, but be friendly",
  "Use at most 50 words and no emojis",
  "Do not use at most 50 words",
  "The reply should be at most 50 words for children",
  "Never call refund with amount above the limit",
  "No URLs except example.com",
  "Only mention prices",
  "Answer in rhymes",
  "If the user asks for prices, use at most 5 words",
  'End with "a" or "b"',
  "Not at most 5 words",
  'Never mention " "',
  'Never mention "\u200b"',
  'End with " "',
  "",
])("the alignment rule %j goes to the judge", (rule) => {
  expect(compileRule(rule, tools)).toBeUndefined();
});

test("a long text similar to the form of an alignment rule is read in linear time", async () => {
  const hostile = ['never mention "a" or ', "only use urls of a-", "a.a, ", "the reply must always ", "never call a."];
  const read = (size: number) => {
    for (const start of hostile) compileRule(start.repeat(Math.ceil(size / start.length)).slice(0, size), tools);
  };
  expect(await isLinear(1_000, read)).toBe(true);
});

test("a long answer similar to a forbidden one is read in linear time", async () => {
  const rules = [
    "No URLs",
    "Only use URLs of example.com",
    'Never mention "a"',
    "Ask no questions",
    "Use at most two paragraphs",
    "Use at most 3 words",
    "No code blocks",
    "No emojis",
  ].map((rule) => compileRule(rule, tools));
  const hostile = ["a.", "](", "a", "\n ", "a:", "a-", "\u0301", "` "];
  const read = (size: number) => {
    for (const unit of hostile) {
      const message = says(unit.repeat(Math.ceil(size / unit.length)));
      for (const rule of rules) rule?.isBroken(message);
    }
  };
  expect(await isLinear(1_250, read)).toBe(true);
});
