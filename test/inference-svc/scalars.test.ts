/** Every limit of a scalar field at n and n + 1. */
import { type MessageInitShape, create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import type { ResponseIncludable } from "openai/resources/responses/responses";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { Problems, invalid } from "@sluice/proto/lib/validation/problems.js";
import { checkScalars } from "@sluice/inference-svc/entry/handlers/scalars.js";
import { checkEndUser, codePointLength, isLongerThan } from "@sluice/proto/lib/validation/text.js";

type Init = Exclude<MessageInitShape<typeof RunTurnRequestSchema>, { $typeName: string }>;

const thrown = (problems: Problems): Fault | undefined => {
  try {
    problems.throwIfAny();
  } catch (error) {
    return error as Fault;
  }
  return undefined;
};

const refusal = (fields: Init): string => {
  const problems = new Problems();
  checkScalars(create(RunTurnRequestSchema, { model: "a/b", ...fields }), problems);
  return thrown(problems)?.message ?? "accepted";
};

type Plugin = NonNullable<NonNullable<Init["plugins"]>[number]["plugin"]>;

const alignment = (value: Extract<Plugin, { case: "alignment" }>["value"]): Plugin => ({ case: "alignment", value });

const auto = (value: Extract<Plugin, { case: "autoRouter" }>["value"]): Plugin => ({ case: "autoRouter", value });
const beta = (value: Extract<Plugin, { case: "autoBetaRouter" }>["value"]): Plugin => ({
  case: "autoBetaRouter",
  value,
});
const patterns = (count: number, length = 1) => Array<string>(count).fill("𝒳".repeat(length));

const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));

