/** Answers of packages of the AI SDK, as parts (https://ai-sdk.dev/providers/community-providers/custom-providers). */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { AnswerFormat } from "./format.ts";
import { type Piece, type Scene, sumOf } from "./scene.ts";

type Part = LanguageModelV4StreamPart;

const words = { end: "stop", calls: "tool-calls", limit: "length", filter: "content-filter" } as const;

function partsOf(piece: Piece, isCut: boolean, index: number): Part[] {
  const { kind, said, id = `call_${index}`, name = "" } = piece;
  if (kind === "text") return said.map((delta) => ({ type: "text-delta", id: "t", delta }));
  if (kind === "thought") return said.map((delta) => ({ type: "reasoning-delta", id: "r", delta }));
  if (kind === "image") return [{ type: "file", mediaType: "image/png", data: { type: "data", data: sumOf(piece) } }];
  return [
    { type: "tool-input-start", id, toolName: name },
    ...said.map((delta): Part => ({ type: "tool-input-delta", id, delta })),
    ...(isCut ? [] : [{ type: "tool-call", toolCallId: id, toolName: name, input: sumOf(piece) || "{}" } as const]),
  ];
}

export const sdkAnswers = {
  name: "ai-sdk",
  kinds: ["text", "thought", "call", "image"],
  thoughts: { format: "unknown" },
  counts: ["input", "cached", "written", "output", "reasoning"],
  cutsCalls: true,
  stops: {
    stop: "end",
    "tool-calls": "end",
    length: "limit",
    "content-filter": "filter",
    error: FaultReason.PROVIDER_FAILED,
    interrupted: FaultReason.PROVIDER_FAILED,
  },
  /** @param word end reason that replaces the usual one */
  parts: ({ pieces, stop = "end", counts }: Scene, word: string = words[stop]): readonly Part[] => [
    { type: "stream-start", warnings: [] },
    ...pieces.flatMap((piece, at) => partsOf(piece, stop === "limit" && at === pieces.length - 1, at)),
    {
      type: "finish",
      finishReason: { unified: word as "stop", raw: word },
      usage: {
        inputTokens: {
          total: counts?.input,
          noCache: undefined,
          cacheRead: counts?.cached,
          cacheWrite: counts?.written,
        },
        outputTokens: { total: counts?.output, text: undefined, reasoning: counts?.reasoning },
      },
    },
  ],
} satisfies AnswerFormat & { readonly parts: unknown };
