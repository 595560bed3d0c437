/** Memory in bytes that a turn needs for its request, and for the events of an answer. */
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

/** Characters of an event up to which it is one piece of a text, as models write it. */
export const smallEvent = 512;
/** Memory of a piece of text beside its characters, which may take two bytes each. */
const pieceBytes = 8;
const bytesPerCharacter = 2;
/** Characters around the piece of text in a small event. What is above may be kept by the translator. */
const fieldsOfEvent = 320;
/** A value of a parsed text, beside its characters: the place in an array, the object or the name of a member. */
const valueBytes = 40;
/** The text of a large event, its strings, and the item that is written of them, whose characters may take two bytes each. */
const copiesOfEvent = 4;

const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const openBrace = 0x7b;

/**
 * Memory that a small event of a stream takes until its answer ends.
 * @param textUnits characters of text that it added to the answer; 0 for an event that only the translator has, or that is no piece of text
 */
export const measureSmall = ({ length }: string, textUnits: number): number =>
  textUnits === 0
    ? copiesOfEvent * length
    : pieceBytes + bytesPerCharacter * textUnits + Math.max(0, length - textUnits - fieldsOfEvent);

/** Memory that the text of a larger event, or of a whole answer, takes while it is parsed and until its answer ends. */
export function measureParsed(json: string): number {
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (unit === comma || unit === colon || unit === openBracket || unit === openBrace) values++;
  }
  return copiesOfEvent * json.length + valueBytes * values;
}
