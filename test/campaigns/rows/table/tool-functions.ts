/** SPEC 2.5: functions, custom tools and their namespaces, as providers get and call them. */
import type { Row, RowCase } from "../row.ts";
import { repliesWithCall, exampleFunction, expectOutput, requestWithTool } from "./asks.ts";

const row = (name: string, ...cases: readonly RowCase[]): Row => ({ name: `2.5 ${name}`, cases });
const deep = { type: "object", properties: { where37: { type: "string", enum: ["a", "b"] } }, required: ["where37"] };
const functions: readonly Row[] = [
  row("function", {
    ask: requestWithTool("function", { name: "f37", description: "Does 37", parameters: deep }),
    sent: /f37.*Does 37|Does 37.*f37/s,
  }),
  row("function: parameters", { ask: requestWithTool("function", { name: "f", parameters: deep }), sent: /where37/ }),
  row("function: parameters null", {
    ask: requestWithTool("function", { name: "f37", parameters: null }),
    sent: /f37/,
  }),
  row("function: strict", {
    ask: requestWithTool("function", { name: "f", strict: true, parameters: { ...deep, additionalProperties: false } }),
    on: ["chat", "responses"],
    sent: /"strict":true/,
  }),
  row("function: async", { ask: { tools: [{ ...exampleFunction, async: true }] }, sent: /"f"/ }),
  row("function: defer_loading without tool_search", {
    ask: {
      tools: [
        { ...exampleFunction, defer_loading: true },
        { ...exampleFunction, name: "g" },
      ],
    },
    on: ["chat"],
    refused: [400, /tool_search/],
  }),
  row("function: defer_loading of every tool", {
    ask: { tools: [{ ...exampleFunction, defer_loading: true }, { type: "service:tool_search" }] },
    on: ["chat"],
    unsent: /"name":"f"/,
  }),
  row("function: defer_loading withholds", {
    ask: {
      tools: [
        { ...exampleFunction, description: "Secret 37", defer_loading: true },
        { ...exampleFunction, name: "g" },
        { type: "service:tool_search" },
      ],
    },
    unsent: /Secret 37/,
  }),
  row("function: found by tool_search", {
    ask: {
      tools: [
        { ...exampleFunction, name: "hidden37", defer_loading: true },
        { ...exampleFunction, name: "g" },
        { type: "service:tool_search" },
      ],
    },
    says: repliesWithCall("service_tool_search", { query: "hidden37" }),
    sent: /hidden37/,
    back: expectOutput({ type: "service:tool_search", status: "completed" }),
  }),
  row("function: defer_loading and tool_choice required", {
    ask: {
      tools: [{ ...exampleFunction, name: "h", defer_loading: true }, exampleFunction, { type: "service:tool_search" }],
      tool_choice: "required",
    },
    on: ["chat"],
    refused: [400, /tool_choice/],
  }),
  row("function: two of one name", {
    ask: { tools: [exampleFunction, exampleFunction] },
    on: ["chat"],
    refused: [400, /tools/],
  }),
  row("function: nested as in chat", {
    ask: { tools: [{ type: "function", function: { name: "f" } }] },
    on: ["chat"],
    refused: [400, /^tools\.0\.function/],
  }),
  row("function: without a name", {
    ask: { tools: [{ type: "function", parameters: {} }] },
    on: ["chat"],
    refused: [400, /^tools\.0\.name/],
  }),
];

const customs: readonly Row[] = [
  row("custom", { ask: requestWithTool("custom", { name: "c37", description: "Does 37" }), sent: /c37/ }),
  row("custom: its call", {
    ask: requestWithTool("custom", { name: "c" }),
    on: ["chat", "messages", "gemini", "converse"],
    says: repliesWithCall("c", { input: "words37" }),
    back: expectOutput({ type: "custom_tool_call", name: "c", input: "words37" }),
  }),
  row("custom: format text", {
    ask: requestWithTool("custom", { name: "c37", format: { type: "text" } }),
    sent: /c37/,
  }),
  ...["lark", "regex"].map((syntax) =>
    row(`custom: grammar ${syntax}`, {
      ask: requestWithTool("custom", { name: "c37", format: { type: "grammar", syntax, definition: "start: /a/" } }),
      sent: /c37/,
    }),
  ),
  row("namespace", {
    ask: requestWithTool("namespace", {
      name: "n37",
      description: "Things",
      tools: [{ ...exampleFunction, name: "g37" }],
    }),
    sent: /g37/,
  }),
  row("namespace: its call", {
    ask: requestWithTool("namespace", { name: "n", description: "Things", tools: [exampleFunction] }),
    on: ["chat", "messages", "gemini", "converse"],
    says: repliesWithCall("n__f", { a: "1" }),
    back: expectOutput({ type: "function_call", name: "f", namespace: "n" }),
  }),
  row("namespace: with a custom tool", {
    ask: requestWithTool("namespace", { name: "n", description: "Things", tools: [{ type: "custom", name: "c37" }] }),
    sent: /c37/,
  }),
  row("namespace: empty description", {
    ask: requestWithTool("namespace", { name: "n", description: "", tools: [{ ...exampleFunction, name: "g37" }] }),
    sent: /g37/,
  }),
];

export const functionRows: readonly Row[] = [...functions, ...customs];
