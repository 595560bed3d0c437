/** Finding in texts that come in pieces: the contract between whatever looks for something and whoever holds a text back until it has looked. */
import type { Automaton } from "./automaton.ts";

/** Part of a text, in UTF-16 units from its beginning. */
export interface Span {
  readonly start: number;
  /** Of the first unit after it; never equal to `start`. */
  readonly end: number;
}

/** What a further piece has made known. */
export interface Found {
  /** Matches that no later text changes, from left to right; they do not overlap, and none was told before. */
  readonly spans: readonly Span[];
  /** Everything before it is decided: no later text makes a match of it. Never falls, and never lies within a match under way. */
  readonly decided: number;
}

/** One text under way. What it finds does not depend on how the text is cut. */
export interface Scan {
  push(piece: string): Found;
  /** The text is over. Nothing is pushed afterwards. */
  end(): Found;
  /** Another reading of what came so far, that goes on by itself. Absent where a text cannot be read in two ways. */
  fork?(): Scan;
}

/** Something to look for. Linear in the text, whatever the text is. */
export interface Finder {
  open(): Scan;
  /** UTF-16 units that can be pushed at once without others waiting for more than some ten milliseconds, whatever they are. */
  readonly pieceLength?: number;
  /** With which it can be read together with others. Absent where it is found in another way. */
  readonly automaton?: Automaton | undefined;
}

/** What is linear with a few nanoseconds a character needs to say nothing. */
export const pieceLengthOf = ({ pieceLength = 65_536 }: Finder): number => pieceLength;
