/** Finds the texts within a request item guardrails scan. */
import { inputItem } from "@sluice/proto/contract/items/input.js";
import { collectVocabulary } from "./vocabulary.ts";
import { isOpaque, isPlainId } from "@sluice/proto/lib/ids/foreign-id.js";
import type { Yielding } from "../turn/time-slice.ts";
import type { InputItem } from "../turn/request.ts";
import { isJson } from "./is-json.ts";

/**
 * Fields exempt from scans, each with the condition: ids while they are plain, sealed content while it keeps its
 * alphabet, and files, which are decoded and scanned as text. Every field outside this list is scanned.
 */
const unread: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["id", isPlainId],
  ["call_id", isPlainId],
  ["encrypted_content", isOpaque],
  ["signature", isOpaque],
  ["file_data", () => true],
]);

const isUnread = (field: string, value: unknown): boolean => {
  const isExempt = unread.get(field);
  return isExempt !== undefined && (typeof value !== "string" || isExempt(value));
};

/** Fields with values from a fixed set of the API; any other value in them is scanned as text. */
const wordFields: ReadonlySet<string> = new Set(["type", "role", "status", "detail", "format", "phase"]);

const { fields: knownFields, words } = collectVocabulary([inputItem]);

/** Fields that often hold JSON; its escapes could hide text. */
const mayHoldJson: ReadonlySet<string> = new Set(["arguments", "output", "input"]);

/** Fields with identifiers of tools and their parts. */
export const identifierFields: ReadonlySet<string> = new Set(["name", "namespace", "server_label"]);

/** Minimum digits of a scanned number: shorter numbers identify nobody. */
export const minNumberLength = 6;

export interface TextPosition {
  readonly holder: Record<string, unknown>;
  readonly key: string;
  readonly text: string;
  /** Whether other parts of the request refer to this text, so it cannot be replaced. */
  readonly isIdentifier: boolean;
}

/**
 * The kind of object around a text. It decides whether field names are those of the API, and whether texts are
 * identifiers.
 */
type Container = "item" | "part" | "tool" | "arguments";

interface OpenPlace {
  readonly holder: Record<string, unknown>;
  readonly key: string;
  /** Name of the field with the text; for an element of a list, the name of the list's field. */
  readonly name: string;
  readonly within: Container;
}

/** Finds all texts within an item. Works without recursion, since clients may nest as deep as they like. */
export function* findTextPositions(item: InputItem): Iterable<TextPosition> {
  const open = [...entriesOf(item, "", "item")];
  for (let place = open.pop(); place; place = open.pop()) {
    const { holder, key, name, within } = place;
    const value = holder[key];
    const hasContractNames = within === "item" || within === "part";
    const isKnown = hasContractNames && knownFields.has(name);
    if (!(isKnown || Array.isArray(holder))) yield { holder, key, text: key, isIdentifier: true };
    if (typeof value === "string") {
      if (hasContractNames && wordFields.has(name) && words.has(value)) continue;
      yield {
        holder,
        key,
        text: value,
        isIdentifier:
          (identifierFields.has(name) && (within === "item" || within === "tool")) ||
          (hasContractNames && unread.has(name)),
      };
    } else if (typeof value === "number") {
      const text = String(value);
      // A number in a field of the API is a count, and cannot carry text.
      if (text.length >= minNumberLength) yield { holder, key, text, isIdentifier: isKnown };
    } else if (typeof value === "object" && value !== null) {
      for (const entry of entriesOf(value, name, toContainer(place, value))) open.push(entry);
    }
  }
}

function* entriesOf(value: object, name: string, within: Container): Iterable<OpenPlace> {
  const holder = value as Record<string, unknown>;
  const hasContractNames = within === "item" || within === "part";
  for (const key of Object.keys(holder)) {
    if (!hasContractNames || !isUnread(key, holder[key]))
      yield { holder, key, name: Array.isArray(holder) ? name : key, within };
  }
}

function toContainer({ name, within }: OpenPlace, value: object): Container {
  if (within !== "item") return within;
  if (name === "tools") return "tool";
  return name === "arguments" && !Array.isArray(value) ? "arguments" : "part";
}

/** Whether the text is JSON, in a field likely to hold JSON. */
export function* holdsJson(field: string, text: string): Yielding<boolean> {
  return mayHoldJson.has(field) && (yield* isJson(text));
}
