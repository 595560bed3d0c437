/**
 * Requests in every format: one table of conversations and tools, and one reader for each format, written after the vendor's documentation. A
 * reader returns the conversation as lines, since formats group it in different ways.
 */
import { describe, expect, test } from "@jest/globals";
import type { InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { functionTool } from "../../asking.ts";
import { translateChat, otherChat } from "./chat-translation.ts";
import { translateToCohere } from "./cohere-translation.ts";
import { novaOnBedrock, translateToConverse } from "./converse-translation.ts";
import { olderModel, translateToGemini } from "./gemini-translation.ts";
import { translateToMessages } from "./messages-translation.ts";

type Fields = Readonly<Record<string, unknown>>;

interface SentTool {
  readonly name: string;
  readonly description: string | undefined;
  readonly schema: unknown;
}

interface WrittenRequest {
  readonly text: string;
  readonly body: Fields;
  /** Fields that are not sent, with the reasons. */
  readonly losses: readonly (readonly [path: string, reason: string])[];
}

interface RequestFormat {
  readonly name: string;
  readonly write: (request: Partial<TurnRequest>) => WrittenRequest;
  readonly lines: (body: Fields) => readonly string[];
  readonly tools: (body: Fields) => readonly SentTool[];
  /** "auto", "none", "required", or the name of a required tool. */
  readonly choice: (body: Fields) => string;
}

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as readonly Fields[]) : []);
const inner = (value: unknown): Fields => (value ?? {}) as Fields;
const textLine = (who: unknown, text: unknown): string => `${String(who)}: ${String(text)}`;
const callLine = (id: unknown, name: unknown, args: unknown): string =>
  `call ${String(id)}: ${String(name)} ${typeof args === "string" ? args : JSON.stringify(args)}`;
const resultLine = (id: unknown, text: unknown): string => `result ${String(id)}: ${String(text)}`;

