/** Answers in the form of chat completions (https://platform.openai.com/docs/api-reference/chat-streaming), with reasoning as servers of open models have it. */
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { chatChunk } from "../../../../support/providers/upstream.ts";
import { type WireFormat, citedPlaces, plainTarget, sseReads } from "./format.ts";
import { type Counts, type Piece, type Scene, rawJson, takeTurns, sumOf } from "./scene.ts";

const words = { end: "stop", calls: "tool_calls", limit: "length", filter: "content_filter" };

const usageOf = ({ input, cached, written, output, reasoning }: Counts) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  completion_tokens_details: { reasoning_tokens: reasoning },
});
const figuresOf = ({ counts, tier }: Scene) => ({
  ...(counts && { usage: usageOf(counts) }),
  ...(tier !== undefined && { service_tier: tier }),
});

const annotationsOf = (piece: Piece) =>
  citedPlaces(piece).map(({ url, title, start, end }) => ({
    type: "url_citation",
    url_citation: { url, title, start_index: start, end_index: end },
  }));
const imageOf = (piece: Piece) => ({ type: "image_url", image_url: { url: `data:image/png;base64,${sumOf(piece)}` } });
const callOf = ({ id, name }: Piece, args: string, index?: number) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  type: "function",
  function: { name, arguments: args },
});

function callDeltas(piece: Piece, index: number): object[] {
  const begin = { tool_calls: [callOf(piece, "", index)] };
  return [begin, ...piece.said.map((args) => ({ tool_calls: [{ index, function: { arguments: args } }] }))];
}

/** Consecutive calls, whose pieces may come in turns. */
function* runsOf(pieces: readonly Piece[]): Iterable<readonly Piece[]> {
  let run: Piece[] = [];
  for (const piece of pieces) {
    if (piece.kind === "call") run.push(piece);
    else {
      if (run.length > 0) yield run;
      run = [];
      yield [piece];
    }
  }
  if (run.length > 0) yield run;
}

type Think = (piece: Piece) => readonly object[];

function deltasOf({ pieces, interleaved = false }: Scene, think: Think): object[] {
  let index = 0;
  return [...runsOf(pieces)].flatMap((run) => {
    const [piece] = run as [Piece];
    if (piece.kind === "call") {
      const lists = run.map((call) => callDeltas(call, index++));
      return interleaved ? [...takeTurns(lists)] : lists.flat();
    }
    if (piece.kind === "image") return [{ images: [imageOf(piece)] }];
    if (piece.kind === "refusal") return piece.said.map((refusal) => ({ refusal }));
    if (piece.kind === "thought" || piece.kind === "summary") return [...think(piece)];
    const cited = annotationsOf(piece);
    return [...piece.said.map((content) => ({ content })), ...(cited.length > 0 ? [{ annotations: cited }] : [])];
  });
}

/** The message of a whole answer, without its reasoning. */
function messageOf({ pieces }: Scene): object {
  const only = (kind: Piece["kind"]) => pieces.filter((piece) => piece.kind === kind);
  const joined = (kind: Piece["kind"]) => (only(kind).length > 0 ? only(kind).map(sumOf).join("") : null);
  return {
    role: "assistant",
    content: joined("text"),
    refusal: joined("refusal"),
    annotations: only("text").flatMap(annotationsOf),
    ...(only("image").length > 0 && { images: only("image").map(imageOf) }),
    ...(only("call").length > 0 && { tool_calls: only("call").map((piece) => callOf(piece, sumOf(piece))) }),
  };
}

