/** An answer in the terms of the contract: what a provider's model does, and what a client gets. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";

/** A source cited by the delta with this number. */
export interface CitedSource {
  readonly delta: number;
  readonly url: string;
  readonly title: string;
}

export interface Piece {
  readonly kind: "text" | "thought" | "summary" | "refusal" | "call" | "image";
  /** Deltas of the text or the arguments, or the image in base64. */
  readonly said: readonly string[];
  /** Whether the piece is a part of the item before it, in formats with parts. */
  readonly joins?: boolean;
  readonly cites?: readonly CitedSource[];
  /** Signature of a reasoning text. */
  readonly signature?: string;
  /** Name and id of a tool call. */
  readonly name?: string;
  readonly id?: string;
}

/** Why the model stopped: at its end, for its calls, at a limit, or by a filter. */
export type Stop = "end" | "calls" | "limit" | "filter";

/** Token counts. Cached and written tokens are part of the input, reasoning is part of the output. */
export interface Counts {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
}

export interface Scene {
  readonly pieces: readonly Piece[];
  /** End reason, "end" by default. */
  readonly stop?: Stop;
  /** Whether the pieces of consecutive calls come in turns. */
  readonly interleaved?: boolean;
  readonly counts?: Counts;
  readonly tier?: string;
  readonly request?: Partial<TurnRequest>;
}

export const textPiece = (...said: readonly string[]): Piece => ({ kind: "text", said });
export const thoughtPiece = (...said: readonly string[]): Piece => ({ kind: "thought", said });
export const refusalPiece = (...said: readonly string[]): Piece => ({ kind: "refusal", said });
export const callPiece = (name: string, ...said: readonly string[]): Piece => ({
  kind: "call",
  said,
  name,
  id: `id_${name}`,
});

export const sumOf = ({ said }: Piece): string => said.join("");

/** Merges the lists by taking one member of each in turn. */
export function takeTurns<Member>(lists: readonly (readonly Member[])[]): readonly Member[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

const rawMark = /"raw\(((?:[^"\\]|\\.)*)\)"/g;

/** A member of a JSON object in its original text, so its numbers are not rounded. */
export const rawPiece = (json: string): string => `raw(${json})`;

/** @param value may contain members of `raw` */
export const rawJson = (value: unknown): string =>
  JSON.stringify(value).replace(rawMark, (_, json: string) => JSON.parse(`"${json}"`) as string);
