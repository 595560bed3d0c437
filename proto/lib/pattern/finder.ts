/** Interface of searches in streamed text, and of the code that holds text back until it is decided. */
import type { Automaton } from "./automaton.ts";

/** Part of a text, in UTF-16 units from its start. */
export interface TextSpan {
  readonly start: number;
  /** Position after the last unit of the span; always greater than `start`. */
  readonly end: number;
}

/** Results that the latest piece of text has made final. */
export interface Found {
  /** Final matches, which no later text can change, from left to right, without overlap; each is reported once. */
  readonly spans: readonly TextSpan[];
  /**
   * Position before which no later text can add a match. It never decreases, and never lies within a possible match.
   */
  readonly decided: number;
}

/** The search of one text. The matches do not depend on how the text is divided into pieces. */
export interface Scan {
  push(piece: string): Found;
  /** Ends the text; nothing may be pushed afterwards. */
  end(): Found;
  /** Copies the scan in its current state; absent for a scan that cannot be copied. */
  fork?(): Scan;
}

/** A search that takes time linear in the length of the text. */
export interface Finder {
  open(): Scan;
  /** Number of UTF-16 units per push that take about 10 ms at worst, so other work is not delayed. */
  readonly pieceLength?: number;
  /** The automaton for a joint scan with other finders; absent for other kinds of search. */
  readonly automaton?: Automaton | undefined;
}

/** Length of the pieces in which to push text. The default fits any search that takes a few nanoseconds per unit. */
export const pieceLengthOf = ({ pieceLength = 65_536 }: Finder): number => pieceLength;
