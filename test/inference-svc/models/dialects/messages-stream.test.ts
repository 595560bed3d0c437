/**
 * Answers of Messages servers as output items. The fixtures are made by hand after the examples of
 * https://platform.claude.com/docs/en/build-with-claude/streaming and the pages of the features.
 */
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Turn, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { messagesError } from "@sluice/inference-svc/models/upstream/messages/error.js";
import { MessagesTranslator } from "@sluice/inference-svc/models/upstream/messages/stream.js";
import { providerFault } from "@sluice/inference-svc/models/upstream/failure.js";
import { EventScanner } from "@sluice/inference-svc/models/upstream/transport/sse.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.js";
import {
  testRequest,
  functionTool,
  testConfig,
  maskIds,
  newScope,
  openEngine,
  runTestTurn,
  openAnswer,
} from "../../asking.js";
import {
  messagesStart,
  messagesBlock,
  messagesBlockStart,
  messagesDelta,
  wholeMessage,
  readMessages,
  messagesStop,
  messagesTarget,
  messagesTextBlock,
} from "./messages-translation.js";

const faultOf = (act: () => unknown): Fault => {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
};

const textPart = (text: string, ...annotations: unknown[]) => ({
  type: "output_text",
  text,
  annotations,
  logprobs: [],
});
const said = (...content: unknown[]) => ({
  type: "message",
  id: "masked",
  role: "assistant",
  status: "completed",
  content,
});
const thought = (text: string | undefined, more: object) => ({
  type: "reasoning",
  id: "masked",
  status: "completed",
  summary: [],
  content: text === undefined ? [] : [{ type: "reasoning_text", text }],
  format: "anthropic-claude-v1",
  signature: null,
  ...more,
});
const call = (name: string, json: string, more: object = {}) => ({
  type: "function_call",
  id: "masked",
  call_id: "masked",
  name,
  arguments: json,
  status: "completed",
  ...more,
});
const toolUse = (name: string, input: object = {}) => ({ type: "tool_use", id: `toolu_${name}`, name, input });
const inputDelta = (partial_json: string) => ({ type: "input_json_delta", partial_json });

const everything = [
  messagesStart(),
  { type: "ping" },
  ...messagesBlock(
    0,
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking: "Let me " },
    { type: "thinking_delta", thinking: "think. ☕" },
    { type: "signature_delta", signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds" },
  ),
  ...messagesTextBlock(1, "Okay, ", "checking the “weather” …"),
  ...messagesBlock(2, toolUse("get_weather"), inputDelta(""), inputDelta('{"town":'), inputDelta(' "Zürich"}')),
  ...messagesBlock(3, toolUse("now")),
  ...messagesStop("tool_use", { output_tokens: 89 }),
];

describe("text", () => {
  test("a stream and the whole answer give the same items", () => {
    const streamed = readMessages([
      messagesStart(),
      ...messagesTextBlock(0, "One, ", "two."),
      ...messagesStop("end_turn"),
    ]);
    const whole = readMessages([wholeMessage([{ type: "text", text: "One, two.", citations: null }])]);
    expect(maskIds(streamed.items)).toEqual([said(textPart("One, two."))]);
    expect([maskIds(whole.items), whole.outcome]).toEqual([maskIds(streamed.items), streamed.outcome]);
    expect(streamed.events.map(({ type }) => type)).toEqual([
      "item.start",
      "text.delta",
      "text.delta",
      "item.end",
      "end",
    ]);
  });

  test("an answer without content, and a block without text, are no items", () => {
    expect(readMessages([messagesStart(), ...messagesStop("end_turn")]).items).toEqual([]);
    expect(readMessages([messagesStart(), ...messagesTextBlock(0), ...messagesStop("end_turn")]).items).toEqual([]);
  });

  test("unknown events and blocks are skipped", () => {
    const later = [
      { type: "message_note" },
      ...messagesBlock(1, { type: "hologram", x: 1 }, { type: "hologram_delta" }),
    ];
    const { items } = readMessages([
      messagesStart(),
      ...messagesTextBlock(0, "a"),
      ...later,
      ...messagesTextBlock(2, "b"),
      ...messagesStop("end_turn"),
    ]);
    expect(maskIds(items)).toEqual([said(textPart("a")), said(textPart("b"))]);
  });
});

