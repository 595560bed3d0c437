/** Finders search streamed text: the contract between a search and the code that buffers text until it is decided. */
import type { Automaton } from "./automaton.ts";

/** Part of a text, in UTF-16 units from its start. */
export interface TextSpan {
  readonly start: number;
  /** Place of the first unit after the span; never equal to `start`. */
  readonly end: number;
}

/** Decisions made possible by the latest piece of text. */
export interface Found {
  /** Final matches, independent of later text, from left to right, without overlap, each reported once. */
  readonly spans: readonly TextSpan[];
  /** Place before which no later text can add a match. It never decreases, and never lies within a possible match. */
  readonly decided: number;
}

/** The search of one text. Its matches do not depend on how the text is cut. */
export interface Scan {
  push(piece: string): Found;
  /** Ends the text; nothing may be pushed afterwards. */
  end(): Found;
  /** Copies the scan at its current state. Absent for a scan without copies. */
  fork?(): Scan;
}

/** A search in time linear in the text. */
export interface Finder {
  open(): Scan;
  /** UTF-16 units per push that take about 10 ms at worst, so other work is not delayed. */
  readonly pieceLength?: number;
  /** The automaton for scanning jointly with other finders; absent for other kinds of search. */
  readonly automaton?: Automaton | undefined;
}

/** The default fits every search with a cost of a few nanoseconds per unit. */
export const pieceLengthOf = ({ pieceLength = 65_536 }: Finder): number => pieceLength;
