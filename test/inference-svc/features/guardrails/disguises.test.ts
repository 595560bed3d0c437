/** Disguises that guardrails detect, in requests and in answers cut at any place, and disguises that they miss; the README lists both. */
import { WholeAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { describe, expect, test } from "@jest/globals";
import { inputGuardrails } from "@sluice/inference-svc/features/guardrails/input/guard.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { readPage } from "../../../support/pages.js";
import { type Disguise, disguisedWords } from "../../../support/providers/disguises.js";
import { testRequest, newScope, runTestTurn } from "../../asking.js";
import { type Filter, runGuarded, guardrailOf, redactFilter, joinDeltas, streamedMessage } from "./gating.js";

/** The text of a request after the guardrails. */
async function asked(text: string, filters: readonly Filter[]): Promise<unknown> {
  let sent: TurnRequest | undefined;
  const turn = inputGuardrails([])((request) => {
    sent = request;
    return new WholeAnswer([]);
  });
  const guardrail = guardrailOf(filters, { appliesTo: AppliesTo.INPUT });
  await runTestTurn(
    turn,
    testRequest({ input: [{ type: "message", role: "user", content: text }] }),
    newScope({ guardrail }),
  );
  return sent?.input[0]?.["content"];
}

const answered = async (pieces: readonly string[], filters: readonly Filter[]): Promise<string> =>
  joinDeltas((await runGuarded(streamedMessage(...pieces), filters)).events);

const rows = disguisedWords.flatMap((disguise) =>
  disguise.written.map((written) => [disguise.name, written, disguise] as const),
);

test.each(rows)(
  "a forbidden word is found when it is %s: %j",
  async (_, written, { pattern = "password", requests, answers }: Disguise) => {
    const filters = [redactFilter(pattern, "<pw>")];
    const text = `say ${written} now`;
    const shown = [
      String(await asked(text, filters)),
      await answered([text], filters),
      await answered(text.split(""), filters),
    ];
    const isSeen = shown.map((each) => each.includes("<pw>"));
    expect([shown, isSeen]).toEqual([shown, [requests, answers, answers]]);
    for (const each of shown) expect(each).toMatch(/^say .* now$/s);
  },
);

test.each([
  "p_a_s_s_w_o_r_d 3",
  "p_a_s_s_w_o_r_d now",
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg== p_a_s_s_w_o_r_d 3deba7a99f04c1",
])("the spelling with underscores %j is found, whole and in pieces", async (text) => {
  const filters = [redactFilter("password", "<pw>")];
  const shown = [await answered([text], filters), await answered(text.split(""), filters), await asked(text, filters)];
  expect(shown).toEqual([expect.stringContaining("<pw>"), shown[0], shown[0]]);
});

describe("exactly the written characters of a disguised word are redacted:", () => {
  test.each([
    ["a &#112;assw&#111rd b", "a <pw> b"],
    ["a &lt;p&shy;assword&gt; b", "a &lt;<pw>&gt; b"],
    ["<p>a <b>pass</b>word</p>", "<p>a <b><pw></p>"],
    ["a **pass**word and **bold** text", "a **<pw> and **bold** text"],
    ["see [pass](https://a.example/)word [1](x)", "see [<pw> [1](x)"],
    ["p,a,s,s,w,o,r,d, q", "<pw>, q"],
    ["a b  p  a  s  s  w  o  r  d  c d", "a b  <pw>  c d"],
    ["p\u0336a\u0336s\u0336s\u0336word b", "<pw> b"],
  ])("%j", async (text, expected) => {
    const filters = [redactFilter("password", "<pw>")];
    expect([await asked(text, filters), await answered(text.split(""), filters)]).toEqual([expected, expected]);
  });
});

describe("no forbidden word is found in", () => {
  test.each([
    "snake_case_word pass_word __init__ a_b",
    "| pass | word |\n|---|---|\n| pass | word |",
    "<td>pass</td><td>word</td><li>pass<li>word",
    "if (pass < word && word > pass) pass<word; word>pass",
    "pass & word, pass &amp; word, pass&lt;word",
    "a, b, c  s e c r e t  w o r d",
  ])("%j", async (text) => {
    const filters = [redactFilter("password", "<pw>"), redactFilter("secretword", "<pw>")];
    expect([await asked(text, filters), await answered(text.split(""), filters)]).toEqual([text, text]);
  });
});

test("a long text scanned in pieces keeps its markup whole", async () => {
  const filters = [redactFilter("password", "<pw>")];
  for (let shift = 0; shift < 40; shift++) {
    const text = `${"x".repeat(8_170 + shift)} pass<b title="ab cd ef gh">word</b> ${"y ".repeat(6_000)}`;
    expect(await asked(text, filters)).toContain("<pw></b>");
  }
});

test("markup holds back no more of an answer than the maximum length of a match", async () => {
  const junk = `pass${"<b></b>".repeat(20_000)}`;
  const { events } = await runGuarded(streamedMessage(...(junk.match(/.{1,500}/gs) ?? []), "word", " after"), [
    redactFilter("password"),
  ]);
  const first = events.findIndex(({ type }) => type === "text.delta");
  expect([joinDeltas(events), first < 10]).toEqual([`${junk}word after`, true]);
});

test("the documentation page on disguises lists every tested disguise", () => {
  const readme = readPage("docs/guardrails/disguises.md");
  const mark = (isSeen: boolean) => (isSeen ? "seen" : "not seen");
  const table = disguisedWords.map(
    ({ name, requests, answers }) => `| ${name} | ${mark(requests)} | ${mark(answers)} |`,
  );
  expect(readme).toContain(["| disguise | requests | answers |", "|---|---|---|", ...table].join("\n"));
});
