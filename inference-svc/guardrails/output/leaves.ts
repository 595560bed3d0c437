/** The texts of a value that nobody here knows the shape of. */
import { streamEvent } from "@sluice/proto/contract/events.js";
import { outputItem } from "@sluice/proto/contract/output.js";
import { vocabularyOf } from "@sluice/proto/contract/vocabulary.js";
import { isImageBytes, isMedia, startsAsImage } from "../bytes.ts";
import { names, shortestNumber } from "../input/places.ts";
import { cleanedJson } from "./json-text.ts";
import type { Looker } from "./look.ts";

/** Fields that hold ids or sealed text. A field that is not listed is read. */
const notText: ReadonlySet<string> = new Set([
  "id",
  "item_id",
  "call_id",
  "file_id",
  "container_id",
  "encrypted_content",
  "signature",
]);
/** Fields that hold an image as base64; anything else that they say is a text. */
const imageFields: ReadonlySet<string> = new Set(["b64_json", "partial_image_b64"]);

/** Fields that say a word of the contract; anything else that they say is a text. */
const wordFields: ReadonlySet<string> = new Set(["type", "role", "status", "phase", "detail", "format"]);
/** Fields in which pictures come. */
const mediaFields: ReadonlySet<string> = new Set(["url", "image_url"]);
/** In these, names of fields are the model's own. */
const ownWords: ReadonlySet<string> = new Set(["arguments", "input_schema", "env"]);

const { fields: known, words } = vocabularyOf([outputItem, streamEvent]);

/** Whether it has a meaning that only the contract gives it, such as the name of an event. */
export const isContractWord = (name: string): boolean => words.has(name);

const isWord = (field: string, value: unknown): boolean =>
  notText.has(field) || (wordFields.has(field) && typeof value === "string" && words.has(value));

/** Deeper than any item; what is deeper is not looked at, and so not passed. */
const deepest = 100;

/** Of a value. */
interface Place {
  /** The field, also that of the list in which it is. */
  readonly name: string;
  readonly depth: number;
  /** Whether the names of fields in it are those of the contract. */
  readonly isOurs: boolean;
}

const whole: Place = { name: "", depth: 0, isOurs: true };

/** With every text cleaned; the same value when nothing was found. @throws as Looker.cleaned */
export async function cleanedLeaves<Value>(value: Value, looker: Looker, place = whole): Promise<Value> {
  const { name, depth } = place;
  if (depth > deepest) throw new Error(`values within values, more than ${deepest} deep`);
  // By these the item's tool is called; no service is asked about them.
  if (depth === 1 && looker.asks && names.has(name)) return value;
  if (typeof value === "string") return (await cleanedText(name, value, looker)) as Value;
  if (typeof value === "number") return (await cleanedNumber(value, place, looker)) as Value;
  if (typeof value !== "object" || value === null) return value;
  const within = { depth: depth + 1, isOurs: place.isOurs && !ownWords.has(name) };
  if (!Array.isArray(value)) return (await cleanedFields(value, looker, within)) as Value;
  const cleaned: unknown[] = [];
  for (const element of value) cleaned.push(await cleanedLeaves(element as unknown, looker, { ...within, name }));
  return (cleaned.every((element, index) => element === value[index]) ? value : cleaned) as Value;
}

async function cleanedFields(value: object, looker: Looker, within: Omit<Place, "name">): Promise<object> {
  const fields: [name: string, value: unknown][] = [];
  let same = true;
  for (const [field, inner] of Object.entries(value)) {
    const isOurs = within.isOurs && known.has(field);
    const name = isOurs || looker.asks ? field : await looker.cleaned(field);
    const skipped = within.isOurs && (isWord(field, inner) || (await isImage(value, field, looker)));
    const cleaned = skipped
      ? (inner as unknown)
      : await cleanedLeaves(inner as unknown, looker, { ...within, name: field });
    same &&= name === field && cleaned === inner;
    fields.push([name, cleaned]);
  }
  return same ? value : Object.fromEntries(fields);
}

/** What the contract counts is no text, and cannot become one. */
async function cleanedNumber(value: number, { name, isOurs }: Place, looker: Looker): Promise<number | string> {
  const text = String(value);
  if ((isOurs && known.has(name)) || text.length < shortestNumber) return value;
  const cleaned = await looker.cleaned(text);
  return cleaned === text ? value : cleaned;
}

/** What the field says where an image belongs there. */
function imageIn(value: object, field: string): string | undefined {
  const { type, [field]: image } = value as Readonly<Record<string, unknown>>;
  const holdsImage = imageFields.has(field) || (field === "result" && type === "image_generation_call");
  return holdsImage && typeof image === "string" ? image : undefined;
}

async function isImage(value: object, field: string, looker: Looker): Promise<boolean> {
  const image = imageIn(value, field);
  return image !== undefined && looker.through(isImageBytes(image));
}

async function cleanedText(name: string, text: string, looker: Looker): Promise<string> {
  if (text === "") return text;
  if (mediaFields.has(name) && (await looker.through(isMedia(text, true)))) return text;
  return name === "arguments" ? cleanedJson(text, looker) : looker.cleaned(text);
}

/** Whether it says a word of the contract, or begins as an image: neither is a piece of a text. */
const isNoPiece = (value: object, field: string, inner: unknown): boolean =>
  isWord(field, inner) || startsAsImage(imageIn(value, field) ?? "");

/** Whether there is anything that may be a piece of a text. */
export function hasText(value: unknown): boolean {
  if (typeof value === "number") return String(value).length >= shortestNumber;
  if (typeof value !== "object" || value === null) return typeof value === "string" && value !== "";
  if (Array.isArray(value)) return value.some(hasText);
  const fields = Object.entries(value);
  return fields.some(([field, inner]) => !known.has(field) || (!isNoPiece(value, field, inner) && hasText(inner)));
}

/** The texts of a value, each with the names of the fields that lead to it. */
export function* textsIn(
  value: unknown,
  path: readonly string[] = [],
): Iterable<readonly [path: string, text: string]> {
  if (typeof value === "string" && value !== "") yield [path.join(" "), value];
  if (typeof value !== "object" || value === null || path.length > deepest) return;
  if (Array.isArray(value)) for (const element of value) yield* textsIn(element, path);
  else
    for (const [field, inner] of Object.entries(value))
      if (!isNoPiece(value, field, inner)) yield* textsIn(inner, [...path, field]);
}
