/** Every limit of a scalar field at n and n + 1. */
import { type MessageInitShape, create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/runtime/fault.js";
import { Problems, invalid } from "@sluice/proto/runtime/validation/problems.js";
import { checkScalars } from "@sluice/proto/contract/scalars.js";
import { checkEndUser, codePointLength, isLongerThan } from "@sluice/proto/runtime/validation/text.js";

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

const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));

describe("limits", () => {
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
    ["max_output_tokens", { maxOutputTokens: 1 }, { maxOutputTokens: 0 }, "max_output_tokens: must be at least 1"],
    ["temperature", { temperature: 2 }, { temperature: 2.01 }, "temperature: must be between 0 and 2"],
    ["temperature, least", { temperature: 0 }, { temperature: -0.01 }, "temperature: must be between 0 and 2"],
    ["temperature, no number", { temperature: 1 }, { temperature: Number.NaN }, "temperature: must be between 0 and 2"],
    ["top_p", { topP: 1 }, { topP: 1.01 }, "top_p: must be between 0 and 1"],
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
    ["model or models", { model: "", models: ["a/b"] }, { model: "" }, "model or models is required"],
  ])("%s", (_, within, beyond, message) => {
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
  ])("%j", (fields, message) => {
    expect(refusal(fields)).toMatch(message);
  });

  test.each(["auto", "default", "fast", "flex", "priority", "scale", "ultrafast"])("tier %s", (serviceTier) => {
    expect(refusal({ serviceTier })).toBe("accepted");
  });
});

describe("problems", () => {
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

describe("text", () => {
  test.each([
    ["", 0],
    ["abc", 3],
    ["😀a😀", 3],
    ["\ud800a", 2],
    ["a\ud800", 2],
  ])("%j has %i code points", (text, length) => {
    expect(codePointLength(text)).toBe(length);
    expect(isLongerThan(text, length)).toBe(false);
    if (length > 0) expect(isLongerThan(text, length - 1)).toBe(true);
  });

  const problemOf = (user: string): string | undefined => {
    const problems = new Problems();
    checkEndUser("user", user, problems);
    return thrown(problems)?.message;
  };

  test.each(["a", "a b", "a/b", "é", "e\u0301", "😀".repeat(512), "a\r\nb", ".."])("end user %j is one", (user) => {
    expect(problemOf(user)).toBeUndefined();
  });

  test.each(["", " a", "a ", "\u00a0a", "a\u3000", "\ufeffa", "a\u200b", "a\n", "a\0b", "a\udc00", "😀".repeat(513)])(
    "end user %j is none",
    (user) => {
      expect(problemOf(user)).toMatch(/^user: /);
    },
  );
});
