/** Ids made by clients and providers carry no text past guardrails, in either direction, and real ids stay unchanged. */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseTurn } from "@sluice/inference-svc/turn/parse/turn-request.js";
import { isPlainId, plainId, wordId } from "@sluice/proto/lib/ids/foreign-id.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import {
  type Reply,
  type Upstream,
  chatChunk,
  chatStream,
  startUpstream,
} from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";
import { blockFilter, guardrailOf } from "./gating.js";

const dialects = ["chat", "responses", "messages", "gemini", "cohere"];
let provider: Upstream;
let engine: Engine;

beforeAll(async () => {
  provider = await startUpstream([chatStream("Hello")]);
  engine = openEngine(
    testConfig({
      providers: dialects.map((id) => ({ id, dialect: id, base_url: `${provider.url}/v1`, api_keys: ["k"] })),
      models: dialects.map((id) => ({
        id: `${id}/m`,
        endpoints: [{ provider: id }],
        input_modalities: ["text", "image"],
      })),
    }),
  );
});
afterAll(async () => {
  await engine.upstreams.close();
  await provider.stop();
});

const secret = "plutonium";
const prose = [
  `say ${secret} now`,
  `${secret}\n`,
  `\u0000${secret}`,
  ` ${secret}`,
  `call_${secret} and more`,
  `"${secret}"`,
  `${secret}\u2003${secret}`,
  `<b>${secret}</b>`,
  `${secret}-`.repeat(13),
  `${secret} `.repeat(2_000),
];

/** Forms of ids of real providers and clients. */
const real = [
  "call_AvYgD7l9kkwlBu6iZfbQjE3c",
  "toolu_01KBqpqR73qWGsMaW3vBzEjz",
  "tooluse_biMWVYVLSR-qN88TpGnkUA",
  "Ah0BFgzqX",
  "functions.get_weather:0",
  "resp_43amfn3g3uar3i4sa5b7sz35cukuufaisldkwel5v6o47xzpr5va:call_0",
  "call_abc|fc_abc",
  "chatcmpl-tool-bbb91941bf76335c",
  "d86e6098-21e1-44c7-8431-40cfc6d35590",
  "magic_function_avre629p2czn:0",
  "files/abc-123",
  "bXkgaWQ+Lw==",
  "1",
];

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const asked = { role: "user", content: "Go." };

const conversations: readonly (readonly [string, (id: string) => unknown[]])[] = [
  [
    "function_call",
    (id) => [
      { type: "function_call", id, call_id: id, name: "f", arguments: "{}" },
      { type: "function_call_output", id, call_id: id, output: "done" },
    ],
  ],
  [
    "custom_tool_call",
    (id) => [
      { type: "custom_tool_call", id, call_id: id, name: "f", input: "a" },
      { type: "custom_tool_call_output", id, call_id: id, output: "done" },
    ],
  ],
  [
    "message",
    (id) => [
      { type: "message", id, role: "assistant", content: "Well." },
      { type: "item_reference", id },
    ],
  ],
  ["reasoning", (id) => [{ type: "reasoning", id, summary: [{ type: "summary_text", text: "Hm." }] }]],
  [
    "shell_call",
    (id) => [
      { type: "shell_call", id, call_id: id, action: { commands: ["ls"] } },
      {
        type: "shell_call_output",
        call_id: id,
        output: [{ stdout: "a", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
      },
    ],
  ],
  [
    "local_shell_call",
    (id) => [
      { type: "local_shell_call", id, call_id: id, action: { type: "exec", command: ["ls"] } },
      { type: "local_shell_call_output", id, output: "a" },
    ],
  ],
  [
    "mcp_approval_request",
    (id) => [
      { type: "mcp_approval_request", id, server_label: "s", name: "n", arguments: "{}" },
      { type: "mcp_approval_response", approval_request_id: id, approve: true },
    ],
  ],
];

async function sent(dialect: string, input: unknown[]): Promise<string> {
  const before = provider.requests.length;
  const request = parseTurn(
    create(RunTurnRequestSchema, { model: `${dialect}/m`, inputJson: json([...input, asked]) }),
  );
  await runTestTurn(engine.turn, request, newScope());
  return provider.requests
    .slice(before)
    .map(({ body }) => body)
    .join("\n");
}

describe.each(conversations)("ids of a request in %s", (_, conversation) => {
  test.each(dialects)("carry no text to a provider of the dialect %s", async (dialect) => {
    for (const id of prose) expect((await sent(dialect, conversation(id))).includes(secret)).toBe(false);
  });
});

test.each(real)("the id %s of an item is sent unchanged if the format accepts it", async (id) => {
  const body = JSON.parse(await sent("chat", conversations[0]![1](id))) as {
    messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[];
  };
  expect(body.messages[0]?.tool_calls?.[0]?.id).toBe(id);
  expect(body.messages[1]?.tool_call_id).toBe(id);
});

test("a call and its result keep matching ids, also in the next request", async () => {
  const [first, second] = prose.map(plainId);
  expect(new Set(prose.map(plainId)).size).toBe(prose.length);
  expect([first, second].map((id) => isPlainId(id ?? ""))).toEqual([true, true]);
  const body = await sent("chat", conversations[0]![1](prose[0]!));
  expect(body.split(first ?? "none")).toHaveLength(3);
});

test("ids for Anthropic's clients have letters only, and are all different", () => {
  const words = real.map(wordId);
  expect(words.filter((id) => !/^[a-zA-Z0-9_-]+$/.test(id))).toEqual([]);
  expect(new Set(words).size).toBe(real.length);
});

const sse = (...events: readonly unknown[]): Reply => ({ chunks: [{ sse: events }] });
const whole = (value: object): Reply => ({ chunks: [{ json: value }] });
const annotations = (id: string) => [{ type: "file_path", file_id: id, index: 0 }];

function responseItems(id: string): object[] {
  const content = [{ type: "output_text", text: "Hello.", annotations: annotations(id) }];
  return [
    { type: "message", id, role: "assistant", status: "completed", content },
    { type: "function_call", id, call_id: id, name: "f", arguments: "{}", status: "completed" },
    { type: "code_interpreter_call", id, container_id: id, code: "1", outputs: [], status: "completed" },
    { type: "of_tomorrow", id, thing_id: id, parts: [{ part_id: id, part_ids: [id] }], status: "completed" },
  ];
}

const answers: Readonly<Record<string, (id: string) => Reply>> = {
  "chat, whole": (id) =>
    whole({
      id,
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: null,
            tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }],
          },
          finish_reason: "tool_calls",
        },
      ],
    }),
  "chat, streamed": (id) =>
    sse(
      chatChunk({ tool_calls: [{ index: 0, id, type: "function", function: { name: "f", arguments: "{}" } }] }),
      chatChunk({}, "tool_calls"),
      "[DONE]",
    ),
  "responses, whole": (id) => whole({ id, object: "response", status: "completed", output: responseItems(id) }),
  "responses, streamed": (id) =>
    sse(
      ...responseItems(id).flatMap((item, output_index) => [
        { type: "response.output_item.added", output_index, item: { ...item, status: "in_progress" } },
        { type: "response.code_interpreter_call.interpreting", output_index, item_id: id, container_id: id },
        { type: "response.output_item.done", output_index, item },
      ]),
      { type: "response.completed", response: { id, status: "completed", output: responseItems(id) } },
    ),
  "messages, whole": (id) =>
    whole({
      id,
      type: "message",
      role: "assistant",
      content: [
        { type: "server_tool_use", id, name: "web_search", input: { query: "a" } },
        { type: "web_search_tool_result", tool_use_id: id, content: [] },
        { type: "tool_use", id, name: "f", input: {} },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 9, output_tokens: 2 },
    }),
  "messages, streamed": (id) =>
    sse(
      { type: "message_start", message: { id, role: "assistant", content: [] } },
      { type: "content_block_start", index: 0, content_block: { type: "tool_use", id, name: "f", input: {} } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "{}" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ),
  "gemini, streamed": (id) =>
    sse({
      responseId: id,
      candidates: [
        { content: { role: "model", parts: [{ functionCall: { id, name: "f", args: {} } }] }, finishReason: "STOP" },
      ],
    }),
  "cohere, whole": (id) =>
    whole({
      id,
      finish_reason: "TOOL_CALL",
      message: {
        role: "assistant",
        tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }],
      },
    }),
};

