/**
 * Answers of Amazon Bedrock as output items. The fixtures are made by hand from
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html and the pages of its types.
 */
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Turn } from "@sluice/inference-svc/turn/turn.js";
import { converseError } from "@sluice/inference-svc/models/upstream/converse/error.js";
import { providerFault } from "@sluice/inference-svc/models/upstream/failure.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.js";
import { testRequest, testConfig, maskIds, openEngine, runTestTurn } from "../../asking.js";
import {
  converseAnswer,
  converseStart,
  callBlock,
  converseDelta,
  endEvents,
  gptOss,
  converseMetadata,
  readConverse,
  readWholeConverse,
  converseStop,
  converseTextBlock,
  thoughtBlock,
} from "./converse-translation.js";
import { thrownFault, shownMessage, shownPart, shownThought } from "./shown-items.js";

const said = (text: string) => shownMessage(shownPart(text));
const thought = (text: string | undefined, more: object = {}) =>
  shownThought(text, { format: "anthropic-claude-v1", ...more });

describe("the text of a Converse answer", () => {
  test("is one message when consecutive, as with citations", () => {
    const cited = { citation: { title: "d", location: { documentPage: { documentIndex: 0, start: 1, end: 2 } } } };
    const blocks = [
      ...converseTextBlock(0, "a"),
      converseDelta(1, cited),
      ...converseTextBlock(1, "b"),
      ...converseTextBlock(2, "c"),
    ];
    expect(maskIds(readConverse([converseStart(), ...blocks, ...endEvents("end_turn")]).items)).toEqual([said("abc")]);
    const whole = converseAnswer([{ text: "a" }, { citationsContent: { content: [{ text: "b" }], citations: [] } }]);
    expect(maskIds(readWholeConverse(whole).items)).toEqual([said("ab")]);
  });

  test("has no item for an empty block, after which reasoning is cut off", () => {
    const stopReason = "max_tokens";
    const cut = maskIds([thought("Hm", { status: "incomplete" })]);
    const blocks = [...thoughtBlock(0, { text: "Hm" }), ...converseTextBlock(1, ""), ...thoughtBlock(2, { text: "" })];
    expect(maskIds(readConverse([converseStart(), ...blocks, ...endEvents(stopReason)]).items)).toEqual(cut);
    const content = [{ reasoningContent: { reasoningText: { text: "Hm" } } }, { text: "" }];
    expect(maskIds(readWholeConverse(converseAnswer(content, { stopReason })).items)).toEqual(cut);
  });
});

describe("calls and reasoning of a Converse answer", () => {
  test("fail the answer when pieces of one call come after the next has begun", () => {
    const [one, other] = [callBlock(0, "get_weather", '{"town":'), callBlock(1, "now")];
    const beside = [...one.slice(0, -1), ...other, converseDelta(0, { toolUse: { input: '"Bern"}' } })];
    expect(() => readConverse([converseStart(), ...beside, ...endEvents("tool_use")])).toThrow(
      "Provider returned error",
    );
  });

  test("have the signature of hidden reasoning, and sealed reasoning only on request", () => {
    const frames = [
      converseStart(),
      ...thoughtBlock(0, { signature: "sig" }),
      ...thoughtBlock(1, { redactedContent: "c2VhbGVk" }),
      ...converseTextBlock(2, "Hi"),
      ...endEvents("end_turn"),
    ];
    expect(maskIds(readConverse(frames).items)).toEqual([thought(undefined, { signature: "sig" }), said("Hi")]);
    const include = ["reasoning.encrypted_content"];
    const { items } = readConverse(frames, { include });
    const sealed = thought(undefined, { encrypted_content: "sluice:anthropic-claude-v1:data:c2VhbGVk" });
    const signed = { signature: "sig", encrypted_content: "sluice:anthropic-claude-v1:signature:sig" };
    expect(maskIds(items)).toEqual([thought(undefined, signed), sealed, said("Hi")]);
    const whole = converseAnswer([{ reasoningContent: { redactedContent: "c2VhbGVk" } }]);
    expect([maskIds(readWholeConverse(whole).items), maskIds(readWholeConverse(whole, { include }).items)]).toEqual([
      [],
      [sealed],
    ]);
  });

  test("have no known format for reasoning of other model families", () => {
    const frames = [
      converseStart(),
      ...thoughtBlock(0, { text: "Hm" }),
      ...converseTextBlock(1, "Hi"),
      ...endEvents("end_turn"),
    ];
    expect(readConverse(frames, {}, gptOss).items[0]?.format).toBe("unknown");
  });
});