describe("limits of scalar request fields", () => {
  test.each<[string, Init, Init, string]>([
    [
      "session_id",
      { sessionId: "𝒳".repeat(256) },
      { sessionId: "𝒳".repeat(257) },
      "session_id: at most 256 characters",
    ],
    ["user", { user: "é".repeat(256) }, { user: "é".repeat(257) }, "user: at most 256 characters"],
    [
      "combining marks",
      { user: `e${"\u0301".repeat(255)}` },
      { user: `e${"\u0301".repeat(2_000)}` },
      "user: at most 256 characters",
    ],
    ["pairs", { metadata: pairs(16) }, { metadata: pairs(17) }, "metadata: at most 16 pairs"],
    [
      "keys",
      { metadata: { ["k".repeat(64)]: "" } },
      { metadata: { ["k".repeat(65)]: "" } },
      "metadata: keys must have at most 64 characters",
    ],
    [
      "values",
      { metadata: { a: "v".repeat(512) } },
      { metadata: { a: "v".repeat(513) } },
      "metadata.a: at most 512 characters",
    ],
    ["max_tool_calls", { maxToolCalls: 30 }, { maxToolCalls: 31 }, "max_tool_calls: must be between 1 and 30"],
    ["max_tool_calls, least", { maxToolCalls: 1 }, { maxToolCalls: 0 }, "max_tool_calls: must be between 1 and 30"],
    [
      "max_tool_calls, ignored",
      { maxToolCalls: 31, stopServerToolsWhenJson: Buffer.from("[]") },
      { maxToolCalls: 31 },
      "max_tool_calls: must be between 1 and 30",
    ],
    ["max_output_tokens", { maxOutputTokens: 1 }, { maxOutputTokens: 0 }, "max_output_tokens: must be at least 1"],
    ["temperature", { temperature: 2 }, { temperature: 2.01 }, "temperature: must be between 0 and 2"],
    ["temperature, least", { temperature: 0 }, { temperature: -0.01 }, "temperature: must be between 0 and 2"],
    ["temperature, no number", { temperature: 1 }, { temperature: Number.NaN }, "temperature: must be between 0 and 2"],
    ["top_p", { topP: 1 }, { topP: 1.01 }, "top_p: must be between 0 and 1"],
    ["stop", { stop: Array<string>(16).fill("a") }, { stop: Array<string>(17).fill("a") }, "stop: at most 16 entries"],
    [
      "stop, each",
      { stop: ["𝒳".repeat(1_024)] },
      { stop: ["a", "𝒳".repeat(1_025)] },
      "stop.1: at most 1024 characters",
    ],
    ["stop, empty", { stop: [] }, { stop: [""] }, "stop.0: at least 1 character"],
    [
      "seed",
      { seed: -(2n ** 53n - 1n) },
      { seed: 2n ** 53n },
      "seed: must be between -9007199254740991 and 9007199254740991",
    ],
    [
      "logit_bias",
      { logitBias: { "1": -100, "2": 100 } },
      { logitBias: { "1": 100.5 } },
      "logit_bias.1: must be between -100 and 100",
    ],
    ["logit_bias, keys", {}, { logitBias: { Hello: 1 } }, "logit_bias.Hello: keys must be ids of tokens"],
    [
      "anthropic_betas",
      { anthropicBetas: ["b".repeat(128)] },
      { anthropicBetas: ["a,b"] },
      "anthropic_betas.0: 1 to 128 visible ASCII characters without commas",
    ],
    ["door", { door: "messages" }, { door: "window" }, "door: must be one of responses, chat, messages"],
    ["top_k", { topK: 0 }, { topK: -1 }, "top_k: must be at least 0"],
    ["top_logprobs", { topLogprobs: 20 }, { topLogprobs: 21 }, "top_logprobs: must be between 0 and 20"],
    [
      "frequency_penalty",
      { frequencyPenalty: -2 },
      { frequencyPenalty: -2.1 },
      "frequency_penalty: must be between -2 and 2",
    ],
    [
      "presence_penalty",
      { presencePenalty: 2 },
      { presencePenalty: 2.1 },
      "presence_penalty: must be between -2 and 2",
    ],
    ["model", { model: "m".repeat(256) }, { model: "m".repeat(257) }, "model: at most 256 characters"],
    [
      "models",
      { models: Array<string>(32).fill("a/b") },
      { models: Array<string>(33).fill("a/b") },
      "models: at most 32 entries",
    ],
    ["models, each", { models: ["a"] }, { models: ["a", ""] }, "models.1: at least 1 character"],
    [
      "provider",
      { provider: {} },
      { provider: { dataCollection: "no" } },
      "provider.data_collection: must be one of allow, deny",
    ],
    [
      "provider, sort",
      { provider: { sortBy: "price", sortPartition: "none" } },
      { provider: { sortPartition: "all" } },
      "provider.sort.partition: must be one of model, none",
    ],
    [
      "provider, slugs",
      { provider: { only: ["a"], order: ["a/b"] } },
      { provider: { only: ["a", ""] } },
      "provider.only.1: at least 1 character",
    ],
    [
      "provider, price",
      { provider: { maxPrice: { prompt: 0 } } },
      { provider: { maxPrice: { prompt: -1 } } },
      'provider.max_price.prompt: must be a number of at least 0, or a decimal string such as "0.25"',
    ],
    [
      "provider, percentiles",
      { provider: { preferredMaxLatency: { p99: 0 } } },
      { provider: { preferredMaxLatency: { p99: -1 } } },
      "provider.preferred_max_latency.p99: must be at least 0",
    ],
    [
      "alignment, rules",
      { plugins: [{ plugin: alignment({ rules: Array<string>(128).fill("r") }) }] },
      { plugins: [{ plugin: alignment({ rules: Array<string>(129).fill("r") }) }] },
      "plugins.0.rules: at most 128 rules",
    ],
    [
      "alignment, rule",
      { plugins: [{ plugin: alignment({ rules: ["r".repeat(200)] }) }] },
      { plugins: [{ plugin: alignment({ rules: ["r".repeat(201)] }) }] },
      "plugins.0.rules.0: at most 200 characters",
    ],
    [
      "alignment, line breaks",
      { plugins: [{ plugin: alignment({ rules: ["a b"] }) }] },
      { plugins: [{ plugin: alignment({ rules: ["a\nb"] }) }] },
      "plugins.0.rules.0: must not contain line breaks",
    ],
    [
      "alignment, retries",
      { plugins: [{ plugin: alignment({ rules: ["r"], maxRetries: 3 }) }] },
      { plugins: [{ plugin: alignment({ rules: ["r"], maxRetries: 4 }) }] },
      "plugins.0.max_retries: must be between 0 and 3",
    ],
    [
      "alignment, threshold",
      { plugins: [{ plugin: alignment({ rules: ["r"], threshold: 1 }) }] },
      { plugins: [{ plugin: alignment({ rules: ["r"], threshold: 0 }) }] },
      "plugins.0.threshold: must be above 0",
    ],
    [
      "auto-router, allowed models",
      { plugins: [{ plugin: auto({ allowedModels: patterns(1024) }) }] },
      { plugins: [{ plugin: auto({ allowedModels: patterns(1025) }) }] },
      "plugins.0.allowed_models: at most 1024 patterns",
    ],
    [
      "auto-router, one pattern",
      { plugins: [{ plugin: auto({ excludedModels: patterns(1, 1024) }) }] },
      { plugins: [{ plugin: auto({ excludedModels: patterns(1, 1025) }) }] },
      "plugins.0.excluded_models.0: at most 1024 characters",
    ],
    [
      "auto-beta-router, all patterns",
      { plugins: [{ plugin: beta({ excludedModels: patterns(64, 1024) }) }] },
      { plugins: [{ plugin: beta({ excludedModels: [...patterns(64, 1024), "n"] }) }] },
      "plugins.0.excluded_models: at most 65536 characters in total",
    ],
    [
      "auto-beta-router, tradeoff",
      { plugins: [{ plugin: beta({ costQualityTradeoff: 10 }) }] },
      { plugins: [{ plugin: beta({ costQualityTradeoff: 11 }) }] },
      "plugins.0.cost_quality_tradeoff: must be between 0 and 10",
    ],
    [
      "auto-router, tradeoff",
      { plugins: [{ plugin: auto({ costQualityTradeoff: 0, costTier: "max", pinModel: true }) }] },
      { plugins: [{ plugin: auto({ costQualityTradeoff: -1 }) }] },
      "plugins.0.cost_quality_tradeoff: must be between 0 and 10",
    ],
    ["model or models", { model: "", models: ["a/b"] }, { model: "" }, "model or models is required"],
  ])("allow %s up to its limit", (_, within, beyond, message) => {
    expect(refusal(within)).toBe("accepted");
    expect(refusal(beyond)).toBe(message);
  });

  test.each<[Init, RegExp]>([
    [{ metadata: { "a[0]": "v" } }, /^metadata\.a\[0\]: keys must not contain brackets$/],
    [{ metadata: { "": "v" } }, /^metadata: keys must have at least 1 character$/],
    [{ metadata: { a: "\0" } }, /^metadata\.a: must not contain NUL$/],
    [{ user: "a\0b" }, /^user: must not contain NUL$/],
    [{ user: "a\ud800" }, /^user: must be well-formed Unicode$/],
    [{ sessionId: "\0" }, /^session_id: must not contain NUL$/],
    [{ serviceTier: "gold" }, /^service_tier: must be one of auto, default, fast, flex, priority, scale, ultrafast$/],
    [{ textVerbosity: "loud" }, /^text\.verbosity: must be one of /],
    [{ include: ["reasoning.encrypted_content", "all"] }, /^include\.1: must be one of /],
    [{ provider: { sortBy: "size" } }, /^provider\.sort\.by: must be one of /],
    [{ provider: { quantizations: ["fp9"] } }, /^provider\.quantizations\.0: must be one of /],
    [{ provider: { preferredMinThroughput: { p50: Number.NaN } } }, /^provider\.preferred_min_throughput\.p50: /],
    [{ modalities: ["text", "smell"] }, /^modalities\.1: must be one of text, image$/],
    [{ plugins: [{}] }, /^plugins\.0: a plugin that this build does not know$/],
    [{ plugins: [{ plugin: alignment({}) }] }, /^plugins\.0\.rules: required$/],
    [{ plugins: [{ plugin: alignment({ rules: ["r"], mode: "watch" }) }] }, /^plugins\.0\.mode: must be one of /],
    [{ plugins: [{ plugin: auto({ costTier: "all" }) }] }, /^plugins\.0\.cost_tier: must be one of low, medium, /],
    [
      { plugins: [{ plugin: alignment({ rules: ["r"] }) }, { plugin: alignment({ rules: ["r"] }) }] },
      /^plugins\.1: plugin alignment is given twice$/,
    ],
  ])("refuse %j", (fields, message) => {
    expect(refusal(fields)).toMatch(message);
  });

  test.each(["auto", "default", "fast", "flex", "priority", "scale", "ultrafast"])(
    "allow the service tier %s",
    (serviceTier) => {
      expect(refusal({ serviceTier })).toBe("accepted");
    },
  );

  /** The compiler checks the list against the type of the client. */
  const included: Record<ResponseIncludable, true> = {
    "file_search_call.results": true,
    "web_search_call.results": true,
    "web_search_call.action.sources": true,
    "message.input_image.image_url": true,
    "computer_call_output.output.image_url": true,
    "code_interpreter_call.outputs": true,
    "reasoning.encrypted_content": true,
    "message.output_text.logprobs": true,
  };

  test("allow every include value in the types of the openai library", () => {
    expect(refusal({ include: Object.keys(included) })).toBe("accepted");
  });
});

