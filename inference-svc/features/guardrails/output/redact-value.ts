/** Redacts every text within a JSON value of unknown shape. */
import { isOpaque, isPlainId } from "@sluice/proto/lib/ids/foreign-id.js";
import { streamEvent } from "@sluice/proto/contract/response/events.js";
import { outputItem } from "@sluice/proto/contract/items/output.js";
import { collectVocabulary } from "../../../content/vocabulary.ts";
import { isImageBytes, isMedia, startsLikeImage } from "../../../content/media-bytes.ts";
import { identifierFields, minNumberLength } from "../../../content/text-places.ts";
import { redactJson } from "./redact-json.ts";
import type { TextScanner } from "./rules/text-scanner.ts";

/** Fields with ids, exempt from scans while they are plain. */
const idFields: ReadonlySet<string> = new Set(["id", "item_id", "call_id", "file_id", "container_id"]);
/**
 * Fields with encrypted content, exempt from scans while it keeps its alphabet. Every field outside this list is scanned.
 */
const sealedFields: ReadonlySet<string> = new Set(["encrypted_content", "signature"]);

const isUnread = (field: string, value: unknown): boolean =>
  idFields.has(field)
    ? typeof value !== "string" || value === "" || isPlainId(value)
    : sealedFields.has(field) && (typeof value !== "string" || isOpaque(value));

/** Fields that hold an image as base64; any other value in them is scanned as text. */
const imageFields: ReadonlySet<string> = new Set(["b64_json", "partial_image_b64"]);

/** Matches types of items with an image as `result`: the provider's type, and Sluice's tool under any prefix. */
const imageItem = /^image_generation_call$|:image_generation$/;

/** Fields with values from a fixed set of the API; any other value in them is scanned as text. */
const wordFields: ReadonlySet<string> = new Set(["type", "role", "status", "phase", "detail", "format"]);
/** Fields that may hold a media data URL. */
const mediaFields: ReadonlySet<string> = new Set(["url", "image_url"]);
/** Fields whose members have names chosen by the model. */
const modelNamedFields: ReadonlySet<string> = new Set(["arguments", "input_schema", "env"]);

const { fields: knownFields, words } = collectVocabulary([outputItem, streamEvent]);

/** Whether the name belongs to the API, such as the name of an event. */
export const isContractWord = (name: string): boolean => words.has(name);

const isWord = (field: string, value: unknown): boolean =>
  isUnread(field, value) || (wordFields.has(field) && typeof value === "string" && words.has(value));

/** Maximum nesting, more than any real item has. A deeper value is not scanned and therefore not delivered. */
const maxDepth = 100;

/** Where a value stands in an item. */
interface ValuePlace {
  /** Name of the field with the value; for an element of a list, the name of the list's field. */
  readonly name: string;
  readonly depth: number;
  /** Whether the value's members have names of the API. */
  readonly hasContractNames: boolean;
}

const root: ValuePlace = { name: "", depth: 0, hasContractNames: true };

/**
 * The value with every text redacted; the same object when nothing was found. @throws BlockRuleMatched; Fault
 * UNAVAILABLE when a rule fails and its guardrail fails closed
 */
export function redactValue<Value>(value: Value, scanner: TextScanner): Promise<Value> | Value {
  return needsScan(value, "", 0) ? redactAt(value, scanner, root) : value;
}

/**
 * Whether `redactAt` would scan anything. Apart from their streamed texts, most items contain only fixed values of the
 * API.
 */
function needsScan(value: unknown, name: string, depth: number): boolean {
  if (typeof value === "string") return value !== "";
  if (typeof value === "number") return !isCount(name, true);
  if (typeof value !== "object" || value === null) return false;
  if (modelNamedFields.has(name) || depth > maxDepth) return true;
  if (Array.isArray(value)) return value.some((element) => needsScan(element, name, depth + 1));
  for (const field in value) {
    const inner = (value as Readonly<Record<string, unknown>>)[field];
    if (!knownFields.has(field) || findImage(value, field) !== undefined) return true;
    if (!isWord(field, inner) && needsScan(inner, field, depth + 1)) return true;
  }
  return false;
}

