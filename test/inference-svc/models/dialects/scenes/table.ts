/** Scenes of every format, with the items for clients. */
import { expect } from "@jest/globals";
import { functionTool } from "../../../asking.ts";
import { type Scene, callPiece, refusalPiece, textPiece, thoughtPiece } from "./scene.ts";

/** An item for a client. A reasoning item has the form of the format. */
export type Shown =
  | { readonly thought: string; readonly signature?: string; readonly status?: string }
  | { readonly type: string; readonly [field: string]: unknown };

export interface SceneRow extends Scene {
  readonly name: string;
  readonly items: readonly Shown[];
  /** Deltas of texts and arguments, if they differ from the pieces. */
  readonly deltas?: readonly string[];
  /** The status that the calls give the answer, where the provider reports an end. */
  readonly inferred?: "limit";
  /** Formats with rules of their own for this scene, which their suites have. */
  readonly not?: readonly string[];
}

interface SourcePlace {
  readonly url: string;
  readonly title: string;
  readonly start_index: number;
  readonly end_index: number;
}

const part = (text: string, ...places: readonly SourcePlace[]) => ({
  type: "output_text",
  text,
  annotations: places.map((place) => ({ type: "url_citation", ...place })),
  logprobs: [],
});
const refusal = (text: string) => ({ type: "refusal", refusal: text });
const message = (...content: readonly (object | string)[]): Shown => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: content.map((each) => (typeof each === "string" ? part(each) : each)),
});
const call = (name: string, args: string, more: object = {}): Shown => ({
  type: "function_call",
  call_id: `id_${name}`,
  name,
  arguments: args,
  status: "completed",
  ...more,
});
const cut = (shown: Shown): Shown => ({ ...shown, status: "incomplete" });

/** Arguments with a number beyond the precision of JavaScript. */
const exact = '{"n":12345678901234567890,"d":1.0}';
const pair = (name: string) => `{"town":"${name}"}`;
const source = { url: "https://a.example/", title: "A" };

const tools = [
  { type: "custom" as const, name: "patch", json: '{"type":"custom","name":"patch"}' },
  {
    type: "namespace" as const,
    name: "crm",
    description: "Customers",
    tools: [functionTool({ name: "find" })],
    json: "{}",
  },
];

