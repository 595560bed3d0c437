/** Memory in bytes that a turn needs for its request. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

/** A request is held as bytes and as text, parsed, and as text and bytes again for its provider; text may take two bytes a character. */
const copiesHeld = 8;
/** Layers that may ask again, and packages of vendors, keep the parsed request until the end of the answer. */
const copiesKept = 2;

const sizeOf = ({ inputJson, toolsJson, instructions }: RunTurnRequest): number =>
  inputJson.length + toolsJson.length + (instructions?.length ?? 0);

/** Memory until the answer begins. */
export const measureRequest = (request: RunTurnRequest): number => copiesHeld * sizeOf(request);

/** The part of it that is free once the answer has begun. */
export const measureReleased = (request: RunTurnRequest): number => (copiesHeld - copiesKept) * sizeOf(request);
