/** Random messages of a session, for tests of the hand-written codecs. */
import { create } from "@bufbuild/protobuf";
import { FaultReason, FaultSchema } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import {
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import fc from "../support/properties.js";

const index = fc.oneof(fc.nat(3), fc.nat(0xffff_ffff));
const long = fc.oneof(
  fc.bigInt(0n, 3n),
  fc.bigInt(0n, 2n ** 64n - 1n),
  fc.constantFrom(2n ** 32n, 2n ** 53n - 1n, 2n ** 53n),
);
const words = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.string({ minLength: 60, maxLength: 70 }),
  fc.constantFrom("", "é".repeat(40), "𝒳", "\ud835", "x\udcb3", "\ufeffx", "\ufffd", "x".repeat(5_000)),
);
const bytes = fc.uint8Array({ maxLength: 200 });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const numbers = fc.oneof(fc.double(), fc.constantFrom(0, -0, 0.7, Number.NaN));
/** The fields of a message, each left out at times. */
const record = <T>(fields: { [Name in keyof T]: fc.Arbitrary<T[Name]> }) => fc.record(fields, { requiredKeys: [] });
const kind = <Name extends string, T>(name: Name, value: fc.Arbitrary<T>) =>
  fc.record({ case: fc.constant(name), value });

const textDelta = record({ index, part: index, delta: words, logprobsJson: bytes });
const usage = record({
  inputTokens: index,
  cachedTokens: index,
  cacheWriteTokens: index,
  outputTokens: index,
  reasoningTokens: index,
  serverToolUse: record({ webSearchRequests: index, toolCallsExecuted: index }),
  cost: record({ inputPicoUsd: long, outputPicoUsd: long, serverToolsPicoUsd: long }),
  estimated: fc.boolean(),
});
const event = fc.oneof(
  kind("textDelta", textDelta),
  kind("refusalDelta", textDelta),
  kind("reasoningDelta", textDelta),
  kind("summaryDelta", textDelta),
  kind("argumentsDelta", record({ index, delta: words })),
  kind("start", record({ model: words, inputTokens: index })),
  kind("itemStart", record({ index, itemJson: bytes })),
  kind("itemEnd", record({ index, itemJson: bytes })),
  kind("annotation", record({ index, part: index, annotationJson: bytes })),
  kind("native", record({ index, type: words, payloadJson: bytes })),
  kind("debug", record({ upstreamBodyJson: bytes })),
  kind("usage", usage),
  kind(
    "end",
    record({
      status: fc.constantFrom(0, 1, 2, 7),
      incompleteReason: words,
      usage,
      serviceTier: words,
      serviceMetadataJson: bytes,
      alignmentJson: bytes,
      stopSequence: words,
      incompleteDetail: words,
    }),
  ),
  fc.constant({ case: undefined }),
);
const serverFrame = fc.record({
  turn: index,
  last: fc.boolean(),
  frame: fc.oneof(
    kind("batch", record({ cost: index, events: fc.array(fc.record({ event }), { maxLength: 5 }) })),
    kind(
      "fault",
      words.map((message) => create(FaultSchema, { message, reason: FaultReason.INTERNAL })),
    ),
    fc.constant({ case: undefined }),
  ),
});

const hello = fc.record({ instance: words, knows: fc.dictionary(fc.string(), index) });

type ResponseInit = Parameters<typeof create<typeof SessionResponseSchema>>[1];
type RequestInit = Parameters<typeof create<typeof SessionRequestSchema>>[1];

export const responses: fc.Arbitrary<SessionResponse> = fc
  .record(
    { frames: fc.array(serverFrame, { maxLength: 5 }), hello, draining: fc.boolean() },
    { requiredKeys: ["frames"] },
  )
  .map((said) => create(SessionResponseSchema, said as ResponseInit));

/** Fields of a request that are no messages. */
const plain = {
  model: words,
  models: fc.array(words, { maxLength: 3 }),
  inputJson: fc.oneof({ weight: 9, arbitrary: bytes }, { weight: 1, arbitrary: fc.constant(new Uint8Array(70_000)) }),
  instructions: words,
  stream: fc.boolean(),
  maxOutputTokens: fc.oneof(fc.nat(100), fc.integer()),
  temperature: numbers,
  topP: numbers,
  topK: fc.integer(),
  frequencyPenalty: numbers,
  presencePenalty: numbers,
  topLogprobs: fc.nat(20),
  parallelToolCalls: fc.boolean(),
  toolsJson: bytes,
  toolChoiceJson: bytes,
  textFormatJson: bytes,
  textVerbosity: words,
  reasoningJson: bytes,
  include: fc.array(words, { maxLength: 3 }),
  maxToolCalls: fc.nat(30),
  modalities: fc.array(words, { maxLength: 2 }),
  user: words,
  safetyIdentifier: words,
  sessionId: words,
  promptCacheKey: words,
  serviceTier: words,
  echoUpstreamBody: fc.boolean(),
  serviceMetadata: fc.boolean(),
  truncation: words,
  imageConfigJson: bytes,
  promptCacheOptionsJson: bytes,
  traceJson: bytes,
  stopServerToolsWhenJson: bytes,
  stop: fc.array(words, { maxLength: 3 }),
  seed: fc.oneof(
    fc.bigInt(0n, 300n),
    fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    fc.constantFrom(-1n, 2n ** 49n, 2n ** 53n),
  ),
  predictionJson: bytes,
  anthropicBetas: fc.array(words, { maxLength: 3 }),
  contextManagementJson: bytes,
  door: words,
};
const rare = {
  metadata: fc.dictionary(fc.string(), words, { maxKeys: 2 }),
  logitBias: fc.dictionary(fc.string(), fc.double(), { maxKeys: 2 }),
  cacheControl: record({ ttl: words }),
  provider: record({ order: fc.array(words, { maxLength: 2 }), zdr: fc.boolean() }),
  plugins: fc.array(fc.constant({ plugin: { case: "moderation" as const, value: {} } }), { maxLength: 2 }),
  unknownFields: fc.array(record({ name: words }), { maxLength: 2 }),
};
const turnRequest = fc.oneof(
  { weight: 3, arbitrary: record(plain) },
  { weight: 1, arbitrary: record({ ...plain, ...rare }) },
);
const open = record({
  request: maybe(turnRequest),
  keyHash: words,
  requestId: words,
  policyGeneration: long,
  deadlineMs: index,
  credit: index,
  generationId: words,
  traceparent: words,
  tracestate: words,
});
const clientFrame = fc.record({
  turn: index,
  frame: fc.oneof(
    kind("open", open),
    kind("credit", index),
    kind("cancel", fc.constant({})),
    fc.constant({ case: undefined }),
  ),
});

export const requests: fc.Arbitrary<SessionRequest> = fc
  .record({ frames: fc.array(clientFrame, { maxLength: 4 }) })
  .map((said) => create(SessionRequestSchema, said as RequestInit));
