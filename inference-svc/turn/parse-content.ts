/** The parts of which a message or a tool output consists. */
import { Fields, type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { isLongerThan } from "@sluice/proto/runtime/validation/text.js";

const maxText = 10_485_760;
const maxImageUrl = 20_971_520;
const maxFileData = 33_554_432;

const details = new Set(["auto", "high", "low", "original"]);
const cacheTypes = new Set(["ephemeral"]);
const cacheTtls = new Set(["5m", "1h"]);
const breakpointModes = new Set(["explicit"]);

type Check = (fields: Fields, part: JsonObject, problems: Problems) => void;
/** The kinds of part that may stand in one place. */
type Parts = ReadonlyMap<string, Check>;

const text: Check = (fields, part, problems) => {
  fields.requiredString("text");
  if (typeof part["text"] === "string") checkText(fields.path("text"), part["text"], problems);
};

/** A message asks by image and file; what an assistant once said consists of text and refusals. */
export const inputParts: Parts = new Map<string, Check>([
  ["input_text", text],
  ["input_image", image],
  ["input_file", file],
]);
const assistantParts: Parts = new Map<string, Check>([
  ["output_text", outputText],
  ["refusal", (fields) => void fields.requiredString("refusal")],
  ["input_text", text],
]);
const notYet = new Set(["input_audio", "input_video"]);

export const partsOfRole = (role: string | undefined): Parts => (role === "assistant" ? assistantParts : inputParts);

export function checkText(path: string, value: string, problems: Problems): void {
  if (isLongerThan(value, maxText)) problems.add(path, `at most ${maxText} characters`);
}

/** A string, or an array of parts. */
export function checkContent(path: string, content: unknown, parts: Parts, problems: Problems): void {
  if (typeof content === "string") return checkText(path, content, problems);
  if (!Array.isArray(content)) return problems.add(path, "must be a string or an array of parts");
  for (const [index, part] of content.entries()) checkPart(`${path}.${index}`, part, parts, problems);
}

function checkPart(path: string, part: unknown, parts: Parts, problems: Problems): void {
  if (!isObject(part)) return problems.add(path, "must be an object");
  const fields = new Fields(part, path, problems);
  const type = fields.requiredString("type");
  if (type === undefined) return;
  const check = parts.get(type);
  if (check) {
    check(fields, part, problems);
    return checkCaching(fields, problems);
  }
  const known = inputParts.has(type) || assistantParts.has(type);
  if (known) fields.problem("type", `${type} is not possible here; use one of ${[...parts.keys()].join(", ")}`);
  else if (notYet.has(type)) problems.add(path, `parts of type ${type} are not available yet`);
  else fields.problem("type", `unknown type ${type.slice(0, 64)}`);
}

/** Marks of a place up to which the provider may cache. */
function checkCaching(fields: Fields, problems: Problems): void {
  const control = fields.object("cache_control", "nullable");
  if (control) {
    const inner = new Fields(control, fields.path("cache_control"), problems);
    if (inner.requiredString("type") !== undefined) inner.word("type", cacheTypes);
    inner.word("ttl", cacheTtls);
  }
  const breakpoint = fields.object("prompt_cache_breakpoint", "nullable");
  if (breakpoint) {
    const inner = new Fields(breakpoint, fields.path("prompt_cache_breakpoint"), problems);
    if (inner.requiredString("mode") !== undefined) inner.word("mode", breakpointModes);
  }
}

function image(fields: Fields, part: JsonObject): void {
  const url = fields.string("image_url", "nullable");
  const id = fields.string("file_id", "nullable");
  if (present(part, "image_url", "file_id") === 0) fields.problem("image_url", "image_url or file_id is required");
  if (url === "" || id === "") fields.problem(url === "" ? "image_url" : "file_id", "at least 1 character");
  if (url !== undefined && url.length > maxImageUrl) fields.problem("image_url", `at most ${maxImageUrl} characters`);
  const detail = fields.word("detail", details, "nullable");
  // The default is put in here, so that no dialect has to know it. The object is our own: it was just parsed.
  if (detail === undefined) (part as Record<string, unknown>)["detail"] = "auto";
}

function file(fields: Fields, part: JsonObject): void {
  const data = fields.string("file_data", "nullable");
  for (const name of ["file_id", "file_url", "filename"]) fields.string(name, "nullable");
  if (present(part, "file_data", "file_url", "file_id") === 0) {
    fields.problem("file_data", "file_data, file_url or file_id is required");
  }
  if (data !== undefined && data.length > maxFileData) fields.problem("file_data", `at most ${maxFileData} characters`);
}

const present = (part: JsonObject, ...names: readonly string[]): number =>
  names.filter((name) => part[name] !== undefined && part[name] !== null).length;

function outputText(fields: Fields, part: JsonObject, problems: Problems): void {
  text(fields, part, problems);
  fields.array("annotations", "nullable");
  fields.array("logprobs", "nullable");
}

/** An array of `{type, text}` of one type: summaries and thoughts. */
export function checkTexts(path: string, entries: readonly unknown[], type: string, problems: Problems): void {
  for (const [index, entry] of entries.entries()) {
    if (!isObject(entry)) {
      problems.add(`${path}.${index}`, "must be an object");
      continue;
    }
    const fields = new Fields(entry, `${path}.${index}`, problems);
    if (entry["type"] !== type) fields.problem("type", `must be ${type}`);
    text(fields, entry, problems);
  }
}
