/** Memory in bytes for the request of a turn, and for the events of an answer. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

/** A request is held as bytes and as text, parsed, and as text and bytes again for its provider; text may take two bytes a character. */
const copiesHeld = 8;
/** Copies kept until the end of the answer: layers with possible retries, and packages of vendors, keep the parsed request. */
const copiesKept = 2;

const sizeOf = ({ inputJson, toolsJson, instructions }: RunTurnRequest): number =>
  inputJson.length + toolsJson.length + (instructions?.length ?? 0);

/** Memory until the answer begins. */
export const measureRequest = (request: RunTurnRequest): number => copiesHeld * sizeOf(request);

/** Memory released once the answer has begun. */
export const measureReleased = (request: RunTurnRequest): number => (copiesHeld - copiesKept) * sizeOf(request);

/** Maximum characters of an event that counts as one piece of text, as models send it. */
export const maxSmallEventLength = 512;
/** Memory per piece of text, excluding its characters, which may take two bytes each. */
const pieceBytes = 8;
const bytesPerCharacter = 2;
/** Characters around the piece of text in a small event. Any more may be kept by the translator. */
const fieldsOfEvent = 320;
/**
 * Memory per value of a parsed text, excluding its characters: 36 bytes for an empty array in another, 57 for an empty object, 64 for eight numbers, and 86
 * for an object and its only member if no other has a member of that name (Node 20, 2026-11-29).
 */
const valueBytes = 96;
/** The text of a large event, its strings, and the item built from them, whose characters may take two bytes each. */
const copiesOfEvent = 4;

/**
 * Memory used by a small event of a stream until its answer ends.
 * @param textUnits characters of text added to the answer; 0 for an event known only to the translator, or without text
 */
export const measureSmallEvent = ({ length }: string, textUnits: number): number =>
  textUnits === 0
    ? copiesOfEvent * length
    : pieceBytes + bytesPerCharacter * textUnits + Math.max(0, length - textUnits - fieldsOfEvent);

/**
 * Memory used by the text of a larger event, or of a whole answer, from parsing until the end of the answer.
 * @param values of the text
 */
export const measureParsed = ({ length }: string, values: number): number =>
  copiesOfEvent * length + valueBytes * values;