describe("problems of a request", () => {
  test("are all reported, the first one in the message", () => {
    const problems = new Problems();
    problems.add("top_p", "must be a number");
    problems.add("user", "must be a string");
    const fault = thrown(problems);
    expect(fault?.message).toBe("top_p: must be a number (and 1 more)");
    expect(fault?.metadata).toEqual({
      error_type: "invalid_request",
      param: "top_p",
      issues: [
        { path: "top_p", message: "must be a number" },
        { path: "user", message: "must be a string" },
      ],
    });
  });

  test("are counted, but not all kept", () => {
    const problems = new Problems();
    for (let i = 0; i < 50_000; i++) problems.add(`input.${i}`, "must be an object");
    const fault = thrown(problems);
    expect(fault?.message).toBe("input.0: must be an object (and 49999 more)");
    expect(fault?.metadata?.["issues"]).toHaveLength(20);
  });

  test("do not repeat the path of a sentence that begins with it", () => {
    expect(invalid("store", "store is always false").message).toBe("store is always false");
    expect(invalid("store", "storeys").message).toBe("store: storeys");
  });
});

describe("text fields of a request", () => {
  test.each([
    ["", 0],
    ["abc", 3],
    ["😀a😀", 3],
    ["\ud800a", 2],
    ["a\ud800", 2],
  ])("count %j as %i code points", (text, length) => {
    expect(codePointLength(text)).toBe(length);
    expect(isLongerThan(text, length)).toBe(false);
    if (length > 0) expect(isLongerThan(text, length - 1)).toBe(true);
  });

  const problemOf = (user: string): string | undefined => {
    const problems = new Problems();
    checkEndUser("user", user, problems);
    return thrown(problems)?.message;
  };

  test.each(["a", "a b", "a/b", "é", "e\u0301", "😀".repeat(512), "a\r\nb", ".."])("allow the end user %j", (user) => {
    expect(problemOf(user)).toBeUndefined();
  });

  test.each(["", " a", "a ", "\u00a0a", "a\u3000", "\ufeffa", "a\u200b", "a\n", "a\0b", "a\udc00", "😀".repeat(513)])(
    "refuse the end user %j",
    (user) => {
      expect(problemOf(user)).toMatch(/^user: /);
    },
  );
});
