/** Bodies of chat completions and messages give the same turns, whether or not their arrays were parsed before. */
import { expect, test } from "@jest/globals";
import { parseChatRequest } from "@sluice/gateway/doors/chat/request.js";
import { parseMessages } from "@sluice/gateway/doors/messages/request.js";
import type { FieldNames } from "@sluice/gateway/edge/turns/field-names.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { type ScannedArrays, createScannedArrays } from "@sluice/proto/lib/json/elements.js";
import { scanObject, scanRepeated } from "@sluice/proto/lib/json/scan.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { generateBody } from "../support/random-requests/bodies.ts";
import { formats } from "../support/random-requests/formats.ts";

type Body = Readonly<Record<string, unknown>>;
type Format = "chat" | "messages";
interface Turn {
  readonly request: RunTurnRequest;
  readonly names: FieldNames;
}

const readers: Readonly<Record<Format, (body: Buffer, members: readonly JsonMember[]) => Turn>> = {
  chat: (body, members) => parseChatRequest(body, members, { serviceMetadata: false }),
  messages: (body, members) =>
    parseMessages(body, members, { headers: {}, sessionId: undefined, serviceMetadata: false }),
};

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const listIn = (json: Uint8Array): readonly Body[] => (json.length === 0 ? [] : (JSON.parse(text(json)) as Body[]));

const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return text(value);
  return typeof value === "bigint" ? String(value) : value;
};

/** The whole content of a turn as text, with the names of its items, parts and tools, or all its errors. */
function say(format: Format, bytes: Buffer, scan: () => readonly JsonMember[]): string {
  try {
    const { request, names } = readers[format](bytes, scan());
    const places = listIn(request.inputJson).map(({ content, output }, index) => [
      names.item(index),
      [content ?? output].flat().map((_, part) => names.part(index, part)),
    ]);
    const tools = listIn(request.toolsJson).map((_, index) => names.tool(index));
    return JSON.stringify([Object.entries(request).map(([name, value]) => [name, plain(value)]), places, tools]);
  } catch (error) {
    if (error instanceof Fault) return JSON.stringify([error.message, error.metadata]);
    throw error;
  }
}

class Client {
  readonly #memory: ScannedArrays = createScannedArrays();
  readonly #format: Format;
  /** Number of elements already known from earlier requests. */
  known = 0;

  constructor(format: Format) {
    this.#format = format;
  }

  /** Checks that the result equals that of a reader without memory, and returns it. */
  send(body: Body, { key = "key", indent = 0 } = {}): string {
    const bytes = Buffer.from(JSON.stringify(body, undefined, indent));
    const expected = say(this.#format, bytes, () => scanObject(bytes, "body"));
    const said = say(this.#format, bytes, () => {
      const members = scanRepeated(bytes, "body", this.#memory, key);
      for (const { array } of members) {
        for (const { reading } of array?.elements ?? []) if (reading !== undefined) this.known++;
      }
      return members;
    });
    expect(said).toBe(expected);
    return said;
  }

  /** Number of known elements in one request. */
  knownIn(body: Body, how?: { readonly key: string }): number {
    const before = this.known;
    this.send(body, how);
    return this.known - before;
  }
}

const words = (about: string): string => `${about}: ${"word “é” ".repeat(40)}`;
const schema = { type: "object", properties: { q: { type: "string", description: words("q") } } };

/** Messages and tools long enough to make an array with this beginning remembered. */
const beginnings = {
  chat: {
    messages: [0, 1, 2, 3].map((number) => ({ role: number % 2 ? "assistant" : "user", content: words(`${number}`) })),
    tools: ["a", "b", "c", "d", "e", "f", "g"].map((name) => ({
      type: "function",
      function: { name, description: words(name), parameters: schema },
    })),
  },
  messages: {
    messages: [0, 1, 2, 3].map((number) => ({ role: number % 2 ? "assistant" : "user", content: words(`${number}`) })),
    tools: ["a", "b", "c", "d", "e", "f", "g"].map((name) => ({
      name,
      description: words(name),
      input_schema: schema,
    })),
  },
};

test.each(["chat", "messages"] as const)(
  "random conversations of %s are read the same with and without the memory of earlier steps",
  (format) => {
    const { messages: beginning, tools: longTools } = beginnings[format];
    let accepted = 0;
    const client = new Client(format);
    for (let number = 0; number < 150; number++) {
      const { messages, tools, ...others } = parsedOrEmpty(generateBody(29, number, formats[format]));
      if (!Array.isArray(messages)) continue;
      const conversation = [{ ...beginning[0], id: `${number}` }, ...beginning.slice(1), ...(messages as unknown[])];
      const offered = Array.isArray(tools) ? [...longTools, ...(tools as unknown[])] : tools;
      for (let length = beginning.length; length <= conversation.length; length++) {
        const body = {
          ...others,
          messages: conversation.slice(0, length),
          ...(tools !== undefined && { tools: offered }),
        };
        const said = client.send(body, { indent: number % 3 });
        if (said.startsWith("[[")) accepted++;
        client.send(body, { indent: number % 3 });
      }
    }
    expect(accepted).toBeGreaterThan(100);
    expect(client.known).toBeGreaterThan(1_000);
  },
);

function parsedOrEmpty(body: Buffer): Body {
  try {
    return (JSON.parse(body.toString()) as Body | null) ?? {};
  } catch {
    return {};
  }
}

/** A step of an agent: a call with numbers a parser would round, its result, and thoughts. */
const steps = {
  chat: (n: number): object[] => [
    {
      role: "assistant",
      content: null,
      reasoning_details: [{ type: "reasoning.text", text: words(`thought ${n}`), signature: `s${n}`, format: "f" }],
      tool_calls: [
        { id: `call_${n}`, type: "function", function: { name: "a", arguments: `{"n":${n}}` } },
        { id: `own_${n}`, type: "custom", custom: { name: "c", input: "x" } },
      ],
    },
    { role: "tool", tool_call_id: `call_${n}`, content: words(`result ${n}`) },
    { role: "tool", tool_call_id: `own_${n}`, content: [{ type: "text", text: words(`other result ${n}`) }] },
  ],
  messages: (n: number): object[] => [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: words(`thought ${n}`), signature: `s${n}` },
        { type: "text", text: words(`said ${n}`), unknown_field: n },
        { type: "tool_use", id: `call_${n}`, name: "a", input: { n, path: `/${n}` } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: `call_${n}`, content: [{ type: "text", text: words(`result ${n}`) }] },
        { type: "text", text: words(`more ${n}`) },
      ],
    },
  ],
};

