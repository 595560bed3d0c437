/**
 * Recognizes reasoning with an empty list of texts and nothing else, not even an id, as made from `reasoning_content:
 * ""` of a chat message. Leaving it out loses nothing.
 */
import type { InputItem } from "../../../turn/request.ts";
import { objects, text } from "../json.ts";

export const isBlankThought = ({ type, id, summary, content, ...seal }: InputItem): boolean =>
  type === "reasoning" &&
  Array.isArray(content) &&
  content.length === 0 &&
  text(id) === "" &&
  objects(summary).length === 0 &&
  text(seal.format) === "" &&
  text(seal.encrypted_content) === "" &&
  text(seal.signature) === "";