describe("calls, thoughts and their order", () => {
  test("thinking, text and two calls", () => {
    const signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds";
    const { items, outcome } = readMessages(everything);
    expect(maskIds(items)).toEqual([
      thought("Let me think. ☕", { signature }),
      said(textPart("Okay, checking the “weather” …")),
      call("get_weather", '{"town": "Zürich"}'),
      call("now", "{}"),
    ]);
    expect(items.slice(2).map((item) => item.call_id)).toEqual(["toolu_get_weather", "toolu_now"]);
    expect(outcome.status).toBe("completed");
  });

  test("the bytes may be cut anywhere", () => {
    const bytes = Buffer.from(
      everything.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
    );
    const readBytes = (pieces: readonly Uint8Array[]): TurnEvent[] => {
      const given: TurnEvent[] = [];
      const translator = new MessagesTranslator(testRequest(), messagesTarget, (event) => given.push(event));
      const scanner = new EventScanner((name, data) => translator.event(name, data));
      for (const piece of pieces) scanner.feed(piece);
      scanner.flush();
      translator.close();
      return given;
    };
    const whole = maskIds(readBytes([bytes]));
    for (let at = 1; at < bytes.length; at++) {
      expect(maskIds(readBytes([bytes.subarray(0, at), bytes.subarray(at)]))).toEqual(whole);
    }
    expect(maskIds(readBytes([...bytes].map((byte) => Uint8Array.of(byte))))).toEqual(whole);
  });

  test("numbers in the input of a whole call are not rounded", () => {
    const data = JSON.stringify(wholeMessage([{ type: "text", text: "x" }, toolUse("f", { n: "N" }), toolUse("g")]));
    const { items } = readMessages([data.replace('"N"', "12345678901234567890")]);
    expect(maskIds(items)).toEqual([said(textPart("x")), call("f", '{"n":12345678901234567890}'), call("g", "{}")]);
  });

  test("calls come back under the names and in the form of the tools", () => {
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
    const { items } = readMessages(
      [
        messagesStart(),
        ...messagesBlock(0, toolUse("patch"), inputDelta('{"inp'), inputDelta('ut":"a\\u00'), inputDelta('e9\\n"}')),
        ...messagesBlock(1, toolUse("crm__find"), inputDelta("{}")),
        ...messagesStop("tool_use"),
      ],
      { tools },
    );
    expect(maskIds(items)).toEqual([
      { type: "custom_tool_call", id: "masked", call_id: "masked", name: "patch", input: "aé\n", status: "completed" },
      call("find", "{}", { namespace: "crm" }),
    ]);
    const whole = readMessages([wholeMessage([toolUse("patch", { input: "aé\n" })])], { tools });
    expect(whole.items[0]?.input).toBe("aé\n");
  });

  test("hidden reasoning is signed all the same; sealed reasoning comes only on request", () => {
    const events = [
      messagesStart(),
      ...messagesBlock(
        0,
        { type: "thinking", thinking: "", signature: "" },
        { type: "signature_delta", signature: "s" },
      ),
      ...messagesBlock(1, { type: "redacted_thinking", data: "sealed" }),
      ...messagesTextBlock(2, "x"),
      ...messagesStop("end_turn"),
    ];
    const shown = thought(undefined, { signature: "s" });
    expect(maskIds(readMessages(events).items)).toEqual([shown, said(textPart("x"))]);
    expect(maskIds(readMessages(events, { include: ["reasoning.encrypted_content"] }).items)).toEqual([
      { ...shown, encrypted_content: "sluice:anthropic-claude-v1:signature:s" },
      thought(undefined, { encrypted_content: "sluice:anthropic-claude-v1:data:sealed" }),
      said(textPart("x")),
    ]);
  });
});

