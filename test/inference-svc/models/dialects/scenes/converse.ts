/** Answers of Amazon Bedrock (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html). */
import { converse } from "@sluice/inference-svc/models/upstream/converse/dialect.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { errorFrame, eventFrame, exceptionFrame, frame } from "../../../../support/answers/event-stream.ts";
import {
  claudeOnBedrock,
  converseBlockStart,
  converseBlockStop,
  converseDelta,
  converseStart,
  converseStop,
  converseTextBlock,
  thoughtBlock,
} from "../converse-translation.ts";
import type { WireFormat } from "./format.ts";
import { type Piece, type Scene, rawPiece, rawJson, sumOf } from "./scene.ts";

const words = { end: "end_turn", calls: "tool_use", limit: "max_tokens", filter: "content_filtered" };

function framesOf(piece: Piece, index: number): readonly Uint8Array[] {
  const { kind, said, signature, id: toolUseId, name } = piece;
  if (kind === "text") return converseTextBlock(index, ...said);
  const seal = signature === undefined ? [] : [{ signature }];
  if (kind === "thought") return thoughtBlock(index, ...said.map((text) => ({ text })), ...seal);
  return [
    converseBlockStart(index, { toolUse: { toolUseId, name } }),
    ...said.map((input) => converseDelta(index, { toolUse: { input } })),
    converseBlockStop(index),
  ];
}

function blockOf(piece: Piece): object {
  const { kind, signature, id: toolUseId, name } = piece;
  if (kind === "text") return { text: sumOf(piece) };
  if (kind === "thought") {
    return {
      reasoningContent: { reasoningText: { text: sumOf(piece), ...(signature !== undefined && { signature }) } },
    };
  }
  return { toolUse: { toolUseId, name, input: rawPiece(sumOf(piece) || "{}") } };
}

const figuresOf = ({ counts, tier }: Scene): object => ({
  ...(counts && {
    usage: {
      inputTokens: counts.input - counts.cached - counts.written,
      outputTokens: counts.output,
      totalTokens: counts.input + counts.output,
      cacheReadInputTokens: counts.cached,
      cacheWriteInputTokens: counts.written,
    },
  }),
  metrics: { latencyMs: 100 },
  ...(tier !== undefined && { serviceTier: { type: tier } }),
});

export const converseAnswers: WireFormat = {
  name: "converse",
  dialect: converse,
  target: claudeOnBedrock,
  kinds: ["text", "thought", "call"],
  thoughts: { format: "anthropic-claude-v1", isSigned: true },
  counts: ["input", "cached", "written", "output"],
  hasTiers: true,
  cutsCalls: true,
  keepsOrder: "always",
  tail: 1,
  stops: {
    end_turn: "end",
    tool_use: "end",
    stop_sequence: "end",
    of_tomorrow: "end",
    max_tokens: "limit",
    model_context_window_exceeded: "limit",
    guardrail_intervened: "filter",
    content_filtered: "filter",
    malformed_tool_use: FaultReason.PROVIDER_FAILED,
    malformed_model_output: FaultReason.PROVIDER_FAILED,
  },
  stream: (scene, word = words[scene.stop ?? "end"]) => [
    converseStart(),
    ...scene.pieces.flatMap(framesOf),
    converseStop(word),
    eventFrame("metadata", figuresOf(scene)),
  ],
  whole: (scene, word = words[scene.stop ?? "end"]) =>
    rawJson({
      output: { message: { role: "assistant", content: scene.pieces.map(blockOf) } },
      stopReason: word,
      ...figuresOf(scene),
    }),
  noise: [
    eventFrame("later", { x: 1 }),
    converseBlockStart(90, {}),
    converseBlockStart(91, { image: { format: "png" } }),
    converseDelta(91, { image: { source: { bytes: "AA" } } }),
  ],
  failures: [
    [exceptionFrame("internalServerException", "Why"), FaultReason.PROVIDER_FAILED],
    [exceptionFrame("modelStreamErrorException", "Why", { originalStatusCode: 500 }), FaultReason.PROVIDER_FAILED],
    [exceptionFrame("modelTimeoutException", "Why"), FaultReason.PROVIDER_TIMEOUT],
    [exceptionFrame("serviceUnavailableException", "Why"), FaultReason.PROVIDER_FAILED],
    [exceptionFrame("throttlingException", "Why"), FaultReason.RATE_LIMITED],
    [exceptionFrame("validationException", "Why"), FaultReason.INVALID_REQUEST],
    [exceptionFrame("laterException", "Why"), FaultReason.PROVIDER_FAILED],
    [errorFrame("InternalFailure", "Why"), FaultReason.PROVIDER_FAILED],
    [frame({ ":message-type": "exception", ":exception-type": "throttlingException" }), FaultReason.RATE_LIMITED],
    [frame({ ":message-type": "event", ":event-type": "messageStop" }, "{"), FaultReason.PROVIDER_FAILED],
    [frame({}, "{}"), FaultReason.PROVIDER_FAILED],
  ],
};
