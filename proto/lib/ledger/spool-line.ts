/**
 * Kinds of spool lines, and the call that a line is about. A line is a letter and a JSON object; `line.ts` and `turn-line.ts` of inference-svc write them. Lines
 * about a call begin with its turn and its attempt.
 */
export type LineKind = "start" | "charge" | "end" | "whole" | "turn";

/** @returns undefined for a kind written only by later versions */
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

/** Position of the second comma of a line, after its turn and attempt: a turn's id contains no comma. */
export const nameEnd = (bytes: Buffer, at: number): number => bytes.indexOf(comma, bytes.indexOf(comma, at) + 1);

/** The call that a line is about, in the format of `callName`. */
export const callNameIn = (bytes: Buffer, at: number): string => bytes.toString("latin1", at + 2, nameEnd(bytes, at));
