/** Every kind of tool and choice in the chat format, and their calls on the way back. */
import { describe, expect, test } from "@jest/globals";
import type { CustomTool, Tool, ToolChoice, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { ChatTranslator } from "@sluice/inference-svc/models/upstream/chat/stream.js";
import { WrappedInput } from "@sluice/inference-svc/models/upstream/translate/wrapped-input.js";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import fc from "../../../support/properties.js";
import { chatChunk } from "../../../support/providers/upstream.js";
import { testRequest, functionTool, itemsOf, maskIds } from "../../asking.js";
import { refuseChatRequest, translateChat, otherChat, vendorChat } from "./chat-translation.js";

const custom = (fields: Partial<CustomTool> = {}): CustomTool => ({
  type: "custom",
  name: "sql",
  json: "{}",
  ...fields,
});
const namespace = (name: string, ...tools: (CustomTool | ReturnType<typeof functionTool>)[]): Tool => ({
  type: "namespace",
  name,
  description: "Customers.",
  tools,
  json: "{}",
});
const hosted = (type: string): Tool => ({ type: "hosted", kind: type, spelling: type, json: JSON.stringify({ type }) });
const namesIn = (body: Record<string, unknown>) =>
  (body.tools as { function: { name: string } }[]).map((tool) => tool.function.name);
const grammar = '{"type":"grammar","syntax":"lark","definition":"start: WORD"}';

const wrapped = (input: object = { type: "string" }) => ({
  type: "object",
  properties: { input },
  required: ["input"],
  additionalProperties: false,
});

describe("kinds of tools at a server of chat completions", () => {
  test.each<[string, Tool, object, [string, string][], Target?]>([
    [
      "function",
      functionTool({ description: "d", strict: true }),
      { type: "function", function: { name: "f", description: "d", strict: true } },
      [],
    ],
    [
      "function with what chat lacks",
      functionTool({
        async: true,
        json: '{"type":"function","name":"f","defer_loading":true,"allowed_callers":["direct"],"output_schema":{"type":"object"}}',
      }),
      { type: "function", function: { name: "f" } },
      [
        ["tools.0.async", "the format has no asynchronous calls"],
        ["tools.0.defer_loading", "sent with the other tools"],
        ["tools.0.allowed_callers", "the format has no field for it"],
        ["tools.0.output_schema", "the format has no field for it"],
      ],
    ],
    [
      "custom",
      custom({ description: "d", formatJson: '{"type":"text"}' }),
      { type: "function", function: { name: "sql", description: "d", parameters: wrapped() } },
      [],
    ],
    [
      "custom with a grammar",
      custom({ formatJson: grammar, async: true }),
      {
        type: "function",
        function: {
          name: "sql",
          parameters: wrapped({ type: "string", description: "The text must match this lark grammar:\nstart: WORD" }),
        },
      },
      [
        ["tools.0.async", "the format has no asynchronous calls"],
        ["tools.0.format", "the grammar is described to the model, but not enforced"],
      ],
    ],
    [
      "custom with the vendor",
      custom({ description: "d", formatJson: grammar }),
      {
        type: "custom",
        custom: {
          name: "sql",
          description: "d",
          format: { type: "grammar", grammar: { syntax: "lark", definition: "start: WORD" } },
        },
      },
      [],
      vendorChat,
    ],
    [
      "custom of any text with the vendor",
      custom({ formatJson: '{"type":"text"}' }),
      { type: "custom", custom: { name: "sql", format: { type: "text" } } },
      [],
      vendorChat,
    ],
    [
      "namespace",
      namespace("crm", functionTool({ description: "d" })),
      { type: "function", function: { name: "crm__f", description: "Part of crm: Customers.\nd" } },
      [],
    ],
    [
      "a tool of a namespace, with what chat lacks",
      namespace("crm", custom({ json: '{"defer_loading":true}' })),
      {
        type: "function",
        function: { name: "crm__sql", description: "Part of crm: Customers.", parameters: wrapped() },
      },
      [["tools.0.tools.0.defer_loading", "sent with the other tools"]],
    ],
  ])("include %s, written in the format", (_, tool, sent, lost, target = otherChat) => {
    const { body, losses } = translateChat({ tools: [tool] }, target);
    expect([body.tools, losses]).toEqual([[sent], lost]);
  });

  test.each([
    "web_search",
    "file_search",
    "mcp",
    "code_interpreter",
    "image_generation",
    "computer_use_preview",
    "shell",
    "service:datetime",
  ])("exclude %s, which is refused by its kind", (type) => {
    const refusal = { path: "tools.1", message: `no provider of this model runs tools of type ${type}` };
    for (const target of [otherChat, vendorChat]) {
      expect(refuseChatRequest({ tools: [functionTool(), hosted(type)] }, target)).toEqual(refusal);
    }
  });

  test("include no tool search, which is named as not sent, as all tools are present", () => {
    for (const type of ["tool_search", "service:tool_search"]) {
      const { body, losses } = translateChat({ tools: [hosted(type), functionTool()] }, otherChat);
      expect([namesIn(body), losses]).toEqual([
        ["f"],
        [["tools.0", "all tools are sent, so there is nothing to search"]],
      ]);
      expect(refuseChatRequest({ tools: [hosted(type)], toolChoice: { type: "tool", tool: { type } } })).toEqual({
        path: "tool_choice",
        message: `no provider of this model runs tools of type ${type}`,
      });
    }
  });

  test("defined by items are like other tools, and refused like them", () => {
    const bring = (tools: object[]) => ({ type: "additional_tools", role: "developer", tools });
    const tools = [
      {
        type: "function",
        name: "f",
        description: "d",
        parameters: { type: "object" },
        strict: true,
        defer_loading: true,
      },
      { type: "custom", name: "sql", format: { type: "text" }, async: true },
      { type: "namespace", name: "crm", description: "Customers.", tools: [{ type: "function", name: "f" }] },
    ];
    const { body, losses } = translateChat({ input: [bring(tools)] }, otherChat);
    expect(body.tools).toEqual([
      { type: "function", function: { name: "f", description: "d", parameters: { type: "object" }, strict: true } },
      { type: "function", function: { name: "sql", parameters: wrapped() } },
      { type: "function", function: { name: "crm__f", description: "Part of crm: Customers." } },
    ]);
    expect(losses).toEqual([
      ["input.0", "its tools are sent with the others"],
      ["input.0.tools.0.defer_loading", "sent with the other tools"],
      ["input.0.tools.1.async", "the format has no asynchronous calls"],
    ]);
    expect(refuseChatRequest({ input: [bring([{ type: "function", name: "f" }, { type: "mcp" }])] })).toEqual({
      path: "input.0.tools.1",
      message: "no provider of this model runs tools of type mcp",
    });
  });

  test("defined twice are sent once, by the last definition", () => {
    const input = [{ type: "additional_tools", tools: [{ type: "function", name: "f", description: "new" }] }];
    const { body } = translateChat({ tools: [functionTool({ description: "old" })], input }, otherChat);
    expect(body.tools).toEqual([{ type: "function", function: { name: "f", description: "new" } }]);
  });
});

const namesOf = (tools: readonly Tool[]) => namesIn(translateChat({ tools }, otherChat).body);

describe("names of tools at a server of chat completions", () => {
  test("stay without a namespace, in any place; further equal names get numbers", () => {
    const tools = [
      namespace("a", functionTool({ name: "b__c" })),
      namespace("a__b", functionTool({ name: "c" })),
      functionTool({ name: "a__b__c" }),
    ];
    expect(namesOf(tools)).toEqual(["a__b__c_2", "a__b__c_3", "a__b__c"]);
  });

  test("have at most 64 allowed characters, stable for the same tool", () => {
    const long = [
      namespace("n".repeat(60), functionTool({ name: "first" }), functionTool({ name: "second" })),
      namespace("with spaces.", functionTool({ name: "f" })),
      functionTool({ name: "x".repeat(128) }),
    ];
    const names = namesOf(long);
    for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/);
    expect(new Set(names).size).toBe(4);
    expect(names[2]).toBe("with_spaces___f");
    expect(namesOf(long)).toEqual(names);
  });

  test("are the same in replayed calls", () => {
    const call = (name: string, more: object = {}) => ({
      type: "function_call",
      call_id: "c",
      name,
      arguments: "{}",
      ...more,
    });
    const { body } = translateChat(
      {
        tools: [functionTool({ name: "crm__f" }), namespace("crm", functionTool())],
        input: [call("crm__f"), call("f", { namespace: "crm" }), call("gone", { namespace: "crm" })],
      },
      otherChat,
    );
    const [message] = body.messages as { tool_calls: { function: { name: string } }[] }[];
    expect(message?.tool_calls.map((sent) => sent.function.name)).toEqual(["crm__f", "crm__f_2", "crm__gone"]);
  });
});