async function answered(format: string, id: string) {
  const [dialect = "", kind] = format.split(", ");
  provider.script([answers[format]!(id)]);
  const request = testRequest({ models: [`${dialect}/m`], stream: kind === "streamed" });
  const { events, fault } = await runTestTurn(engine.turn, request, newScope());
  expect(fault).toBeUndefined();
  return events;
}

describe.each(Object.keys(answers))("ids of an answer, %s,", (format) => {
  test("carry no text to a client, and are the same at the beginning and the end of an item", async () => {
    for (const id of prose) {
      const events = await answered(format, id);
      expect(JSON.stringify(events).includes(secret)).toBe(false);
      for (const event of events) {
        if (event.type !== "item.end") continue;
        const begun = events.find((each) => each.type === "item.start" && each.index === event.index);
        if (begun?.type === "item.start") expect(begun.item.id).toBe(event.item.id);
      }
    }
  });

  test("stay unchanged if they are plain", async () => {
    const calls = (await answered(format, "call_1.x:0")).flatMap((event) =>
      event.type === "item.end" && event.item.type === "function_call" ? [event.item["call_id"]] : [],
    );
    expect(calls).toEqual(["call_1.x:0"]);
  });
});

describe("a guardrail reads in an answer", () => {
  const guarded = (input: unknown[]) => {
    const scope = newScope({ guardrail: guardrailOf([blockFilter(secret)], { appliesTo: AppliesTo.INPUT }) });
    const request = parseTurn(
      create(RunTurnRequestSchema, { model: "responses/m", inputJson: json([...input, asked]) }),
    );
    return runTestTurn(engine.turn, request, scope).then(({ fault }) => fault?.status);
  };
  const check = (id: string) => [
    {
      type: "computer_call",
      call_id: "call_1",
      action: { type: "screenshot" },
      pending_safety_checks: [{ id, code: "a", message: "b" }],
    },
    {
      type: "computer_call_output",
      call_id: "call_1",
      output: { type: "computer_screenshot", image_url: "data:image/png;base64,iVBORw0KGgo=" },
    },
  ];
  const reasoning = (encrypted_content: string) => [{ type: "reasoning", summary: [], encrypted_content }];

  test.each([
    ["an inner id that is a text", check(`say ${secret} now`), 403],
    ["sealed content that is a text", reasoning(`say ${secret} now`), 403],
    ["a signature that is a text", [{ type: "reasoning", summary: [], signature: `say ${secret} now` }], 403],
  ])("%s", async (_, input, status) => expect(await guarded(input)).toBe(status));

  test("no sealed content in base64", async () => {
    const sealed = Buffer.from(`say ${secret} now`).toString("base64");
    expect(await guarded(reasoning(sealed))).not.toBe(403);
  });
});
