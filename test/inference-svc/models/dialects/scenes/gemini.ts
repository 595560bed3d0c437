/** Answers in the form of Gemini (https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse). */
import { gemini } from "@sluice/inference-svc/models/upstream/gemini/dialect.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { geminiTarget } from "../gemini-translation.ts";
import { type WireFormat, citedPlaces, sseReads } from "./format.ts";
import { type Piece, type Scene, rawPiece, rawJson, sumOf } from "./scene.ts";

const words = { end: "STOP", calls: "STOP", limit: "MAX_TOKENS", filter: "SAFETY" };

function partOf({ kind, id, name }: Piece, content: string): object {
  if (kind === "text") return { text: content };
  if (kind === "thought") return { text: content, thought: true };
  if (kind === "image") return { inlineData: { mimeType: "image/png", data: content } };
  return {
    functionCall: { name, ...(content !== "" && { args: rawPiece(content) }), ...(id !== undefined && { id }) },
  };
}

const signed = ({ signature }: Piece, part: object) =>
  signature === undefined ? part : { ...part, thoughtSignature: signature };

/** Texts and thoughts come in pieces, the last of them with the signature; calls and images come whole. */
function partsOf(piece: Piece): readonly object[] {
  const streams = piece.kind === "text" || piece.kind === "thought";
  const said = streams && piece.said.length > 0 ? piece.said : [sumOf(piece)];
  return said.map((words, at) => (at === said.length - 1 ? signed(piece, partOf(piece, words)) : partOf(piece, words)));
}

const bytesOf = (text: string): number => Buffer.byteLength(text);

/** Offsets in bytes of UTF-8. */
function groundingOf({ pieces }: Scene): object {
  const text = pieces.filter(({ kind }) => kind === "text");
  const cited = text.flatMap((piece) => citedPlaces(piece).map((place) => ({ ...place, of: sumOf(piece) })));
  if (cited.length === 0) return {};
  return {
    groundingMetadata: {
      groundingChunks: cited.map(({ url, title }) => ({ web: { uri: url, title } })),
      groundingSupports: cited.map(({ of, start, text: quoted }, at) => {
        const startIndex = bytesOf(Array.from(of).slice(0, start).join(""));
        const segment = { startIndex, endIndex: startIndex + bytesOf(quoted), text: quoted };
        return { segment, groundingChunkIndices: [at] };
      }),
    },
  };
}

const usageOf = ({ counts, tier }: Scene): object => ({
  ...((counts || tier !== undefined) && {
    usageMetadata: {
      ...(counts && {
        promptTokenCount: counts.input - 4,
        toolUsePromptTokenCount: 4,
        cachedContentTokenCount: counts.cached,
        candidatesTokenCount: counts.output - counts.reasoning,
        thoughtsTokenCount: counts.reasoning,
        totalTokenCount: counts.input + counts.output,
      }),
      ...(tier !== undefined && { serviceTier: tier }),
    },
  }),
});

const chunkOf = (parts: readonly object[], candidate: object, more: object) => ({
  candidates: [{ content: { parts, role: "model" }, index: 0, ...candidate }],
  ...more,
  modelVersion: "gemini-3.6-flash",
  responseId: "r1",
});

const error = (code: number, status: string) => sseReads({ error: { code, message: "Why", status } })[0] as Uint8Array;

export const geminiAnswers: WireFormat = {
  name: "gemini",
  dialect: gemini,
  target: geminiTarget,
  kinds: ["text", "thought", "call", "image"],
  thoughts: { isSummary: true, format: "google-gemini-v1", isSigned: true },
  counts: ["input", "cached", "output", "reasoning"],
  hasTiers: true,
  cites: true,
  keepsOrder: "always",
  tail: 0,
  emptyFails: true,
  stops: {
    STOP: "end",
    OF_TOMORROW: "end",
    MAX_TOKENS: "limit",
    CONTINUATION: "limit",
    SAFETY: "filter",
    RECITATION: "filter",
    BLOCKLIST: "filter",
    PROHIBITED_CONTENT: "filter",
    SPII: "filter",
    IMAGE_SAFETY: "filter",
    MALFORMED_FUNCTION_CALL: FaultReason.PROVIDER_FAILED,
    UNEXPECTED_TOOL_CALL: FaultReason.PROVIDER_FAILED,
    OTHER: FaultReason.PROVIDER_FAILED,
    NO_IMAGE: FaultReason.PROVIDER_FAILED,
    MISSING_THOUGHT_SIGNATURE: FaultReason.PROVIDER_FAILED,
  },
  stream: (scene, word = words[scene.stop ?? "end"]) => {
    const prompt = scene.counts ? { usageMetadata: { promptTokenCount: scene.counts.input - 4 } } : {};
    return sseReads(
      ...scene.pieces.flatMap(partsOf).map((part) => rawJson(chunkOf([part], {}, prompt))),
      chunkOf([{ text: "" }], { finishReason: word, ...groundingOf(scene) }, usageOf(scene)),
    );
  },
  whole: (scene, word = words[scene.stop ?? "end"]) =>
    rawJson(
      chunkOf(
        scene.pieces.map((piece) => signed(piece, partOf(piece, sumOf(piece)))),
        { finishReason: word, ...groundingOf(scene) },
        usageOf(scene),
      ),
    ),
  noise: sseReads(
    chunkOf([{ hologram: 1 }, { executableCode: { code: "1" } }, { functionCall: {} }], {}, {}),
    { promptFeedback: { safetyRatings: [] } },
    { candidates: [{ index: 1, content: { parts: [{ text: "another candidate" }] } }] },
  ),
  failures: [
    [error(400, "INVALID_ARGUMENT"), FaultReason.INVALID_REQUEST],
    [error(429, "RESOURCE_EXHAUSTED"), FaultReason.RATE_LIMITED],
    [error(500, "INTERNAL"), FaultReason.PROVIDER_FAILED],
    [error(503, "UNAVAILABLE"), FaultReason.PROVIDER_OVERLOADED],
    [error(504, "DEADLINE_EXCEEDED"), FaultReason.PROVIDER_TIMEOUT],
    [sseReads({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } })[0] as Uint8Array, FaultReason.CONTENT_POLICY],
  ],
};
