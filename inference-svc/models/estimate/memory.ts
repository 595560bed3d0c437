/** Estimates the memory in bytes for the request of a turn, and for the events of an answer. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

/**
 * Copies of a request in memory until its answer begins: as bytes and as text, parsed, and again as text and bytes for
 * the provider. Text may take two bytes per character.
 */
const copiesHeld = 8;
/** Copies of a request in memory until the end of the answer: layers that may retry, and packages of vendors, keep the parsed request. */
const copiesKept = 2;

const sizeOf = ({ inputJson, toolsJson, instructions }: RunTurnRequest): number =>
  inputJson.length + toolsJson.length + (instructions?.length ?? 0);

/** Bytes for a request until the answer begins. */
export const measureRequest = (request: RunTurnRequest): number => copiesHeld * sizeOf(request);

/** Bytes for a request that are released once the answer has begun. */
export const measureReleased = (request: RunTurnRequest): number => (copiesHeld - copiesKept) * sizeOf(request);

/** Maximum characters of an event that counts as small: one piece of text, as models send it. */
export const maxSmallEventLength = 512;
/** Bytes for a piece of text, in addition to its characters, which may take two bytes each. */
const pieceBytes = 8;
const bytesPerCharacter = 2;
/** Maximum characters around the piece of text in a small event; what exceeds them is counted, since the translator may keep it. */
const fieldsOfEvent = 320;
/**
 * Bytes for each value of a parsed text, in addition to its characters: 36 bytes for an empty array in another, 57 for
 * an empty object, 64 for eight numbers, and 86 for an object and its only member if no other has a member of that name
 * (Node 20, 2026-11-29).
 */
const valueBytes = 96;
/** Copies of a large event in memory: its text, its strings, and the item built from them. Characters may take two bytes each. */
const copiesOfEvent = 4;

/**
 * Bytes a small event of a stream takes until the answer ends.
 * @param textUnits UTF-16 units of text it adds to the answer; 0 for an event that only the translator reads, or
 * without text
 */
export const measureSmallEvent = ({ length }: string, textUnits: number): number =>
  textUnits === 0
    ? copiesOfEvent * length
    : pieceBytes + bytesPerCharacter * textUnits + Math.max(0, length - textUnits - fieldsOfEvent);

/**
 * Bytes the text of a larger event, or of a whole answer, takes from parsing until the end of the answer.
 * @param values number of values in the text
 */
export const measureParsed = ({ length }: string, values: number): number =>
  copiesOfEvent * length + valueBytes * values;
