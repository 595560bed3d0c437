/** Inputs shortened to fit a context window: what is dropped in which order, and what must hold for the remaining input. */
import { describe, expect, test } from "@jest/globals";
import { type Compressed, compress } from "@sluice/inference-svc/features/compression/compress.js";
import { estimateInputTokens, measureItems } from "@sluice/inference-svc/models/estimate/tokens.js";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import fc from "../../../support/properties.js";

const model = "acme/large-2";
const tokensOf = (item: InputItem): number => estimateInputTokens(measureItems([item]), model);

function compressed(input: readonly InputItem[], target: number, fixedTokens = 0): Compressed | undefined {
  const work = compress(input, { fixedTokens, target, tokensOf });
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

const words = (count: number, mark = "w"): string =>
  Array.from({ length: count }, (_, i) => `${mark}${i % 97}`).join(" ");
const message = (role: string, content: unknown): InputItem => ({ type: "message", role, content });
const user = (content: unknown) => message("user", content);
const assistant = (text: string) => message("assistant", [{ type: "output_text", text, annotations: [] }]);
const call = (id: string, args = "{}"): InputItem => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: id,
  name: "f",
  arguments: args,
});
const output = (id: string, text: unknown): InputItem => ({ type: "function_call_output", call_id: id, output: text });
const reasoning = (id: string, sealed = "x".repeat(40)): InputItem => ({
  type: "reasoning",
  id,
  summary: [{ type: "summary_text", text: words(50) }],
  encrypted_content: sealed,
});

describe("an input in context compression", () => {
  test("stays unchanged while it fits", () => {
    const input = [user(words(100))];
    expect(compressed(input, tokensOf(input[0]!))).toBeUndefined();
  });

  test("loses older outputs of tools first, from the middle, and keeps the last ten", () => {
    const rounds = Array.from({ length: 20 }, (_, i) => [call(`c${i}`), output(`c${i}`, words(300, `${i}.`))]);
    const input = [user("Go."), ...rounds.flat()];
    const { input: left, steps, after } = compressed(input, 6_000)!;
    expect([steps, left.length, after <= 6_000]).toEqual([["tool_outputs"], input.length, true]);
    const masked = left.flatMap(({ output }, index) => (String(output).startsWith("[output of") ? [index] : []));
    expect(masked.length).toBeGreaterThan(2);
    expect(Math.max(...masked)).toBeLessThanOrEqual(20);
    expect(left.at(masked[0]!)?.["output"]).toMatch(/^\[output of \d+ characters omitted, sha256 [0-9a-f]{8}\]$/);
  });

  const doc = words(800);
  const picture = { type: "input_image", image_url: "data:x", detail: "auto" };
  test.each<[string, InputItem[], number, InputItem | undefined]>([
    [
      "media",
      [user([{ type: "input_text", text: "See." }, picture])],
      1_000,
      user([
        { type: "input_text", text: "See." },
        { type: "input_text", text: "[image omitted]" },
      ]),
    ],
    ["duplicates", [user(doc), assistant("Read."), user(doc)], 1_600, user("[said again below]")],
    ["reasoning", [reasoning("rs_1")], 80, undefined],
  ])("loses %s after the outputs of tools", (step, items, target, expected) => {
    const last = user(words(20));
    const input = [user("Go."), ...items, assistant("Done."), last];
    const { input: left, steps } = compressed(input, target)!;
    expect(steps).toEqual([step]);
    expect(left).toEqual(input.flatMap((item, index) => (index === 1 ? (expected ?? []) : item)));
  });

  test("loses whole exchanges next, and the receipt has the number of their items", () => {
    const exchanges = Array.from({ length: 12 }, (_, i) => [
      user(words(150, `q${i}.`)),
      assistant(words(150, `a${i}.`)),
    ]);
    const input = [message("system", "Be kind."), ...exchanges.flat(), user("And now?")];
    const { input: left, steps, after } = compressed(input, 4_000)!;
    expect([steps, after <= 4_000]).toEqual([["units"], true]);
    expect(left.slice(0, 2)).toEqual(input.slice(0, 2));
    expect(left.slice(-2)).toEqual(input.slice(-2));
    const marks = left.filter(({ content }) => /^\[\d+ earlier items? omitted\]$/.test(String(content)));
    expect(marks.length).toBeGreaterThan(0);
    const count = marks.reduce((sum, { content }) => sum + Number(/\d+/.exec(String(content))), 0);
    expect(left.length - marks.length + count).toBe(input.length);
  });

  test("never loses the last question, with any number of an agent's turns after it", () => {
    const asked = user("And now for something else.");
    const rounds = (mark: string) =>
      Array.from({ length: 12 }, (_, i) => [
        call(`${mark}${i}`, JSON.stringify({ said: words(60) })),
        output(`${mark}${i}`, words(150, `${i}.`)),
      ]).flat();
    const input = [user("Hello."), ...rounds("a"), assistant("Done."), asked, ...rounds("b")];
    const { input: left, steps, after } = compressed(input, 1_500)!;
    expect([steps.includes("units"), after <= 1_500]).toEqual([true, true]);
    expect(left).toContainEqual(asked);
  });

  test("loses last of all the middle of its longest text, by whole lines", () => {
    const lines = Array.from({ length: 2_000 }, (_, i) => `line ${i} of the text`).join("\n");
    const { input, steps, after } = compressed([user(lines)], 2_000)!;
    const text = String(input[0]?.["content"]);
    expect(steps).toEqual(["texts"]);
    expect(text).toMatch(
      /^line 0 of the text\n[^]*of the text\n\[\d+ characters omitted\]\nline [^]*line 1999 of the text$/,
    );
    expect(after).toBeLessThanOrEqual(2_000);
    // A single question is not cut more than necessary.
    expect(after).toBeGreaterThan(1_800);
  });

  test("takes linear time", () => {
    const input = Array.from({ length: 100_000 }, (_, i) => (i % 2 === 0 ? user("a") : assistant("b")));
    const before = process.cpuUsage();
    const { input: left } = compressed(input, 500)!;
    expect(left.length).toBeLessThan(110);
    // Limit in microseconds of processor time; quadratic work would take minutes.
    expect(process.cpuUsage(before).user).toBeLessThan(20_000_000);
  });

  test("is passed unchanged when nothing more can go", () => {
    const { after, input } = compressed([message("system", words(2_000)), user("Hi")], 300)!;
    expect(after).toBeGreaterThan(300);
    expect(input).toHaveLength(2);
  });
});

