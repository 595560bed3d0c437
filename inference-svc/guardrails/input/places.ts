/** Where texts stand in an item. */
import { inputItem } from "@sluice/proto/contract/input.js";
import { vocabularyOf } from "@sluice/proto/contract/vocabulary.js";
import type { Pauses } from "../../turn/breath.ts";
import type { InputItem } from "../../turn/request.ts";
import { isJson } from "../json-form.ts";

/** Fields of an item that hold ids or sealed text, or that others read. A field that nobody has thought of is read. */
const notText: ReadonlySet<string> = new Set([
  "id",
  "call_id",
  "encrypted_content",
  "signature",
  // Read where the file is.
  "file_data",
]);

/** Fields that say a word of the contract; anything else that they say is a text. */
const wordFields: ReadonlySet<string> = new Set(["type", "role", "status", "detail", "format", "phase"]);

const { fields: known, words } = vocabularyOf([inputItem]);

/** Fields that often hold JSON: in it, text can hide behind escapes. */
const mayHoldJson: ReadonlySet<string> = new Set(["arguments", "output", "input"]);

/** By these, tools and what belongs to them are called. */
export const names: ReadonlySet<string> = new Set(["name", "namespace", "server_label"]);

/** A figure that could be a number of something. */
export const shortestNumber = 6;

export interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
  readonly text: string;
  /** Whether others refer to it by what it says. */
  readonly isName: boolean;
}

/** In what a value stands: whether the names of its fields are those of the contract, and whether texts in it are names. */
type Within = "item" | "part" | "tool" | "arguments";

interface Open {
  readonly holder: Record<string, unknown>;
  readonly key: string;
  /** The name under which it stands, or under which all of the list stand. */
  readonly name: string;
  readonly within: Within;
}

/** All that is said below an item, without recursion: how deep a client nests is its own choice. */
export function* placesIn(item: InputItem): Iterable<Place> {
  const open = [...entriesOf(item, "", "item")];
  for (let place = open.pop(); place; place = open.pop()) {
    const { holder, key, name, within } = place;
    const value = holder[key];
    const isOurs = within === "item" || within === "part";
    const isKnown = isOurs && known.has(name);
    if (!(isKnown || Array.isArray(holder))) yield { holder, key, text: key, isName: true };
    if (typeof value === "string") {
      if (isOurs && wordFields.has(name) && words.has(value)) continue;
      yield { holder, key, text: value, isName: names.has(name) && (within === "item" || within === "tool") };
    } else if (typeof value === "number") {
      const text = String(value);
      // What the contract counts cannot become a text.
      if (text.length >= shortestNumber) yield { holder, key, text, isName: isKnown };
    } else if (typeof value === "object" && value !== null) {
      for (const entry of entriesOf(value, name, withinOf(place, value))) open.push(entry);
    }
  }
}

function* entriesOf(value: object, name: string, within: Within): Iterable<Open> {
  const holder = value as Record<string, unknown>;
  const isOurs = within === "item" || within === "part";
  for (const key of Object.keys(holder)) {
    if (!isOurs || !notText.has(key)) yield { holder, key, name: Array.isArray(holder) ? name : key, within };
  }
}

function withinOf({ name, within }: Open, value: object): Within {
  if (within !== "item") return within;
  if (name === "tools") return "tool";
  return name === "arguments" && !Array.isArray(value) ? "arguments" : "part";
}

/** Whether the text is JSON, in a field in which that is usual. */
export function* holdsJson(field: string, text: string): Pauses<boolean> {
  return mayHoldJson.has(field) && (yield* isJson(text));
}