describe("tool choices at a server of chat completions", () => {
  const tools = [functionTool(), custom(), namespace("crm", functionTool(), functionTool({ name: "g" }))];
  const choose = (tool: { type: string; name: string; namespace?: string }): ToolChoice => ({ type: "tool", tool });

  test.each<[string, ToolChoice, unknown, Target?]>([
    ["auto", "auto", "auto"],
    ["none", "none", "none"],
    ["required", "required", "required"],
    ["a function", choose({ type: "function", name: "f" }), { type: "function", function: { name: "f" } }],
    [
      "one of a namespace",
      choose({ type: "function", name: "f", namespace: "crm" }),
      { type: "function", function: { name: "crm__f" } },
    ],
    ["a custom tool", choose({ type: "custom", name: "sql" }), { type: "function", function: { name: "sql" } }],
    [
      "a custom tool with the vendor",
      choose({ type: "custom", name: "sql" }),
      { type: "custom", custom: { name: "sql" } },
      vendorChat,
    ],
  ])("include %s, written in the format", (_, toolChoice, sent, target = otherChat) => {
    const { body, losses } = translateChat({ tools, toolChoice }, target);
    expect([body.tool_choice, losses]).toEqual([sent, []]);
  });

  test.each<[string, { type: string; name?: string; namespace?: string }[], string[]]>([
    ["a function, wherever it is", [{ type: "function", name: "f" }], ["f", "crm__f"]],
    ["one of a namespace", [{ type: "function", name: "f", namespace: "crm" }], ["crm__f"]],
    ["a namespace", [{ type: "namespace", name: "crm" }], ["crm__f", "crm__g"]],
    ["a custom tool", [{ type: "custom", name: "sql" }], ["sql"]],
  ])("with allowed_tools send no other tools: %s", (_, allowed, names) => {
    const toolChoice: ToolChoice = { type: "allowed_tools", mode: "required", tools: allowed };
    const { body } = translateChat({ tools: [...tools, hosted("web_search")], toolChoice }, otherChat);
    expect((body.tools as { function: { name: string } }[]).map((tool) => tool.function.name)).toEqual(names);
    expect(body.tool_choice).toBe("required");
  });

  test("for a namespace exclude all other tools", () => {
    const { body } = translateChat({ tools, toolChoice: choose({ type: "namespace", name: "crm" }) }, otherChat);
    expect([namesIn(body), body.tool_choice]).toEqual([["crm__f", "crm__g"], "required"]);
  });

  test("of an allowed tool unknown to every provider are refused", () => {
    const toolChoice: ToolChoice = { type: "allowed_tools", mode: "auto", tools: [{ type: "web_search" }] };
    expect(refuseChatRequest({ tools: [...tools, hosted("web_search")], toolChoice })?.path).toBe("tools.3");
  });
});