const bodyOf = (format: Format, messages: readonly object[]): Body => ({
  model: "acme/large",
  max_tokens: 100,
  messages,
  tools: beginnings[format].tools,
});

/** A conversation after some steps. */
const conversation = (format: Format, count: number): object[] => [
  ...beginnings[format].messages,
  ...Array.from({ length: count }, (_, n) => steps[format](n)).flat(),
];

test.each(["chat", "messages"] as const)("an agent's steps are read once at the door of %s", (format) => {
  const client = new Client(format);
  for (let count = 0; count < 12; count++) {
    const messages = conversation(format, count);
    const known = client.knownIn(bodyOf(format, messages));
    const perStep = steps[format](0).length;
    // All tools and messages except the last steps were remembered, in eighths of the conversation.
    const least = 7 + messages.length - perStep - Math.ceil(messages.length / 4);
    if (count > 0) expect(known).toBeGreaterThanOrEqual(least);
  }
});

test.each(["chat", "messages"] as const)(
  "a changed, a shortened and another key's conversation are read correctly at the door of %s",
  (format) => {
    const client = new Client(format);
    const whole = conversation(format, 8);
    expect(client.knownIn(bodyOf(format, whole))).toBe(0);
    expect(client.knownIn(bodyOf(format, whole))).toBe(7 + whole.length);
    const middle = whole.length >> 1;
    const edited = whole.map((message, index) =>
      index === middle ? { role: "user", content: words("edited") } : message,
    );
    // Results whose call was removed by an edit are refused in the same way.
    for (const body of [bodyOf(format, edited), bodyOf(format, edited.slice(0, middle + 1))]) client.send(body);
    expect(client.knownIn(bodyOf(format, whole.slice(0, middle)))).toBe(7 + middle);
    expect(client.knownIn(bodyOf(format, whole.slice(3)))).toBe(7);
    expect(client.knownIn(bodyOf(format, whole), { key: "other" })).toBe(0);
    client.send(bodyOf(format, whole));
    expect(client.knownIn({ ...bodyOf(format, whole), tools: beginnings[format].tools.toReversed() })).toBe(
      whole.length,
    );
  },
);

test("elements remembered from one format are not parsed again in the other", () => {
  const memory = createScannedArrays();
  const bytes = Buffer.from(JSON.stringify(bodyOf("messages", beginnings.messages.messages)));
  const others = Buffer.from(JSON.stringify({ ...bodyOf("chat", beginnings.messages.messages), tools: [] }));
  for (const [format, body] of [
    ["messages", bytes],
    ["chat", others],
    ["messages", bytes],
    ["chat", others],
  ] as const) {
    const expected = say(format, body, () => scanObject(body, "body"));
    expect(say(format, body, () => scanRepeated(body, "body", memory, "key"))).toBe(expected);
  }
});

const mark = { cache_control: { type: "ephemeral" } };

/** The last block has a mark, as in each request of Claude Code; a turn later the same block comes without it. */
const marked = (messages: readonly object[]): object[] =>
  messages.map((message, index) => {
    const { content } = message as { content: string | object[] };
    if (index < messages.length - 1 || typeof content === "string") return message;
    return {
      ...message,
      content: content.map((block, at) => (at === content.length - 1 ? { ...block, ...mark } : block)),
    };
  });