describe("the end of a Converse answer", () => {
  test("has a separate count of tokens written to the cache for an hour", () => {
    const cacheDetails = [
      { ttl: "1h", inputTokens: 150 },
      { ttl: "5m", inputTokens: 50 },
    ];
    const usage = { inputTokens: 5, outputTokens: 40, totalTokens: 245, cacheWriteInputTokens: 200, cacheDetails };
    const expected = { usage: { inputTokens: 205, cacheWriteTokens: 200, cacheWriteHourTokens: 150 } };
    expect(readConverse([converseStart(), converseStop("end_turn"), converseMetadata(usage)]).outcome).toMatchObject(
      expected,
    );
    expect(readWholeConverse(converseAnswer([], { usage })).outcome).toMatchObject(expected);
  });

  test("may lack the usage, even if the usage breaks off", () => {
    const frames = [converseStart(), ...converseTextBlock(0, "Hi"), converseStop("end_turn")];
    const expected = { status: "completed", serviceTier: "default" };
    expect(readConverse(frames).outcome).toEqual(expected);
    expect(readConverse([...frames, converseMetadata().subarray(0, 40)]).outcome).toEqual(expected);
  });

  test("is a failure without a reason, or inside a frame", () => {
    const frames = [converseStart(), ...converseTextBlock(0, "Hi")];
    expect(thrownFault(() => readConverse(frames)).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(thrownFault(() => readConverse([...frames, converseStop("end_turn").subarray(0, -1)])).reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
    expect(thrownFault(() => readConverse([...frames, converseMetadata()])).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(thrownFault(() => readWholeConverse({ message: "x" })).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});

// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors
describe("errors of a Converse answer", () => {
  test.each([
    ["AccessDeniedException", 403, FaultReason.PROVIDER_FAILED],
    ["InternalServerException", 500, FaultReason.PROVIDER_FAILED],
    ["ModelErrorException", 424, FaultReason.PROVIDER_FAILED],
    ["ModelNotReadyException", 429, FaultReason.PROVIDER_FAILED],
    ["ModelTimeoutException", 408, FaultReason.PROVIDER_TIMEOUT],
    ["ResourceNotFoundException", 404, FaultReason.NO_ENDPOINTS],
    ["ServiceQuotaExceededException", 400, FaultReason.PROVIDER_FAILED],
    ["ServiceUnavailableException", 503, FaultReason.PROVIDER_FAILED],
    ["ThrottlingException", 429, FaultReason.RATE_LIMITED],
    ["ValidationException", 400, FaultReason.INVALID_REQUEST],
  ])("of the type %s are recognized by their header and in their body", (type, status, reason) => {
    const body = { message: "Why" };
    const named = [
      converseError(status, body, `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`),
      converseError(status, { ...body, __type: `com.amazon.coral.service#${type}` }),
    ];
    expect(named.map((error) => [providerFault(error).reason, error.code, error.message])).toEqual([
      [reason, type, "Why"],
      [reason, type, "Why"],
    ]);
  });

  test("blame the caller for a prompt that is too long, and the configuration for a missing model", () => {
    const reasonOf = (message: string) => providerFault(converseError(400, { message }, "ValidationException")).reason;
    expect(reasonOf("Input is too long for requested model.")).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
    expect(reasonOf("The provided model identifier is invalid.")).toBe(FaultReason.NO_ENDPOINTS);
    const onDemand = "Invocation of model ID x with on-demand throughput isn’t supported. Retry your request.";
    expect(reasonOf(onDemand)).toBe(FaultReason.NO_ENDPOINTS);
    expect(providerFault(converseError(403, { Message: "Denied" })).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(providerFault(converseError(424, undefined)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});

describe("Bedrock Converse over a socket", () => {
  const upstreams: Upstream[] = [];
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
    await Promise.all(upstreams.splice(0).map((upstream) => upstream.stop()));
  });

  async function open(...replies: readonly Reply[]): Promise<[Upstream, () => Turn]> {
    const upstream = await startUpstream(replies);
    upstreams.push(upstream);
    const provider = {
      dialect: "converse",
      base_url: upstream.url,
      api_keys: ["upstream-key"],
      timeouts: { idle_ms: 5_000 },
    };
    const upstream_model = "anthropic.claude-sonnet-4-5-20250929-v1:0";
    const endpoints = ["one", "two"].map((id) => ({ provider: id, upstream_model }));
    const engine = openEngine(
      testConfig({
        providers: ["one", "two"].map((id) => ({ id, ...provider })),
        models: [{ id: "acme/large-2", input_modalities: ["text", "image"], endpoints }],
      }),
    );
    closers.push(() => engine.upstreams.close());
    return [upstream, () => engine.turn];
  }
  const stream = (...frames: readonly Uint8Array[]): Reply => ({
    headers: { "content-type": "application/vnd.amazon.eventstream" },
    chunks: [{ bytes: Buffer.concat(frames) }],
  });
  const hi = [converseStart(), ...converseTextBlock(0, "Hi"), ...endEvents("end_turn")];

  test("waits for missing usage only for a limited time", async () => {
    const [upstream, turn] = await open({
      ...stream(converseStart(), ...converseTextBlock(0, "Hi"), converseStop("end_turn")),
      hang: true,
    });
    const closed = upstream.nextClose();
    const { events, fault } = await runTestTurn(turn(), testRequest());
    expect(fault).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "completed" } });
    await closed;
  });

  test("shows the sent body without its binary contents", async () => {
    const [, turn] = await open(stream(...hi));
    const bytes = "QUJD".repeat(100);
    const content = [
      { type: "input_text", text: "?" },
      { type: "input_image", image_url: `data:image/png;base64,${bytes}` },
    ];
    const input = [{ type: "message", role: "user", content }];
    const { events } = await runTestTurn(turn(), testRequest({ input, echoUpstreamBody: true }));
    const [debug] = events;
    expect(debug?.type === "debug" && debug.bodyJson).toContain('"bytes":"[redacted]"');
    expect(JSON.stringify(debug)).not.toContain(bytes);
  });
});