export const sceneRows: readonly SceneRow[] = [
  { name: "a text in two deltas", pieces: [textPiece("One, ", "two.")], items: [message("One, two.")] },
  {
    name: "empty deltas beside a text",
    pieces: [thoughtPiece(""), textPiece("", "Hi", "")],
    items: [message("Hi")],
    // These formats begin an item with a block.
    not: ["messages", "responses"],
  },
  {
    name: "characters of two to four bytes, quotes and line ends",
    pieces: [textPiece("Grüße ☕ ", '“Zürich” \\ "x"\n\u2028', "😀.")],
    items: [message('Grüße ☕ “Zürich” \\ "x"\n\u2028😀.')],
  },
  {
    name: "a character cut over two deltas",
    pieces: [textPiece("a\ud83d", "\ude00b")],
    items: [message("a😀b")],
    deltas: ["a", "😀b"],
  },
  {
    name: "a thought before a text",
    pieces: [thoughtPiece("Hm, ", "91. ☕"), textPiece("No.")],
    items: [{ thought: "Hm, 91. ☕" }, message("No.")],
  },
  {
    name: "signed thoughts between texts and calls",
    pieces: [
      { ...thoughtPiece("One ", "thought."), signature: "EqQBCgIYAhIM1gbc" },
      textPiece("A text."),
      thoughtPiece("Another thought."),
      callPiece("f", pair("Oslo")),
      { ...thoughtPiece("A third."), signature: "EqQBCgIYZZZZ" },
      textPiece("The end."),
    ],
    items: [
      { thought: "One thought.", signature: "EqQBCgIYAhIM1gbc" },
      message("A text."),
      { thought: "Another thought." },
      call("f", pair("Oslo")),
      { thought: "A third.", signature: "EqQBCgIYZZZZ" },
      message("The end."),
    ],
  },
  {
    name: "a text and two calls, in small pieces",
    pieces: [
      textPiece("Checking."),
      callPiece("get_weather", ...Array.from('{ "town": "Zürich 😀" }')),
      callPiece("now", "{", "}"),
    ],
    stop: "calls",
    items: [message("Checking."), call("get_weather", '{ "town": "Zürich 😀" }'), call("now", "{}")],
    deltas: ["Checking.", ...Array.from('{ "town": "Zürich 😀" }'), "{", "}"],
  },
  {
    name: "a call without arguments",
    pieces: [callPiece("now")],
    stop: "calls",
    items: [call("now", "{}")],
    deltas: ["{}"],
  },
  {
    name: "numbers in arguments",
    pieces: [textPiece("x"), callPiece("f", exact), callPiece("g", "{}")],
    stop: "calls",
    items: [message("x"), call("f", exact), call("g", "{}")],
  },
  {
    name: "calls without ids",
    pieces: ["Oslo", "Rome"].map((town) => ({ kind: "call", name: "f", said: [pair(town)] }) as const),
    stop: "calls",
    items: ["Oslo", "Rome"].map((town) => call("f", pair(town), { call_id: expect.stringMatching(/^call_\w+$/) })),
  },
  {
    name: "two calls with one id",
    pieces: [callPiece("f", pair("Oslo")), { ...callPiece("g", pair("Rome")), id: "id_f" }],
    stop: "calls",
    items: [call("f", pair("Oslo")), call("g", pair("Rome"), { call_id: expect.stringMatching(/^call_/) })],
    not: ["responses"],
  },
  {
    name: "calls with pieces in turns",
    pieces: [callPiece("f", '{"x":', "1}"), callPiece("g", '{"y":', "2}"), callPiece("h", "{}")],
    stop: "calls",
    interleaved: true,
    items: [call("f", '{"x":1}'), call("g", '{"y":2}'), call("h", "{}")],
  },
  {
    name: "a call that begins before the end of a text",
    pieces: [textPiece("One, ", "two, ", "three."), callPiece("f", "{}")],
    stop: "calls",
    interleaved: true,
    items: [message("One, two, three."), call("f", "{}")],
  },
  {
    name: "calls of a custom tool, of a namespace, and of an unknown tool",
    pieces: [
      callPiece("patch", '{"inp', 'ut":"a\\u00', 'e9\\n"}'),
      callPiece("crm__find", "{}"),
      callPiece("unknown", "{}"),
    ],
    stop: "calls",
    request: { tools },
    items: [
      { type: "custom_tool_call", call_id: "id_patch", name: "patch", input: "aé\n", status: "completed" },
      call("find", "{}", { call_id: "id_crm__find", namespace: "crm" }),
      call("unknown", "{}"),
    ],
    deltas: ["a", "é\n", "{}", "{}"],
    not: ["responses"],
  },
  {
    name: "a call of a custom tool without input",
    pieces: [callPiece("patch")],
    stop: "calls",
    request: { tools },
    items: [{ type: "custom_tool_call", call_id: "id_patch", name: "patch", input: "", status: "completed" }],
    not: ["responses"],
  },
  {
    name: "a refusal after a text",
    pieces: [textPiece("Well."), { ...refusalPiece("I cannot ", "help."), joins: true }],
    items: [message("Well.", refusal("I cannot help."))],
  },
  { name: "a refusal", pieces: [refusalPiece("I cannot ", "help.")], items: [message(refusal("I cannot help."))] },
  {
    name: "a summary of a thought",
    pieces: [
      { kind: "summary", said: ["Short", "ly."] },
      { ...thoughtPiece("At length."), joins: true },
      textPiece("No."),
    ],
    items: [
      {
        type: "reasoning",
        status: "completed",
        summary: [{ type: "summary_text", text: "Shortly." }],
        content: [{ type: "reasoning_text", text: "At length." }],
        format: expect.any(String),
        signature: null,
      },
      message("No."),
    ],
  },
  {
    name: "an image between texts",
    pieces: [textPiece("Here: "), { kind: "image", said: ["QUJD"] }, textPiece("!")],
    items: [message("Here: "), { type: "image_generation_call", status: "completed", result: "QUJD" }, message("!")],
  },
  {
    name: "a source of some words",
    pieces: [{ ...textPiece("😀 “So”: ", "born ☕", ", and more."), cites: [{ delta: 1, ...source }] }],
    items: [message(part("😀 “So”: born ☕, and more.", { ...source, start_index: 8, end_index: 14 }))],
  },
  {
    name: "sources in two texts",
    pieces: [
      { ...textPiece("One"), cites: [{ delta: 0, ...source }] },
      thoughtPiece("Hm"),
      { ...textPiece("and ", "two"), cites: [{ delta: 1, ...source }] },
    ],
    items: [
      message(part("One", { ...source, start_index: 0, end_index: 3 })),
      { thought: "Hm" },
      message(part("and two", { ...source, start_index: 4, end_index: 7 })),
    ],
    // Gemini gives all sources of an answer with its last message.
    not: ["gemini"],
  },
  {
    name: "all token counts and a tier",
    pieces: [textPiece("Hi")],
    counts: { input: 1_205, cached: 1_000, written: 200, output: 40, reasoning: 30 },
    tier: "priority",
    items: [message("Hi")],
  },
  {
    name: "a limit in a text",
    pieces: [thoughtPiece("Hm"), callPiece("f", "{}"), textPiece("Once")],
    stop: "limit",
    items: [{ thought: "Hm" }, call("f", "{}"), cut(message("Once"))],
  },
  {
    name: "a limit in a thought",
    pieces: [thoughtPiece("Hm")],
    stop: "limit",
    items: [{ thought: "Hm", status: "incomplete" }],
  },
  {
    name: "a limit in the second call",
    pieces: [callPiece("f", pair("Oslo")), callPiece("g", '{"to', 'wn":')],
    stop: "limit",
    items: [call("f", pair("Oslo")), cut(call("g", '{"town":'))],
  },
  {
    name: "a limit in one of two calls with pieces in turns",
    pieces: [callPiece("f", '{"x":', "1}"), callPiece("g", '{"y":', "2")],
    stop: "limit",
    interleaved: true,
    items: [call("f", '{"x":1}'), cut(call("g", '{"y":2'))],
  },
  {
    name: "a second call that breaks off before a reported end",
    pieces: [callPiece("f", pair("Oslo")), callPiece("g", '{"town', '":"Ro')],
    stop: "calls",
    inferred: "limit",
    items: [call("f", pair("Oslo")), cut(call("g", '{"town":"Ro'))],
  },
  {
    name: "a call of a custom tool that breaks off before a reported end",
    pieces: [callPiece("patch", '{"input":"a', "b")],
    stop: "end",
    inferred: "limit",
    request: { tools },
    items: [cut({ type: "custom_tool_call", call_id: "id_patch", name: "patch", input: "ab" })],
    deltas: ["a", "b"],
    not: ["responses"],
  },
  {
    name: "a limit after a whole call",
    pieces: [callPiece("f", pair("Oslo"))],
    stop: "limit",
    items: [call("f", pair("Oslo"))],
    not: ["responses"],
  },
  {
    name: "objects joined in the arguments of one call",
    pieces: [callPiece("f", '{"q":"}{"}', ' {"q":', '"b"}{"q":"}{"}\n{"q":"b"}{}', '{"q":"c"}')],
    stop: "calls",
    items: [
      call("f", '{"q":"}{"} '),
      ...["b", "c"].map((q) => call("f", `{"q":"${q}"}`, { call_id: expect.stringMatching(/^call_/) })),
    ],
    deltas: ['{"q":"}{"}', " ", '{"q":"b"}', '{"q":"c"}'],
  },
  {
    name: "objects joined in one call, the last of them cut at a limit",
    pieces: [callPiece("f", '{"q":"a"}{"q":"b"}{"q', '":')],
    stop: "limit",
    items: [
      call("f", '{"q":"a"}'),
      call("f", '{"q":"b"}', { call_id: expect.stringMatching(/^call_/) }),
      cut(call("f", '{"q":', { call_id: expect.stringMatching(/^call_/) })),
    ],
    not: ["responses"],
    deltas: ['{"q":"a"}', '{"q":"b"}', '{"q":'],
  },
  {
    name: "a filter after a text",
    pieces: [textPiece("On")],
    stop: "filter",
    items: [cut(message("On"))],
    not: ["cohere"],
  },
];