test("compressed inputs of consecutive turns begin the same, so that caches hold", () => {
  const history: InputItem[] = [message("system", words(50)), user(words(200, "task"))];
  const beginnings = new Set<string>();
  for (let turn = 0; turn < 20; turn++) {
    history.push(call(`c${turn}`), output(`c${turn}`, words(120, `o${turn}.`)), assistant(words(60, `s${turn}.`)));
    const left = compressed(history, 4_000)?.input;
    if (left) beginnings.add(JSON.stringify(left.slice(0, 12)));
    history.push(user(`Go on, ${turn}.`));
  }
  expect(beginnings.size).toBeGreaterThan(0);
  expect(beginnings.size).toBeLessThanOrEqual(3);
});

describe("any input in context compression", () => {
  const text = fc.integer({ min: 1, max: 400 }).map((count) => words(count));
  const exchange = fc.oneof(
    text.map((said) => [user(said)]),
    text.map((said) => [
      user([
        { type: "input_text", text: said },
        { type: "input_image", image_url: "data:,x" },
      ]),
    ]),
    text.map((said) => [assistant(said)]),
    fc
      .tuple(text, text, fc.nat(1_000_000))
      .map(([said, gave, id]) => [
        reasoning(`rs_${id}`, said),
        call(`a${id}`, JSON.stringify({ said })),
        call(`b${id}`),
        output(`b${id}`, gave),
        output(`a${id}`, [{ type: "input_text", text: gave }]),
      ]),
    fc.tuple(text, fc.nat(1_000_000)).map(([said, id]) => [
      { ...assistant(said), id: `msg_${id}` },
      { type: "item_reference", id: `msg_${id}` },
    ]),
    fc.constant([message("developer", "Mind the gap.")]),
    fc.constant([{ type: "compaction", id: "cmp_1", encrypted_content: "sealed" }]),
  );
  const inputs = fc.array(exchange, { minLength: 1, maxLength: 30 }).map((all) => all.flat() as InputItem[]);

  test("stays a valid input", () => {
    let tried = 0;
    fc.assert(
      fc.property(inputs, fc.integer({ min: 300, max: 6_000 }), (input, target) => {
        const result = compressed(input, target);
        if (result === undefined) return;
        tried++;
        const { input: left } = result;
        const isMarker = ({ content }: InputItem) => /^\[\d+ earlier items? omitted\]$/.test(String(content));
        const kept = left.filter((item) => !isMarker(item));
        checkPairs(left);
        // The items keep their order, none is new, and all settings are kept.
        let at = -1;
        for (const item of kept) {
          at = input.findIndex((each, index) => index > at && isFrom(item, each));
          expect([item, at]).not.toEqual([item, -1]);
        }
        for (const kind of ["developer", "compaction"]) expect(countOf(left, kind)).toBe(countOf(input, kind));
        for (const { role, content } of left) if (role === "user") expect(content).not.toEqual([]);
        // The last two units of the input are always kept.
        expect(left.at(-1)?.type).toBe(input.at(-1)?.type);
        expect(result.after).toBeLessThanOrEqual(result.before + 20);
        expect(result.after).toBe(left.reduce((sum, item) => sum + tokensOf(item), 0));
      }),
      { numRuns: 300 },
    );
    expect(tried).toBeGreaterThan(50);
  });

  const countOf = (input: readonly InputItem[], kind: string): number =>
    input.filter(({ type, role }) => type === kind || role === kind).length;

  /** Whether an item equals the original, except for edits in its editable parts. */
  function isFrom(item: InputItem, original: InputItem): boolean {
    if (item.type !== original.type || item["role"] !== original["role"] || item["id"] !== original["id"]) return false;
    if (item["call_id"] !== original["call_id"]) return false;
    const isSealed = item.type === "reasoning" || item.type === "function_call" || item.type === "compaction";
    return !isSealed || item === original;
  }

  /** Every output follows its call, every call has its output, every reference its item, and no other item stands between a call and its output. */
  function checkPairs(left: readonly InputItem[]): void {
    const open = new Set<unknown>();
    const ids = new Set<unknown>();
    for (const item of left) {
      if (item.type === "function_call") open.add(item["call_id"]);
      else if (item.type === "function_call_output") expect(open.delete(item["call_id"])).toBe(true);
      else if (item.type === "item_reference") expect(ids.has(item["id"])).toBe(true);
      else expect([item, open.size]).toEqual([item, 0]);
      ids.add(item["id"]);
    }
    expect(open.size).toBe(0);
  }
});
