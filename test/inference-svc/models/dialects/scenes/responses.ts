/** Answers in the form of Responses (https://platform.openai.com/docs/api-reference/responses-streaming). */
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { itemAddedEvent, itemDoneEvent } from "../../../features/guardrails/reading.ts";
import { type WireFormat, citedPlaces, plainTarget, sseReads } from "./format.ts";
import { type Counts, type Piece, type Scene, takeTurns, sumOf } from "./scene.ts";

/** The name of the part's list in its item, its type, and the event and the number of its deltas. */
const parts = {
  text: ["content", "output_text", "output_text", "content_index"],
  refusal: ["content", "refusal", "refusal", "content_index"],
  thought: ["content", "reasoning_text", "reasoning_text", "content_index"],
  summary: ["summary", "summary_text", "reasoning_summary_text", "summary_index"],
} as const;

type PartPiece = Piece & { readonly kind: keyof typeof parts };
const isPart = (piece: Piece): piece is PartPiece => piece.kind in parts;

/** Consecutive texts and refusals are one message. */
function itemsOf(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const items: Piece[][] = [];
  for (const piece of pieces) {
    const last = items.at(-1);
    if (last && piece.joins === true) last.push(piece);
    else items.push([piece]);
  }
  return items;
}

const annotationsOf = (piece: Piece) =>
  citedPlaces(piece).map(({ url, title, start, end }) => ({
    type: "url_citation",
    url,
    title,
    start_index: start,
    end_index: end,
  }));

const wordsOf = (piece: PartPiece, words: string) => (piece.kind === "refusal" ? { refusal: words } : { text: words });

function partsOf(item: readonly Piece[], list: "content" | "summary"): object[] {
  const members = item.filter(isPart).filter(({ kind }) => parts[kind][0] === list);
  return members.map((piece) => ({
    type: parts[piece.kind][1],
    ...wordsOf(piece, sumOf(piece)),
    ...(piece.kind === "text" && { annotations: annotationsOf(piece), logprobs: [] }),
  }));
}

function itemOf(item: readonly Piece[], index: number, status: string): object {
  const [first] = item as [Piece];
  const head = { id: `i_${index}`, status };
  const { kind, id, name, signature } = first;
  if (kind === "call")
    return {
      type: "function_call",
      ...head,
      ...(id !== undefined && { call_id: id }),
      name,
      arguments: sumOf(first) || "{}",
    };
  if (kind === "image") return { type: "image_generation_call", ...head, result: sumOf(first) };
  const content = partsOf(item, "content");
  if (kind === "text" || kind === "refusal") return { type: "message", ...head, role: "assistant", content };
  return {
    type: "reasoning",
    ...head,
    summary: partsOf(item, "summary"),
    content,
    ...(signature !== undefined && { signature }),
  };
}

function eventsOf(item: readonly Piece[], index: number, status: string): object[] {
  const [first] = item as [Piece];
  const whole = itemOf(item, index, status);
  const place = { output_index: index, item_id: `i_${index}` };
  const empty =
    first.kind === "call"
      ? { arguments: "" }
      : isPart(first)
        ? { content: [], ...(!("role" in whole) && { summary: [] }) }
        : { result: null };
  const counts = { content: 0, summary: 0 };
  const deltas =
    first.kind === "call"
      ? first.said.map((delta) => ({ type: "response.function_call_arguments.delta", ...place, delta }))
      : item.filter(isPart).flatMap((piece) => {
          const [list, , stem, number] = parts[piece.kind];
          const at = { ...place, [number]: counts[list]++ };
          const annotated = annotationsOf(piece).map((annotation, annotation_index) => ({
            type: "response.output_text.annotation.added",
            ...at,
            annotation_index,
            annotation,
          }));
          return [
            ...piece.said.map((delta) => ({ type: `response.${stem}.delta`, ...at, delta })),
            ...annotated,
            { type: `response.${stem}.done`, ...at, ...wordsOf(piece, sumOf(piece)) },
          ];
        });
  return [itemAddedEvent(index, { ...whole, ...empty, status: "in_progress" }), ...deltas, itemDoneEvent(index, whole)];
}