function read(chunks: readonly unknown[], request: Partial<TurnRequest>, target = otherChat) {
  const events: TurnEvent[] = [];
  const translator = new ChatTranslator(testRequest(request), target, (event) => events.push(event));
  for (const chunk of chunks) translator.event(undefined, JSON.stringify(chunk));
  translator.close();
  const deltas = events.flatMap((event) => (event.type === "arguments.delta" ? [event.delta] : []));
  return { items: maskIds(itemsOf(events)), deltas };
}

const piece = (index: number, fields: object) => chatChunk({ tool_calls: [{ index, ...fields }] });
const begun = (index: number, name: string, json = "") =>
  piece(index, { id: `call_${index}`, type: "function", function: { name, arguments: json } });
const goesOn = (index: number, json: string) => piece(index, { function: { arguments: json } });
const stop = chatChunk({}, "tool_calls");
const ended = { id: "masked", call_id: "masked", status: "completed" };

describe("tool calls of a server of chat completions", () => {
  const tools = [custom(), namespace("crm", functionTool(), custom({ name: "find" }))];

  test("of custom tools stream as their text", () => {
    const { items, deltas } = read(
      [
        begun(0, "sql"),
        goesOn(0, '{"inp'),
        goesOn(0, 'ut": "a\\'),
        goesOn(0, "nb\\u00"),
        goesOn(0, 'e9"'),
        goesOn(0, "}"),
        stop,
      ],
      { tools },
    );
    expect(items).toEqual([{ ...ended, type: "custom_tool_call", name: "sql", input: "a\nbé" }]);
    expect(deltas).toEqual(["a", "\nb", "é"]);
  });

  test("of tools with a common name carry their namespace", () => {
    const { items } = read([begun(0, "crm__f", "{}"), begun(1, "crm__find", '{"input":"x"}'), stop], { tools });
    expect(items).toEqual([
      { ...ended, type: "function_call", name: "f", namespace: "crm", arguments: "{}" },
      { ...ended, type: "custom_tool_call", name: "find", namespace: "crm", input: "x" },
    ]);
  });

  test("of unknown tools keep their name", () => {
    expect(read([begun(0, "crm__h", "{}"), stop], { tools }).items).toEqual([
      { ...ended, type: "function_call", name: "crm__h", arguments: "{}" },
    ]);
  });

  test("of custom tools follow the vendor's documentation", () => {
    const chunks = [
      piece(0, { id: "call_0", type: "custom", custom: { name: "sql", input: "" } }),
      piece(0, { custom: { input: "{}" } }),
      piece(0, { custom: { input: " x" } }),
      stop,
    ];
    const { items, deltas } = read(chunks, { tools }, vendorChat);
    expect(items).toEqual([{ ...ended, type: "custom_tool_call", name: "sql", input: "{} x" }]);
    expect(deltas).toEqual(["{}", " x"]);
  });

  test.each([
    ["another name", '{"query":"x"}', "x"],
    ["the name not first", '{"n":1,"input":"x"}', "x"],
    ["no object", '"x"', "x"],
    ["no JSON", "select 1", "select 1"],
    ["no text in it", '{"input":{"a":1}}', '{"input":{"a":1}}'],
    ["nothing", "", ""],
    ["no members", "{}", ""],
    ["an unknown escape", '{"input":"a\\qb"}', "aqb"],
    ["a raw line feed", '{"input":"a\nb"}', "a\nb"],
  ])("keep the text of a malformed input: %s", (_, json, input) => {
    expect(read([begun(0, "sql", json), stop], { tools }).items).toMatchObject([{ type: "custom_tool_call", input }]);
  });

  test("that are cut off carry the received part", () => {
    const { items } = read([begun(0, "sql", '{"input":"ab'), chatChunk({}, "length")], { tools });
    expect(items).toMatchObject([{ status: "incomplete", input: "ab" }]);
  });

  test("of any text in any pieces arrive whole, and never with half a character", () => {
    const points = fc.oneof(fc.integer({ min: 0, max: 0x2fff }), fc.integer({ min: 0x1f300, max: 0x1f5ff }));
    const text = fc.array(points).map((list) => String.fromCodePoint(...list));
    const escaped = (value: string) =>
      value.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    fc.assert(
      fc.property(
        text,
        fc.boolean(),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }),
        (input, ascii, sizes) => {
          let json = JSON.stringify({ input });
          if (ascii) json = escaped(json);
          const reader = new WrappedInput();
          const deltas: string[] = [];
          for (let at = 0, turn = 0; at < json.length; turn++) {
            const size = sizes[turn % sizes.length] ?? 1;
            deltas.push(reader.read(json.slice(at, at + size)));
            at += size;
          }
          deltas.push(reader.finish());
          expect(deltas.join("")).toBe(input);
          expect(deltas.filter((delta) => delta !== Buffer.from(delta).toString())).toEqual([]);
        },
      ),
    );
  });
});
