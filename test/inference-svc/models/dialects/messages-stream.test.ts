/**
 * Answers of Messages servers as output items. The fixtures are made by hand after the examples of
 * https://platform.claude.com/docs/en/build-with-claude/streaming and the pages of the features.
 */
import { describe, expect, test } from "@jest/globals";
import { messagesError } from "@sluice/inference-svc/models/upstream/messages/error.js";
import { providerFault } from "@sluice/inference-svc/models/upstream/failure.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { maskIds } from "../../asking.js";
import {
  messagesStart,
  messagesBlock,
  messagesBlockStart,
  messagesDelta,
  wholeMessage,
  readMessages,
  messagesStop,
  messagesTextBlock,
} from "./messages-translation.js";
import { thrownFault, shownMessage, shownPart, shownThought } from "./shown-items.js";

const claude = { format: "anthropic-claude-v1" };
const thought = (text: string | undefined, more: object) => shownThought(text, { ...claude, ...more });
const inputDelta = (partial_json: string) => ({ type: "input_json_delta", partial_json });

describe("the text of a Messages answer", () => {
  test("has no item for an empty block", () => {
    expect(readMessages([messagesStart(), ...messagesTextBlock(0), ...messagesStop("end_turn")]).items).toEqual([]);
  });

  test("is not interrupted by unknown events and blocks", () => {
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
    expect(maskIds(items)).toEqual([shownMessage(shownPart("a")), shownMessage(shownPart("b"))]);
  });
});

describe("calls and reasoning of a Messages answer", () => {
  test("have the signature of hidden reasoning, and sealed reasoning only on request", () => {
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
    expect(maskIds(readMessages(events).items)).toEqual([shown, shownMessage(shownPart("x"))]);
    expect(maskIds(readMessages(events, { include: ["reasoning.encrypted_content"] }).items)).toEqual([
      { ...shown, encrypted_content: "sluice:anthropic-claude-v1:signature:s" },
      thought(undefined, { encrypted_content: "sluice:anthropic-claude-v1:data:sealed" }),
      shownMessage(shownPart("x")),
    ]);
  });
});

// https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
describe("the web search of a Messages answer", () => {
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

  test("has citation places counted in code points", () => {
    const { items } = readMessages(searched(found, "😀😀: "));
    expect(items.flatMap(({ content }) => (content as { annotations?: object[] }[] | undefined) ?? [])).toContainEqual(
      expect.objectContaining({ annotations: [expect.objectContaining({ start_index: 4, end_index: 16 })] }),
    );
  });

  test("has no result for the first of two calls with one id", () => {
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

  test("shows its progress, and its citations have their places", () => {
    const { items, events, outcome } = readMessages(searched(found));
    expect(maskIds(items)).toEqual([
      shownMessage(shownPart("I will look.")),
      searchItem("completed"),
      shownMessage(shownPart("So: born in 1916.", annotation)),
    ]);
    expect(events.flatMap((event) => (event.type === "native" ? [[event.name, event.index]] : []))).toEqual([
      ["response.web_search_call.in_progress", 1],
      ["response.web_search_call.searching", 1],
      ["response.web_search_call.completed", 1],
    ]);
    expect(outcome.usage?.serverToolUse).toEqual({ webSearchRequests: 1 });
  });

  test("has sources on request, in streams and whole answers", () => {
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

  test("keeps its status when it failed or was paused", () => {
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
describe("the end of a Messages answer", () => {
  test("is a failure at a delta for a block before the open one", () => {
    const texts = [...messagesTextBlock(0, "a"), messagesBlockStart(1, { type: "text", text: "" })];
    const late = messagesDelta(0, { type: "text_delta", text: "b" });
    const read = () => readMessages([messagesStart(), ...texts, late, ...messagesStop("end_turn")]);
    expect(thrownFault(read).reason).toBe(FaultReason.PROVIDER_FAILED);
  });

  test("comes early at a second beginning, except before any block", () => {
    const again = [messagesStart(), ...messagesTextBlock(0, "Hello"), ...messagesStop("end_turn")];
    expect(
      thrownFault(() => readMessages([messagesStart(), messagesBlockStart(0, { type: "text", text: "He" }), ...again]))
        .reason,
    ).toBe(FaultReason.PROVIDER_FAILED);
    expect(maskIds(readMessages([messagesStart(), ...again]).items)).toEqual([shownMessage(shownPart("Hello"))]);
  });

  test("has the tier standard as the default", () => {
    const usage = { input_tokens: 1, output_tokens: 1, service_tier: "standard" };
    expect(readMessages([wholeMessage([], { usage })]).outcome.serviceTier).toBe("default");
  });

  test("has the reason of a refusal", () => {
    const stop_details = { type: "refusal", category: "cyber", explanation: "It could do harm." };
    const refusal = { type: "refusal", refusal: "It could do harm." };
    const { items, outcome } = readMessages([
      messagesStart(),
      ...messagesTextBlock(0, "Hello.."),
      ...messagesStop("refusal", {}, { stop_details }),
    ]);
    expect(maskIds(items)).toEqual([{ ...shownMessage<object>(shownPart("Hello.."), refusal), status: "incomplete" }]);
    expect(outcome.detail).toBe("cyber");
    const nothing = readMessages([messagesStart(), ...messagesStop("refusal", {}, { stop_details })]);
    expect(maskIds(nothing.items)).toEqual([{ ...shownMessage(refusal), status: "incomplete" }]);
  });
});

// https://platform.claude.com/docs/en/api/errors
describe("errors of a Messages answer", () => {
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
  ])("mean the same as an answer and within a stream: %s", (type, status, reason) => {
    const answered = providerFault(messagesError(status, error(type)));
    const inside = thrownFault(() => readMessages([messagesStart(), error(type)]));
    expect([answered.reason, inside.reason]).toEqual([reason, reason]);
  });

  test("blame the caller for a prompt that is too long, and the operator for an unpaid bill", () => {
    const long = error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
    expect(providerFault(messagesError(400, long)).reason).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
    const unpaid = error("invalid_request_error", "Your credit balance is too low to access the API.");
    expect(providerFault(messagesError(400, unpaid)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});
