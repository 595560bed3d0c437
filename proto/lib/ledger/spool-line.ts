/**
 * Kinds of spool lines, and the call to which a line belongs. A line is a letter and a JSON object, written by
 * `line.ts` and `turn-line.ts` of inference-svc. The JSON of a call begins with its turn and its attempt.
 */
export type LineKind = "start" | "charge" | "end" | "whole" | "turn";

/** @returns undefined for a kind that only later builds write */
export function lineKind(bytes: Buffer, at: number): LineKind | undefined {
  switch (bytes[at]) {
    case 0x6f:
      return "start";
    case 0x70:
      return "charge";
    case 0x65:
      return "end";
    case 0x63:
      return "whole";
    case 0x74:
      return "turn";
    default:
      return undefined;
  }
}

const comma = 0x2c;

/** Position of a line's second comma, which follows turn and attempt: the turn's id contains no comma. */
export const nameEnd = (bytes: Buffer, at: number): number => bytes.indexOf(comma, bytes.indexOf(comma, at) + 1);

/** The name of the call to which a line belongs, as `callName` builds it. */
export const callNameIn = (bytes: Buffer, at: number): string => bytes.toString("latin1", at + 2, nameEnd(bytes, at));
