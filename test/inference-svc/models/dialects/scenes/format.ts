/** The wire format of a vendor: how it writes an answer, after the vendor's documentation and without code of Sluice. */
import type { Dialect, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import type { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { sse } from "../../../../support/providers/upstream.ts";
import type { Counts, Piece, Scene } from "./scene.ts";

export interface AnswerFormat {
  readonly name: string;
  readonly kinds: readonly Piece["kind"][];
  /** The reasoning item that clients get. */
  readonly thoughts: { readonly isSummary?: true; readonly format: string; readonly isSigned?: true };
  /** Counts of tokens for which the format has a field. */
  readonly counts: readonly (keyof Counts)[];
  readonly hasTiers?: true;
  /** Whether the format names the sources of a text with the passages that cite them. */
  readonly cites?: true;
  /** Whether arguments of a call come in pieces, so a token limit can cut them. */
  readonly cutsCalls?: true;
  readonly interleaves?: true;
  /** An answer without content is a failure. */
  readonly emptyFails?: true;
  /** The vendor's end reasons, and their meanings. */
  readonly stops: Readonly<Record<string, "end" | "limit" | "filter" | FaultReason>>;
}

/** A format that is read from bytes. */
export interface WireFormat extends AnswerFormat {
  readonly dialect: Dialect;
  readonly target: Target;
  /**
   * The reads of a stream, each with one event.
   * @param word end reason that replaces the usual one
   */
  stream(scene: Scene, word?: string): readonly Uint8Array[];
  whole(scene: Scene, word?: string): string;
  /** Whether a whole answer keeps the order of the pieces. Formats that do not keep it give reasoning, texts, refusals and calls in this order. */
  readonly keepsOrder: "always" | "calls last" | "never";
  /** Number of events after the end reason, which only add token counts. */
  readonly tail: number;
  /** Events without content, and events of later versions. */
  readonly noise: readonly Uint8Array[];
  /** Events in the stream for a failure, and their meanings. */
  readonly failures: readonly (readonly [event: Uint8Array, reason: FaultReason])[];
}

/** Bytes of a stream of server-sent events, one read for each event. */
export const sseReads = (...events: readonly unknown[]): readonly Uint8Array[] =>
  events.map((event) => Buffer.from(sse(event)));

/** @returns the deltas with the places of their sources, in code points */
export function citedPlaces({ said, cites = [] }: Piece) {
  return cites.map(({ delta, url, title }) => {
    const start = Array.from(said.slice(0, delta).join("")).length;
    return { url, title, start, end: start + Array.from(said[delta] ?? "").length, text: said[delta] ?? "" };
  });
}

export const plainTarget: Target = { upstreamModel: "m", tier: "default", original: false };
