/** The texts of a value that nobody here knows the shape of. */
import { cleanedJson } from "./json-text.ts";
import type { Looker } from "./look.ts";

/** Fields that hold ids, words of the contract, bytes or sealed text. A field that nobody has thought of is read. */
const notText: ReadonlySet<string> = new Set([
  "type",
  "id",
  "item_id",
  "call_id",
  "file_id",
  "container_id",
  "role",
  "status",
  "phase",
  "detail",
  "encrypted_content",
  "signature",
  "format",
  "file_data",
  "data",
  "b64_json",
  "partial_image_b64",
]);

/** Deeper than any item; what is deeper is not looked at, and so not passed. */
const deepest = 100;

/** With every text cleaned; the same value when nothing was found. @throws as Looker.cleaned */
export async function cleanedLeaves<Value>(value: Value, looker: Looker, name = "", depth = 0): Promise<Value> {
  if (depth > deepest) throw new Error(`values within values, more than ${deepest} deep`);
  if (typeof value === "string") return (await cleanedText(name, value, looker)) as Value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const cleaned: unknown[] = [];
    for (const element of value) cleaned.push(await cleanedLeaves(element as unknown, looker, name, depth + 1));
    return (cleaned.every((element, index) => element === value[index]) ? value : cleaned) as Value;
  }
  const changed: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(value)) {
    if (notText.has(field) || isImage(value, field)) continue;
    const cleaned = await cleanedLeaves(inner as unknown, looker, field, depth + 1);
    if (cleaned !== inner) changed[field] = cleaned;
  }
  return Object.keys(changed).length === 0 ? value : { ...value, ...changed };
}

const isImage = (value: object, field: string): boolean =>
  field === "result" && (value as { type?: unknown }).type === "image_generation_call";

function cleanedText(name: string, text: string, looker: Looker): string | Promise<string> {
  if (text === "" || text.startsWith("data:")) return text;
  return name === "arguments" ? cleanedJson(text, looker) : looker.cleaned(text);
}

/** Whether there is any text to look at. */
export function hasText(value: unknown): boolean {
  if (typeof value === "string") return value !== "";
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasText);
  return Object.entries(value).some(([field, inner]) => !notText.has(field) && hasText(inner));
}