// https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
describe("web search", () => {
  const found = [{ type: "web_search_result", url: "https://a.example/", title: "A", encrypted_content: "x" }];
  const searchBlock = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
  const citation = {
    type: "web_search_result_location",
    url: "https://a.example/",
    title: "A",
    encrypted_index: "x",
    cited_text: "Shannon was born",
  };
  const searched = (content: unknown, lead = "So: ") => [
    messagesStart(),
    ...messagesTextBlock(0, "I will look."),
    ...messagesBlock(1, searchBlock, inputDelta('{"query":'), inputDelta('"shannon"}')),
    ...messagesBlock(2, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content }),
    ...messagesTextBlock(3, lead),
    ...messagesBlock(
      4,
      { type: "text", text: "", citations: [] },
      { type: "text_delta", text: "born " },
      { type: "citations_delta", citation },
      { type: "text_delta", text: "in 1916" },
    ),
    ...messagesTextBlock(5, "."),
    ...messagesStop("end_turn", { output_tokens: 20, server_tool_use: { web_search_requests: 1 } }),
  ];
  const searchItem = (status: string, sources?: unknown) => ({
    type: "web_search_call",
    id: "masked",
    status,
    action: { type: "search", query: "shannon", queries: ["shannon"], ...(sources !== undefined && { sources }) },
  });
  const annotation = {
    type: "url_citation",
    url: "https://a.example/",
    title: "A",
    start_index: 4,
    end_index: 16,
    content: "Shannon was born",
  };

  test("places are counted in code points", () => {
    const { items } = readMessages(searched(found, "😀😀: "));
    expect(items.flatMap(({ content }) => (content as { annotations?: object[] }[] | undefined) ?? [])).toContainEqual(
      expect.objectContaining({ annotations: [expect.objectContaining({ start_index: 4, end_index: 16 })] }),
    );
  });

  test("of two calls with one id the first finds nothing", () => {
    const call = (index: number) => messagesBlock(index, searchBlock, inputDelta('{"query":"shannon"}'));
    const result = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: found };
    const { items } = readMessages([
      messagesStart(),
      ...call(0),
      ...call(1),
      ...messagesBlock(2, result),
      ...messagesStop("end_turn"),
    ]);
    expect(maskIds(items)).toEqual([searchItem("failed"), searchItem("completed")]);
  });

  test("the search has its progress, and citations have their places", () => {
    const { items, events, outcome } = readMessages(searched(found));
    expect(maskIds(items)).toEqual([
      said(textPart("I will look.")),
      searchItem("completed"),
      said(textPart("So: born in 1916.", annotation)),
    ]);
    expect(events.flatMap((event) => (event.type === "native" ? [[event.name, event.index]] : []))).toEqual([
      ["response.web_search_call.in_progress", 1],
      ["response.web_search_call.searching", 1],
      ["response.web_search_call.completed", 1],
    ]);
    expect(outcome.usage?.serverToolUse).toEqual({ webSearchRequests: 1 });
  });

  test("sources come on request, in streams and whole answers", () => {
    const include = ["web_search_call.action.sources"];
    const whole = wholeMessage([
      { type: "text", text: "I will look." },
      { ...searchBlock, input: { query: "shannon" } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: found },
      { type: "text", text: "So: " },
      { type: "text", text: "born in 1916", citations: [citation] },
      { type: "text", text: "." },
    ]);
    const streamed = maskIds(readMessages(searched(found), { include }).items);
    expect((streamed as unknown[])[1]).toEqual(searchItem("completed", [{ type: "url", url: "https://a.example/" }]));
    expect(maskIds(readMessages([whole], { include }).items)).toEqual(streamed);
  });

  test("a failed search, and a paused search, keep their status", () => {
    const failed = { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" };
    expect(maskIds(readMessages(searched(failed)).items[1])).toEqual(searchItem("failed"));
    const paused = readMessages([
      messagesStart(),
      ...messagesBlock(0, searchBlock, inputDelta('{"query":"shannon"}')),
      ...messagesStop("pause_turn"),
    ]);
    expect(maskIds(paused.items)).toEqual([searchItem("in_progress")]);
    expect(paused.outcome).toMatchObject({ status: "incomplete", reason: "max_output_tokens", detail: "pause_turn" });
  });
});

// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
describe("ends", () => {
  test.each([
    ["end_turn", "completed", undefined],
    ["stop_sequence", "completed", undefined],
    ["tool_use", "completed", undefined],
    ["of_tomorrow", "completed", undefined],
    ["max_tokens", "incomplete", "max_output_tokens"],
    ["model_context_window_exceeded", "incomplete", "max_output_tokens"],
    ["pause_turn", "incomplete", "max_output_tokens"],
    ["refusal", "incomplete", "content_filter"],
  ])("%s is %s", (stopReason, status, reason) => {
    const { items, outcome } = readMessages([
      messagesStart(),
      ...messagesTextBlock(0, "Hi"),
      ...messagesStop(stopReason),
    ]);
    expect([outcome.status, outcome.reason, items[0]?.status]).toEqual([status, reason, status]);
  });

  test("a call cut by the limit keeps its received part", () => {
    const { items } = readMessages([
      messagesStart(),
      ...messagesBlock(0, toolUse("f"), inputDelta('{"a":')),
      ...messagesStop("max_tokens"),
    ]);
    expect(maskIds(items)).toEqual([call("f", '{"a":', { status: "incomplete" })]);
  });

  test("a second beginning within an answer breaks it off; before any block it counts as the beginning", () => {
    const again = [messagesStart(), ...messagesTextBlock(0, "Hello"), ...messagesStop("end_turn")];
    expect(
      faultOf(() => readMessages([messagesStart(), messagesBlockStart(0, { type: "text", text: "He" }), ...again]))
        .reason,
    ).toBe(FaultReason.PROVIDER_FAILED);
    expect(maskIds(readMessages([messagesStart(), ...again]).items)).toEqual([said(textPart("Hello"))]);
  });

  test("a refusal has its reason", () => {
    const stop_details = { type: "refusal", category: "cyber", explanation: "It could do harm." };
    const refusal = { type: "refusal", refusal: "It could do harm." };
    const { items, outcome } = readMessages([
      messagesStart(),
      ...messagesTextBlock(0, "Hello.."),
      ...messagesStop("refusal", {}, { stop_details }),
    ]);
    expect(maskIds(items)).toEqual([{ ...said(textPart("Hello.."), refusal), status: "incomplete" }]);
    expect(outcome.detail).toBe("cyber");
    const nothing = readMessages([messagesStart(), ...messagesStop("refusal", {}, { stop_details })]);
    expect(maskIds(nothing.items)).toEqual([{ ...said(refusal), status: "incomplete" }]);
  });

  test("usage: cached tokens are part of the input, the last figures count, null is ignored", () => {
    const first = {
      input_tokens: 3,
      cache_read_input_tokens: 1_000,
      cache_creation_input_tokens: 200,
      output_tokens: 1,
      service_tier: "priority",
    };
    const last = {
      input_tokens: 5,
      cache_read_input_tokens: null,
      output_tokens: 40,
      output_tokens_details: { thinking_tokens: 30 },
    };
    expect(
      readMessages([messagesStart(first), ...messagesTextBlock(0, "Hi"), ...messagesStop("end_turn", last)]).outcome,
    ).toEqual({
      status: "completed",
      usage: { inputTokens: 1_205, cachedTokens: 1_000, cacheWriteTokens: 200, outputTokens: 40, reasoningTokens: 30 },
      serviceTier: "priority",
    });
    const standard = readMessages([
      wholeMessage([], { usage: { input_tokens: 1, output_tokens: 1, service_tier: "standard" } }),
    ]);
    expect(standard.outcome.serviceTier).toBe("default");
  });

  test("a stream stopping without its reason is no answer", () => {
    expect(faultOf(() => readMessages([messagesStart(), ...messagesTextBlock(0, "Hi")])).reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
    expect(faultOf(() => readMessages([messagesStart(), { type: "message_stop" }])).reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
    expect(faultOf(() => readMessages([{ id: "x" }])).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});

// https://platform.claude.com/docs/en/api/errors
describe("errors", () => {
  const error = (type: string, text = "Why") => ({
    type: "error",
    error: { type, message: text },
    request_id: "req_1",
  });

  test.each([
    ["invalid_request_error", 400, FaultReason.INVALID_REQUEST],
    ["authentication_error", 401, FaultReason.PROVIDER_FAILED],
    ["billing_error", 402, FaultReason.PROVIDER_FAILED],
    ["permission_error", 403, FaultReason.PROVIDER_FAILED],
    ["not_found_error", 404, FaultReason.NO_ENDPOINTS],
    ["conflict_error", 409, FaultReason.PROVIDER_FAILED],
    ["request_too_large", 413, FaultReason.PAYLOAD_TOO_LARGE],
    ["rate_limit_error", 429, FaultReason.RATE_LIMITED],
    ["api_error", 500, FaultReason.PROVIDER_FAILED],
    ["timeout_error", 504, FaultReason.PROVIDER_TIMEOUT],
    ["overloaded_error", 529, FaultReason.PROVIDER_OVERLOADED],
  ])("%s means the same as an answer and within a stream", (type, status, reason) => {
    const answered = providerFault(messagesError(status, error(type)));
    const inside = faultOf(() => readMessages([messagesStart(), error(type)]));
    expect([answered.reason, inside.reason]).toEqual([reason, reason]);
  });

  test("a too long prompt is the caller's error; an unpaid bill is the operator's", () => {
    const long = error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
    expect(providerFault(messagesError(400, long)).reason).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
    const unpaid = error("invalid_request_error", "Your credit balance is too low to access the API.");
    expect(providerFault(messagesError(400, unpaid)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});

describe("Anthropic over a socket", () => {
  const upstreams: Upstream[] = [];
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
    await Promise.all(upstreams.splice(0).map((upstream) => upstream.stop()));
  });

  async function open(...replies: readonly Reply[]): Promise<[Upstream, () => Turn]> {
    const upstream = await startUpstream(replies);
    upstreams.push(upstream);
    const provider = { dialect: "messages", base_url: `${upstream.url}/v1`, api_keys: ["upstream-key"] };
    const engine = openEngine(
      testConfig({
        providers: ["one", "two"].map((id) => ({ id, ...provider })),
        models: [
          {
            id: "acme/large-2",
            max_output_tokens: 9_000,
            endpoints: [
              { provider: "one", upstream_model: "large-2" },
              { provider: "two", upstream_model: "large-2" },
            ],
          },
        ],
      }),
    );
    closers.push(() => engine.upstreams.close());
    return [upstream, () => engine.turn];
  }
  const answer = [messagesStart(), ...messagesTextBlock(0, "Hi"), ...messagesStop("end_turn")];

  test("the key, the version and the model's maximum answer are sent", async () => {
    const [upstream, turn] = await open({ chunks: [{ sse: answer }] });
    const { events } = await runTestTurn(turn(), testRequest());
    expect(events.at(-1)?.type).toBe("end");
    const [request] = upstream.requests;
    expect([request?.method, request?.path]).toEqual(["POST", "/v1/messages"]);
    expect(request?.headers).toMatchObject({ "x-api-key": "upstream-key", "anthropic-version": "2023-06-01" });
    expect(request?.headers.authorization).toBeUndefined();
    expect(request?.json.max_tokens).toBe(9_000);
  });

  test.each([true, false])(
    "overloaded before any text, it falls back to the next endpoint (stream: %s)",
    async (stream) => {
      const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
      const early = [messagesStart(), { type: "ping" }, messagesBlockStart(0, { type: "text", text: "" }), overloaded];
      const [upstream, turn] = await open({ chunks: [{ sse: early }] }, { chunks: [{ sse: answer }] });
      const ending = await runTestTurn(turn(), testRequest({ stream }));
      expect(ending.fault).toBeUndefined();
      expect(upstream.requests).toHaveLength(2);
    },
  );

  test("overloaded after text, the turn fails", async () => {
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const late = [
      messagesStart(),
      messagesBlockStart(0, { type: "text", text: "" }),
      messagesDelta(0, { type: "text_delta", text: "Hi" }),
    ];
    let opened: (value?: unknown) => void = () => undefined;
    const after = new Promise((resolve) => {
      opened = resolve;
    });
    const chunks = [{ sse: late }, { sse: [overloaded], after }];
    const [upstream, turn] = await open({ chunks }, { chunks: [{ sse: answer }] });
    const { scope } = newScope();
    const batches = await openAnswer(turn()(testRequest(), scope));
    opened();
    const reading = (async () => {
      for await (const _ of batches);
    })();
    await expect(reading).rejects.toMatchObject({ reason: FaultReason.PROVIDER_OVERLOADED });
    expect(upstream.requests).toHaveLength(1);
  });
});