/** A content of chat or Cohere: a text, or parts. */
const partsOf = (content: unknown): readonly Fields[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
const textOf = (content: unknown): string =>
  partsOf(content)
    .map(({ text }) => text)
    .join(" ");

/** Messages in the form that chat completions and Cohere share. */
const messageLines = (body: Fields): readonly string[] =>
  listOf(body["messages"]).flatMap(({ role, content, tool_plan: plan, tool_calls: calls, tool_call_id: id }) => {
    if (role === "tool") return [resultLine(id, textOf(content))];
    const said = partsOf(content).map(({ type, text }) => (type === "image_url" ? "image" : textLine(role, text)));
    const called = listOf(calls).map((call) => {
      const { name, arguments: args } = inner(call["function"]);
      return callLine(call["id"], name, args);
    });
    return [...said, ...(plan === undefined ? [] : [textLine(role, plan)]), ...called];
  });

const chatTools = (body: Fields): readonly SentTool[] =>
  listOf(body["tools"]).map((tool) => {
    const { name, description, parameters: schema } = inner(tool["function"]);
    return { name: String(name), description: description as string | undefined, schema };
  });

/** A content block of the Messages format. */
function blockLines(role: unknown, block: Fields): readonly string[] {
  const { type, id, name, input, tool_use_id: resultOf, content, text } = block;
  if (type === "tool_use") return [callLine(id, name, input)];
  if (type === "image") return ["image"];
  if (type !== "tool_result") return [textLine(role, text)];
  const [texts, images] = [listOf(content).filter((part) => part["type"] === "text"), listOf(content)];
  return [
    resultLine(resultOf, textOf(texts)),
    ...images.flatMap((part) => (part["type"] === "image" ? ["image"] : [])),
  ];
}

/** A content block of the Converse format. */
function converseLines(role: unknown, { text, image, toolUse, toolResult }: Fields): readonly string[] {
  if (toolUse !== undefined) {
    const { toolUseId, name, input } = inner(toolUse);
    return [callLine(toolUseId, name, input)];
  }
  if (image !== undefined) return ["image"];
  if (toolResult === undefined) return [textLine(role, text)];
  const { toolUseId, content } = inner(toolResult);
  const texts = listOf(content).filter((part) => part["text"] !== undefined);
  return [resultLine(toolUseId, textOf(texts)), ...listOf(content).flatMap((part) => (part["image"] ? ["image"] : []))];
}

function geminiLines(role: unknown, { text, inlineData, functionCall, functionResponse }: Fields): readonly string[] {
  if (functionCall !== undefined) {
    const { id, name, args } = inner(functionCall);
    return [callLine(id, name, args)];
  }
  if (inlineData !== undefined) return ["image"];
  if (functionResponse === undefined) return [textLine(role === "model" ? "assistant" : role, text)];
  const { id, response } = inner(functionResponse);
  return [resultLine(id, inner(response)["output"])];
}

const formats: readonly RequestFormat[] = [
  {
    name: "chat",
    write: (request) => translateChat(request, otherChat),
    // The chat translation joins system messages into one, with an empty line between them.
    lines: (body) =>
      messageLines(body).flatMap((line) => line.split("\n\n").map((each, at) => (at > 0 ? `system: ${each}` : each))),
    tools: chatTools,
    choice: ({ tool_choice: choice = "auto" }) =>
      typeof choice === "string" ? choice : String(inner(inner(choice)["function"])["name"]),
  },
  {
    name: "cohere",
    write: translateToCohere,
    lines: messageLines,
    tools: chatTools,
    // Cohere has no choice by name: only the chosen tool is sent.
    choice: ({ tool_choice: choice = "auto" }) => (choice as string).toLowerCase(),
  },
  {
    name: "messages",
    write: translateToMessages,
    lines: ({ system, messages }) => [
      ...listOf(system).flatMap((block) => blockLines("system", block)),
      ...listOf(messages).flatMap(({ role, content }) => listOf(content).flatMap((block) => blockLines(role, block))),
    ],
    tools: ({ tools }) =>
      listOf(tools).map(({ name, description, input_schema: schema }) => ({
        name: String(name),
        description: description as string | undefined,
        schema,
      })),
    choice: ({ tool_choice: choice }) => {
      const { type = "auto", name } = inner(choice);
      return String(name ?? (type === "any" ? "required" : type));
    },
  },
  {
    name: "converse",
    write: (request) => translateToConverse(request, novaOnBedrock),
    lines: ({ system, messages }) => [
      ...listOf(system).flatMap((block) => converseLines("system", block)),
      ...listOf(messages).flatMap(({ role, content }) =>
        listOf(content).flatMap((block) => converseLines(role, block)),
      ),
    ],
    tools: ({ toolConfig }) =>
      listOf(inner(toolConfig)["tools"]).map(({ toolSpec }) => {
        const { name, description, inputSchema } = inner(toolSpec);
        return {
          name: String(name),
          description: description as string | undefined,
          schema: inner(inputSchema)["json"],
        };
      }),
    choice: ({ toolConfig }) => {
      if (toolConfig === undefined) return "none";
      const { any, tool } = inner(inner(toolConfig)["toolChoice"]);
      return tool === undefined ? (any === undefined ? "auto" : "required") : String(inner(tool)["name"]);
    },
  },
  {
    name: "gemini",
    write: (request) => translateToGemini(request, olderModel),
    lines: ({ systemInstruction, contents }) => [
      ...listOf(inner(systemInstruction)["parts"]).flatMap((part) => geminiLines("system", part)),
      ...listOf(contents).flatMap(({ role, parts }) => listOf(parts).flatMap((part) => geminiLines(role, part))),
    ],
    tools: ({ tools }) =>
      listOf(listOf(tools)[0]?.["functionDeclarations"]).map(({ name, description, parametersJsonSchema: schema }) => ({
        name: String(name),
        description: description as string | undefined,
        schema,
      })),
    choice: ({ toolConfig }) => {
      const { mode = "AUTO", allowedFunctionNames: names } = inner(inner(toolConfig)["functionCallingConfig"]);
      const words: Fields = { AUTO: "auto", NONE: "none", ANY: "required" };
      return String(Array.isArray(names) ? names[0] : words[String(mode)]);
    },
  },
];

const say = (role: string, content: unknown): InputItem => ({ type: "message", role, content });
const calls = (call_id: string, json = "{}"): InputItem => ({
  type: "function_call",
  id: `fc_${call_id}`,
  call_id,
  name: "f",
  arguments: json,
});
const answers = (call_id: string, output: unknown): InputItem => ({ type: "function_call_output", call_id, output });
const text = (words: string) => ({ type: "input_text", text: words });
const image = { type: "input_image", image_url: "data:image/png;base64,AA" };

interface Conversation extends Partial<TurnRequest> {
  readonly lines: readonly string[];
  /** A format whose servers accept the tools unchanged. */
  readonly not?: string;
  /** A field that is not sent unchanged, with the reason. */
  readonly lost?: string;
}

const conversations: Readonly<Record<string, Conversation>> = {
  "prompts of the system before a later one": {
    instructions: "i",
    input: [say("system", "s"), say("developer", [text("d")]), say("user", "u"), say("developer", "later")],
    lines: ["system: i", "system: s", "system: d", "user: u", "user: later"],
    lost: "input.3.role",
  },
  "several messages of one role": {
    input: [say("user", "a"), say("user", [text("b"), text("c")]), say("assistant", "d")],
    lines: ["user: a", "user: b", "user: c", "assistant: d"],
  },
  "empty texts": {
    input: [say("user", "a"), say("user", [text(""), text("b")]), say("assistant", ""), say("assistant", "c")],
    lines: ["user: a", "user: b", "assistant: c"],
    not: "chat",
  },
  "a message of an agent": {
    input: [{ type: "agent_message", author: "a", recipient: "b", content: [text("Hi")] }],
    lines: ["user: Message from a to b:", "user: Hi"],
  },
  "a refusal": {
    input: [say("user", "u"), say("assistant", [{ type: "refusal", refusal: "No." }]), say("user", "v")],
    lines: ["user: u", "assistant: No.", "user: v"],
  },
  "calls with a text, and an image in a result": {
    input: [
      say("user", "u"),
      say("assistant", [{ type: "output_text", text: "Checking.", annotations: [] }]),
      calls("a", '{"n":1}'),
      calls("b"),
      answers("a", "1"),
      answers("b", [text("2"), image]),
      say("user", "v"),
    ],
    lines: [
      "user: u",
      "assistant: Checking.",
      'call a: f {"n":1}',
      "call b: f {}",
      "result a: 1",
      "result b: 2",
      "image",
      "user: v",
    ],
  },
  "two rounds of calls": {
    input: [say("user", "u"), calls("a"), answers("a", "1"), calls("b"), answers("b", "2"), say("assistant", "Done.")],
    lines: ["user: u", "call a: f {}", "result a: 1", "call b: f {}", "result b: 2", "assistant: Done."],
  },
  "a reference to a call": {
    input: [say("user", "u"), calls("a"), { type: "item_reference", id: "fc_a" }, answers("a", "1")],
    lines: ["user: u", "call a: f {}", "result a: 1"],
  },
  "calls of a custom tool, of a namespace and of a shell": {
    input: [
      say("user", "u"),
      { type: "custom_tool_call", id: "c", call_id: "a", name: "patch", input: "x" },
      { type: "custom_tool_call_output", call_id: "a", output: "1" },
      { type: "function_call", id: "d", call_id: "b", name: "find", namespace: "crm", arguments: "{}" },
      answers("b", "2"),
      { type: "shell_call", id: "s", call_id: "s", action: { commands: ["ls"] } },
      { type: "shell_call_output", call_id: "s", output: "3" },
      { type: "web_search_call", id: "w", status: "completed" },
    ],
    lines: [
      "user: u",
      'call a: patch {"input":"x"}',
      "result a: 1",
      "call b: crm__find {}",
      "result b: 2",
      'call s: shell {"commands":["ls"]}',
      "result s: 3",
      "assistant: [Web search.]",
    ],
  },
};

/** A schema with a number beyond the precision of JavaScript, and with white space absent from JSON.stringify. */
const exact =
  '{"type":"object", "properties":{"n":{"type":"integer","const":12345678901234567890}},"additionalProperties":false}';
const lookup = functionTool({ name: "lookup", description: "Looks up", parametersJson: exact });
const tools = [lookup, functionTool({ name: "now" })];
const now = { type: "function", name: "now" };

const choices: readonly (readonly [TurnRequest["toolChoice"], string, number])[] = [
  [undefined, "auto", 2],
  ["auto", "auto", 2],
  ["none", "none", 2],
  ["required", "required", 2],
  [{ type: "tool", tool: now }, "now", 2],
  [{ type: "allowed_tools", mode: "auto", tools: [now] }, "auto", 1],
  [{ type: "allowed_tools", mode: "required", tools: [now] }, "required", 1],
];

const settings: Partial<TurnRequest> = {
  verbosity: "low",
  imageConfigJson: "{}",
  promptCacheKey: "k",
  promptCacheOptionsJson: '{"mode":"explicit","ttl":"30m"}',
  maxToolCalls: 3,
  topLogprobs: 2,
  frequencyPenalty: 1,
  presencePenalty: 0,
  truncation: "auto",
  include: ["message.output_text.logprobs"],
  reasoning: { context: "all_turns", mode: "pro" },
};
const everywhere = ["image_config", "prompt_cache_key", "reasoning.context", "reasoning.mode", "text.verbosity"];
const penalties = ["frequency_penalty", "presence_penalty"];
const blocks = [...penalties, "include.0", "max_tool_calls", "prompt_cache_options.ttl", "top_logprobs"];

/** Settings without a field in the format. */
const unsent: Readonly<Record<string, readonly string[]>> = {
  chat: ["prompt_cache_options"],
  cohere: ["include.0", "max_tool_calls", "prompt_cache_options", "top_logprobs"],
  messages: blocks,
  converse: blocks,
  gemini: [...penalties, "max_tool_calls", "prompt_cache_options", "top_logprobs"],
};

describe.each(formats)("a request in the format $name", (format) => {
  test.each(Object.entries(conversations))("keeps the order and roles of a conversation: %s", (_, row) => {
    const { lines, lost, not, ...request } = row;
    if (not === format.name) return;
    const { body, losses } = format.write(request);
    expect(format.lines(body)).toEqual(lines);
    if (lost !== undefined) expect(losses).toContainEqual([lost, expect.stringMatching(/^sent as the user's/)]);
  });

  test("names settings without a field in the format", () => {
    const paths = format.write(settings).losses.map(([path]) => path);
    expect(paths.toSorted()).toEqual([...everywhere, ...(unsent[format.name] ?? [])].toSorted());
  });

  test("sends the arguments of a call and the schema of a tool byte for byte", () => {
    const args = '{"n":12345678901234567890}';
    const { text: sent } = format.write({ tools, input: [say("user", "u"), calls("a", args), answers("a", "1")] });
    expect([sent.includes(args) || sent.includes(JSON.stringify(args)), sent.includes(exact)]).toEqual([true, true]);
  });

  test("sends functions, custom tools and namespaces as functions", () => {
    const custom = { type: "custom" as const, name: "patch", json: '{"type":"custom","name":"patch"}' };
    const inside = [functionTool({ name: "find" })];
    const crm = { type: "namespace" as const, name: "crm", description: "Customers", tools: inside, json: "{}" };
    expect(format.tools(format.write({ tools: [lookup, custom, crm] }).body)).toEqual([
      { name: "lookup", description: "Looks up", schema: JSON.parse(exact) as unknown },
      { name: "patch", description: undefined, schema: expect.objectContaining({ required: ["input"] }) },
      expect.objectContaining({ name: "crm__find", description: "Part of crm: Customers" }),
    ]);
  });

  test.each(choices)("sends the tool choice %j", (toolChoice, choice, count) => {
    const { body, losses } = format.write({ tools, ...(toolChoice !== undefined && { toolChoice }) });
    const sent = [format.choice(body), format.tools(body).length];
    // Cohere has no choice by name, so the named tool is the only one; Bedrock cannot forbid calls, so it gets no tools.
    const others: Readonly<Record<string, readonly unknown[]>> = {
      "cohere now": ["required", 1],
      "converse none": ["none", 0],
    };
    expect([sent, losses]).toEqual([others[`${format.name} ${choice}`] ?? [choice, count], []]);
  });
});