async function redactAt<Value>(value: Value, scanner: TextScanner, place: ValuePlace): Promise<Value> {
  const { name, depth } = place;
  if (depth > maxDepth) throw new Error(`values nested deeper than ${maxDepth}`);
  // These fields name the item's tool, and detector services get no identifiers.
  if (depth === 1 && scanner.usesService && identifierFields.has(name)) return value;
  if (typeof value === "string") return (await redactText(name, value, scanner)) as Value;
  if (typeof value === "number") return (await redactNumber(value, place, scanner)) as Value;
  if (typeof value !== "object" || value === null) return value;
  const within = { depth: depth + 1, hasContractNames: place.hasContractNames && !modelNamedFields.has(name) };
  if (!Array.isArray(value)) return (await redactFields(value, scanner, within)) as Value;
  const redacted: unknown[] = [];
  for (const element of value) redacted.push(await redactAt(element as unknown, scanner, { ...within, name }));
  return (redacted.every((element, index) => element === value[index]) ? value : redacted) as Value;
}

async function redactFields(value: object, scanner: TextScanner, within: Omit<ValuePlace, "name">): Promise<object> {
  const fields: [name: string, value: unknown][] = [];
  let same = true;
  for (const [field, inner] of Object.entries(value)) {
    const hasContractNames = within.hasContractNames && knownFields.has(field);
    const name = hasContractNames || scanner.usesService ? field : await scanner.redact(field);
    const skipped = within.hasContractNames && (isWord(field, inner) || (await isImage(value, field, scanner)));
    const redacted = skipped
      ? (inner as unknown)
      : await redactAt(inner as unknown, scanner, { ...within, name: field });
    same &&= name === field && redacted === inner;
    fields.push([name, redacted]);
  }
  return same ? value : Object.fromEntries(fields);
}

/** Whether a number is a count: in a field of the API it is one, and cannot carry text. */
const isCount = (name: string, hasContractNames: boolean): boolean => hasContractNames && knownFields.has(name);

async function redactNumber(
  value: number,
  { name, hasContractNames }: ValuePlace,
  scanner: TextScanner,
): Promise<number | string> {
  const text = String(value);
  if (isCount(name, hasContractNames) || text.length < minNumberLength) return value;
  const redacted = await scanner.redact(text);
  return redacted === text ? value : redacted;
}

/** The value of a field that holds an image; undefined for any other field. */
function findImage(value: object, field: string): string | undefined {
  const { type, [field]: image } = value as Readonly<Record<string, unknown>>;
  const holdsImage = imageFields.has(field) || (field === "result" && imageItem.test(String(type)));
  return holdsImage && typeof image === "string" ? image : undefined;
}

async function isImage(value: object, field: string, scanner: TextScanner): Promise<boolean> {
  const image = findImage(value, field);
  return image !== undefined && scanner.runSliced(isImageBytes(image));
}

async function redactText(name: string, text: string, scanner: TextScanner): Promise<string> {
  if (text === "") return text;
  if (mediaFields.has(name) && (await scanner.runSliced(isMedia(text, true)))) return text;
  return name === "arguments" ? redactJson(text, scanner) : scanner.redact(text);
}

/** Whether the value cannot be part of a text: it is a fixed value of the API, or starts like an image. */
const isNeverText = (value: object, field: string, inner: unknown): boolean =>
  isWord(field, inner) || startsLikeImage(findImage(value, field) ?? "");

/** Whether the value contains anything that can be part of a text. */
export function hasText(value: unknown): boolean {
  if (typeof value === "number") return String(value).length >= minNumberLength;
  if (typeof value !== "object" || value === null) return typeof value === "string" && value !== "";
  if (Array.isArray(value)) return value.some(hasText);
  const fields = Object.entries(value);
  return fields.some(
    ([field, inner]) => !knownFields.has(field) || (!isNeverText(value, field, inner) && hasText(inner)),
  );
}

/** Yields the texts within a value, each with the path of the fields that lead to it. */
export function* findTexts(
  value: unknown,
  path: readonly string[] = [],
): Iterable<readonly [path: string, text: string]> {
  if (typeof value === "string" && value !== "") yield [path.join(" "), value];
  if (typeof value !== "object" || value === null || path.length > maxDepth) return;
  if (Array.isArray(value)) for (const element of value) yield* findTexts(element, path);
  else
    for (const [field, inner] of Object.entries(value))
      if (!isNeverText(value, field, inner)) yield* findTexts(inner, [...path, field]);
}