const common = {
  dialect: chat,
  target: plainTarget,
  counts: ["input", "cached", "written", "output", "reasoning"],
  hasTiers: true,
  cites: true,
  cutsCalls: true,
  interleaves: true,
  keepsOrder: "never",
  tail: 2,
  stops: {
    stop: "end",
    tool_calls: "end",
    eos_token: "end",
    of_tomorrow: "end",
    length: "limit",
    max_tokens: "limit",
    model_length: "limit",
    content_filter: "filter",
    SAFETY: "filter",
    error: FaultReason.PROVIDER_FAILED,
    abort: FaultReason.PROVIDER_FAILED,
    insufficient_system_resource: FaultReason.PROVIDER_OVERLOADED,
  },
  noise: [
    Buffer.from(": keep-alive\n\n"),
    ...sseReads(
      chatChunk({ role: "assistant", content: null, refusal: null, reasoning_content: null, tool_calls: null }),
      chatChunk({ content: "", tool_calls: [] }, null, { error: null, usage: null }),
      chatChunk({ hologram: 1 }),
      { choices: [{ index: 1, delta: { content: "another choice" } }] },
    ),
  ],
  failures: (
    [
      [{ error: { message: "Overloaded", code: 529 } }, FaultReason.PROVIDER_OVERLOADED],
      [{ error: { message: "slow down", code: "rate_limit_exceeded" } }, FaultReason.RATE_LIMITED],
      [{ error: { message: "boom" }, choices: [] }, FaultReason.PROVIDER_FAILED],
      [{ error: "boom" }, FaultReason.PROVIDER_FAILED],
      [
        { choices: [{ index: 0, error: { code: 502, message: "bad" }, finish_reason: "error" }] },
        FaultReason.PROVIDER_FAILED,
      ],
      [{ object: "error", message: "boom" }, FaultReason.PROVIDER_FAILED],
    ] as const
  ).map(([event, reason]) => [sseReads(event)[0] as Uint8Array, reason] as const),
} satisfies Partial<WireFormat>;

function chatFormat(
  name: string,
  thoughts: WireFormat["thoughts"],
  think: Think,
  wholeThought: (pieces: readonly Piece[]) => object,
): WireFormat {
  const isThought = ({ kind }: Piece) => kind === "thought" || kind === "summary";
  return {
    ...common,
    name,
    thoughts,
    kinds: ["text", "thought", "refusal", "call", "image", ...(thoughts.isSigned ? (["summary"] as const) : [])],
    stream: (scene, word = words[scene.stop ?? "end"]) =>
      sseReads(
        chatChunk({ role: "assistant", content: "" }),
        ...deltasOf(scene, think).map((delta) => chatChunk(delta)),
        chatChunk({}, word),
        { choices: [], ...figuresOf(scene) },
        "[DONE]",
      ),
    whole: (scene, word = words[scene.stop ?? "end"]) => {
      const message = { ...messageOf(scene), ...wholeThought(scene.pieces.filter(isThought)) };
      return rawJson({ choices: [{ index: 0, message, finish_reason: word }], ...figuresOf(scene) });
    },
  };
}

export const chatAnswers = chatFormat(
  "chat",
  { format: "unknown" },
  (piece) => piece.said.map((reasoning_content) => ({ reasoning_content })),
  (pieces) => (pieces.length > 0 ? { reasoning_content: pieces.map(sumOf).join("") } : {}),
);

/** Signed reasoning in the form of gateways to several vendors (https://openrouter.ai/docs/use-cases/reasoning-tokens). */
const sealFormat = "anthropic-claude-v1";
const detailOf = ({ kind }: Piece, said: string) =>
  kind === "summary" ? { type: "reasoning.summary", summary: said } : { type: "reasoning.text", text: said };
const sealOf = ({ signature }: Piece) =>
  signature === undefined ? [] : [{ type: "reasoning.text", format: sealFormat, signature }];

export const chatDetailAnswers = chatFormat(
  "chat with details of reasoning",
  { format: sealFormat, isSigned: true },
  (piece) => [
    ...piece.said.map((said) => ({
      reasoning_details: [{ ...detailOf(piece, said), format: sealFormat }],
      // Servers repeat the text in `reasoning`, for clients that do not know `reasoning_details`.
      reasoning: said,
    })),
    ...sealOf(piece).map((seal) => ({ reasoning_details: [seal] })),
  ],
  (pieces) => ({
    reasoning_details: pieces.flatMap((piece) => [
      { ...detailOf(piece, sumOf(piece)), format: sealFormat },
      ...sealOf(piece),
    ]),
  }),
);
