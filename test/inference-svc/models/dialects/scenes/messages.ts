/** Answers in the form of Messages (https://platform.claude.com/docs/en/build-with-claude/streaming). */
import { messages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { messagesBlock, messagesStart, messagesStop, wholeMessage } from "../messages-translation.ts";
import { type WireFormat, plainTarget, sseReads } from "./format.ts";
import { type Piece, type Scene, rawPiece, rawJson, sumOf } from "./scene.ts";

const words = { end: "end_turn", calls: "tool_use", limit: "max_tokens", filter: "refusal" };

/** A block as a stream begins it, its deltas, and the whole block. */
interface Block {
  readonly start: object;
  readonly deltas: readonly object[];
  readonly whole: object;
}

/** A cited text has a separate block. */
function textBlocks({ said, cites = [] }: Piece): Block[] {
  const cited = new Map(cites.map((cite) => [cite.delta, cite]));
  const blocks: Block[] = [];
  let plain: string[] = [];
  const add = (texts: readonly string[], citations: readonly object[]) => {
    if (texts.length === 0) return;
    const deltas = texts.map((text) => ({ type: "text_delta", text }));
    blocks.push({
      start: { type: "text", text: "" },
      deltas: [...deltas, ...citations.map((citation) => ({ type: "citations_delta", citation }))],
      whole: { type: "text", text: texts.join(""), citations },
    });
  };
  for (const [at, text] of said.entries()) {
    const cite = cited.get(at);
    if (!cite) {
      plain.push(text);
      continue;
    }
    add(plain, []);
    plain = [];
    add([text], [{ type: "web_search_result_location", url: cite.url, title: cite.title }]);
  }
  add(plain, []);
  return blocks;
}

function blocksOf(piece: Piece): Block[] {
  const { kind, said, signature = "", id, name } = piece;
  if (kind === "text") return textBlocks(piece);
  if (kind === "thought") {
    const seal = signature === "" ? [] : [{ type: "signature_delta", signature }];
    return [
      {
        start: { type: "thinking", thinking: "", signature: "" },
        deltas: [...said.map((thinking) => ({ type: "thinking_delta", thinking })), ...seal],
        whole: { type: "thinking", thinking: sumOf(piece), signature },
      },
    ];
  }
  return [
    {
      start: { type: "tool_use", id, name, input: {} },
      deltas: said.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      whole: { type: "tool_use", id, name, input: rawPiece(sumOf(piece) || "{}") },
    },
  ];
}

function usageOf({ counts, tier }: Scene): object {
  if (!counts) return tier === undefined ? {} : { service_tier: tier };
  return {
    input_tokens: counts.input - counts.cached - counts.written,
    cache_read_input_tokens: counts.cached,
    cache_creation_input_tokens: counts.written,
    output_tokens: counts.output,
    output_tokens_details: { thinking_tokens: counts.reasoning },
    ...(tier !== undefined && { service_tier: tier }),
  };
}

const error = (type: string) =>
  sseReads({ type: "error", error: { type, message: "Why" }, request_id: "req_1" })[0] as Uint8Array;

export const messagesAnswers: WireFormat = {
  name: "messages",
  dialect: messages,
  target: plainTarget,
  kinds: ["text", "thought", "call"],
  thoughts: { format: "anthropic-claude-v1", isSigned: true },
  counts: ["input", "cached", "written", "output", "reasoning"],
  hasTiers: true,
  cites: true,
  cutsCalls: true,
  keepsOrder: "always",
  tail: 1,
  stops: {
    end_turn: "end",
    stop_sequence: "end",
    tool_use: "end",
    of_tomorrow: "end",
    max_tokens: "limit",
    model_context_window_exceeded: "limit",
    pause_turn: "limit",
    refusal: "filter",
  },
  stream: (scene, word = words[scene.stop ?? "end"]) => {
    const usage = usageOf(scene);
    const first = scene.counts ? { ...usage, output_tokens: 1, output_tokens_details: null } : usage;
    const last = scene.counts ? { ...usage, cache_read_input_tokens: null } : {};
    return sseReads(
      messagesStart(scene.counts || scene.tier !== undefined ? first : (null as unknown as object)),
      ...scene.pieces.flatMap(blocksOf).flatMap(({ start, deltas }, index) => messagesBlock(index, start, ...deltas)),
      ...messagesStop(word, scene.counts ? last : (null as unknown as object)),
    );
  },
  whole: (scene, word = words[scene.stop ?? "end"]) =>
    rawJson(
      wholeMessage(
        scene.pieces.flatMap(blocksOf).map(({ whole }) => whole),
        { stop_reason: word, usage: scene.counts || scene.tier !== undefined ? usageOf(scene) : null },
      ),
    ),
  noise: [Buffer.from(": keep-alive\n\n"), ...sseReads({ type: "ping" }, { type: "message_note" }, "{}")],
  failures: [
    [error("invalid_request_error"), FaultReason.INVALID_REQUEST],
    [error("rate_limit_error"), FaultReason.RATE_LIMITED],
    [error("api_error"), FaultReason.PROVIDER_FAILED],
    [error("timeout_error"), FaultReason.PROVIDER_TIMEOUT],
    [error("overloaded_error"), FaultReason.PROVIDER_OVERLOADED],
    [sseReads({ error: { message: "of a gateway in between" } })[0] as Uint8Array, FaultReason.PROVIDER_FAILED],
  ],
};