const usageOf = ({ input, cached, written, output, reasoning }: Counts) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
});

const reasons = { limit: "max_output_tokens", filter: "content_filter" } as const;

function responseOf({ stop = "end", counts, tier }: Scene, output: readonly object[], status?: string): object {
  const cut = stop === "limit" || stop === "filter";
  return {
    object: "response",
    status: status ?? (cut ? "incomplete" : "completed"),
    incomplete_details: cut ? { reason: reasons[stop] } : null,
    output,
    usage: counts ? usageOf(counts) : null,
    ...(tier !== undefined && { service_tier: tier }),
  };
}

/** An item cut by a token limit is the last one. */
const statusOf = ({ stop = "end" }: Scene, isLast: boolean): string =>
  isLast && (stop === "limit" || stop === "filter") ? "incomplete" : "completed";

const failed = (error: object) => ({ type: "response.failed", response: { status: "failed", error } });

export const responsesAnswers: WireFormat = {
  name: "responses",
  dialect: responses,
  target: plainTarget,
  kinds: ["text", "thought", "summary", "refusal", "call", "image"],
  thoughts: { format: "unknown", isSigned: true },
  counts: ["input", "cached", "written", "output", "reasoning"],
  hasTiers: true,
  cites: true,
  cutsCalls: true,
  interleaves: true,
  keepsOrder: "always",
  tail: 0,
  stops: { completed: "end", failed: FaultReason.PROVIDER_FAILED, queued: FaultReason.PROVIDER_FAILED },
  stream: (scene, word) => {
    const items = itemsOf(scene.pieces);
    const lists = items.map((item, at) => eventsOf(item, at, statusOf(scene, at === items.length - 1)));
    const output = items.map((item, at) => itemOf(item, at, statusOf(scene, at === items.length - 1)));
    const response = responseOf(scene, output, word) as { readonly status: string };
    return sseReads(
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      ...(scene.interleaved === true ? takeTurns(lists) : lists.flat()),
      { type: response.status === "incomplete" ? "response.incomplete" : "response.completed", response },
    );
  },
  whole: (scene, word) => {
    const items = itemsOf(scene.pieces);
    const output = items.map((item, at) => itemOf(item, at, statusOf(scene, at === items.length - 1)));
    return JSON.stringify(responseOf(scene, output, word));
  },
  noise: sseReads(
    { type: "response.in_progress" },
    { type: "response.queued" },
    { type: "keepalive" },
    { type: "response.content_part.added", output_index: 90, item_id: "x" },
    { type: "response.web_search_call.searching", output_index: 91, item_id: "w" },
    { type: "__proto__" },
  ),
  failures: (
    [
      [failed({ code: "server_error", message: "x" }), FaultReason.PROVIDER_FAILED],
      [failed({ code: "rate_limit_exceeded", message: "x" }), FaultReason.RATE_LIMITED],
      [failed({ code: "invalid_image_format", message: "x" }), FaultReason.INVALID_REQUEST],
      [failed({ code: "image_content_policy_violation", message: "x" }), FaultReason.CONTENT_POLICY],
      [failed({ code: "vector_store_timeout", message: "x" }), FaultReason.PROVIDER_TIMEOUT],
      [{ type: "error", code: "invalid_prompt", message: "x" }, FaultReason.INVALID_PROMPT],
      [{ type: "error", error: { type: "overloaded_error", message: "x" } }, FaultReason.PROVIDER_OVERLOADED],
      [{ type: "response.error", error: { code: "rate_limit_exceeded" } }, FaultReason.RATE_LIMITED],
      [{ type: "response.cancelled", response: { status: "cancelled" } }, FaultReason.PROVIDER_FAILED],
      [itemAddedEvent(99, {}), FaultReason.PROVIDER_FAILED],
      [{ type: "response.completed" }, FaultReason.PROVIDER_FAILED],
    ] as const
  ).map(([event, reason]) => [sseReads(event)[0] as Uint8Array, reason] as const),
};