test("at /messages a cache mark may move to the last message of every turn", () => {
  const client = new Client("messages");
  const tools = beginnings.messages.tools.map((tool, index) => (index === 6 ? { ...tool, ...mark } : tool));
  const system = [{ type: "text", text: words("system"), ...mark }];
  for (let count = 0; count < 10; count++) {
    const messages = conversation("messages", count);
    // The second message is a list with a mark on the first turn, and text later.
    const content = count === 0 ? [{ type: "text", text: words("notes"), ...mark }] : words("notes");
    messages.splice(1, 0, { role: "system", content });
    const body = { ...bodyOf("messages", marked(messages)), system, tools };
    const known = client.knownIn(body);
    const marks = client.send(body).split("cache_control").length;
    expect(marks).toBeGreaterThan(3);
    if (count > 1) expect(known).toBeGreaterThanOrEqual(7 + messages.length - 4 - Math.ceil(messages.length / 4));
  }
});

test("at /messages deferred tools become known to the model in the middle of a conversation", () => {
  const client = new Client("messages");
  const tools = [
    ...beginnings.messages.tools.map((tool, index) => (index === 2 ? { ...tool, defer_loading: true } : tool)),
    { name: "later", description: words("later"), input_schema: schema, defer_loading: true },
  ];
  const found = {
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "call_1", content: [{ type: "tool_reference", tool_name: "later" }] },
    ],
  };
  const before = conversation("messages", 2).slice(0, -1);
  const bodies = [before, [...before, found], [...before, found, { role: "assistant", content: "ok" }], before];
  const said = bodies.map((messages) => {
    const body = { ...bodyOf("messages", messages), tools };
    client.send({ ...body, tool_choice: { type: "tool", name: "c" } });
    return [client.send(body), client.send(body)];
  });
  const offers = (turn: string | undefined) => {
    const request = new Map((JSON.parse(turn ?? "") as [[string, string][]])[0]);
    return (JSON.parse(request.get("toolsJson") as string) as Body[]).map((tool) => tool["name"]);
  };
  expect(offers(said[0]?.[1])).toEqual(["a", "b", "d", "e", "f", "g"]);
  expect(offers(said[2]?.[1])).toEqual(["a", "b", "d", "e", "f", "g", "later"]);
  const searched = { ...bodyOf("messages", before), tools: [...tools, { type: "tool_search_tool_regex_20251119" }] };
  client.send(searched);
  client.send(searched);
});

test("at /messages the remembered part of the tools ends at a tool that is no plain function", () => {
  const [first, second, ...others] = beginnings.messages.tools;
  for (const tool of [
    { type: "bash_20250124", name: "bash" },
    { ...second, unknown_field: 1 },
  ]) {
    const client = new Client("messages");
    const body = {
      ...bodyOf("messages", []),
      messages: [{ role: "user", content: "x" }],
      tools: [first, tool, ...others],
    };
    expect(client.knownIn(body)).toBe(0);
    expect(client.knownIn(body)).toBe(1);
    expect(client.knownIn(body)).toBe(1);
  }
});

test("at /messages a field sent to no provider has its reason in the report, and an unknown field has none", () => {
  const client = new Client("messages");
  const { messages, tools } = beginnings.messages;
  const later = { name: "later", description: words("later"), input_schema: schema, defer_loading: true };
  const body = { ...bodyOf("messages", messages), tools: [...tools, later], container: "c", flavour: 7 };
  for (let turn = 0; turn < 3; turn++) {
    const said = client.send(body);
    const reasons = [...said.matchAll(/"name":"([^"]+)","didYouMean":"","reason":"([^"]*)"/g)];
    expect(reasons.map(([, name, reason]) => [name, reason])).toEqual([
      ["flavour", ""],
      ["tools.7", "deferred, and no tool_reference or tool_choice names it yet"],
      ["container", "no tool of the request runs code"],
    ]);
  }
});

test("at /messages unread or unsent fields of repeated messages are reported again", () => {
  const client = new Client("messages");
  const text = { type: "text", text: words("cited"), citations: [{ type: "char_location" }], unknown_field: 1 };
  const messages = [
    ...conversation("messages", 3),
    { role: "assistant", content: [text] },
    { role: "user", content: "x" },
  ];
  expect(client.knownIn(bodyOf("messages", messages))).toBe(0);
  const said = client.send(bodyOf("messages", messages));
  expect(client.known).toBe(7 + messages.length);
  for (const field of ["unknown_field", "citations"]) expect(said).toContain(`messages.10.content.0.${field}`);
});

test("at chat completions calls of the deprecated form are remembered, with results without an id", () => {
  const client = new Client("chat");
  const call = (name: string) => ({
    role: "assistant",
    content: null,
    function_call: { name, arguments: words(name) },
  });
  const result = (name: string) => ({ role: "function", name, content: words(`of ${name}`) });
  const messages = [
    ...beginnings.chat.messages,
    call("f"),
    call("g"),
    result("f"),
    call("f"),
    result("g"),
    result("f"),
    result("f"),
  ];
  for (let length = 4; length <= messages.length; length++) {
    client.send({ model: "a/b", messages: messages.slice(0, length) });
    client.send({ model: "a/b", messages: messages.slice(0, length) });
  }
  expect(client.known).toBeGreaterThan(60);
});
