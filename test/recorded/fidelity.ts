/**
 * Compares a recorded request, sent to the endpoint of its format, with the request at a provider of the same format: every field must be
 * equal, or reported by Sluice. Values that a format considers equal are first written in one way.
 */
import { type Difference, abridgeValue } from "./differences.ts";
import { type JsonRecord, isJsonRecord, jsonRecord, jsonRecords, parseJson, textOrEmpty } from "./readers/json.ts";
import type { ReportedChanges } from "./receipts.ts";

export function requestDifferences(
  format: string,
  recorded: JsonRecord,
  sent: JsonRecord,
  told: ReportedChanges,
): Difference[] {
  const found: Difference[] = [];
  walk(plain(format, recorded), plain(format, sent), [], (path, want, got) => {
    if (isTold(path, told)) return;
    const change = got === undefined ? "lost" : want === undefined ? "added" : "changed";
    found.push({ what: `${change} ${kindOf(path)}`, want: abridgeValue(want), got: abridgeValue(got) });
  });
  return found;
}

type Path = readonly (string | number)[];

/** A path without indices, which change when an element is left out. */
const kindOf = (path: Path): string => path.map((part) => (typeof part === "number" ? "*" : part)).join(".");

/** Fields in which a format has the same setting: a receipt that names one of them covers the others. */
const effort = ["thinking", "output_config", "reasoning", "reasoning_effort"];

/** Fields with lists of many elements, of which a receipt names one. */
const lists = new Set(["messages", "input", "tools", "system"]);

/** Whether a receipt names the field, a field around it or in it, or another field for the same setting. */
function isTold(path: Path, { paths, text }: ReportedChanges): boolean {
  const names = path.filter((part) => typeof part === "string");
  const [top = ""] = names;
  const within = (one: readonly string[], other: readonly string[]) => one.every((part, at) => part === other[at]);
  const isNamed = paths.some((named) => {
    const parts = named.split(".").filter((part) => !/^\d+$/.test(part));
    const [first = ""] = parts;
    if (!lists.has(top) && (first === top || (effort.includes(first) && effort.includes(top)))) return true;
    return within(parts, names) || within(names, parts);
  });
  return isNamed || text.includes(`${path.join(".")}:`);
}

type Found = (path: Path, want: unknown, got: unknown) => void;

function walk(want: unknown, got: unknown, path: Path, found: Found): void {
  if (isNothing(want) && isNothing(got)) return;
  if (Array.isArray(want) && Array.isArray(got)) {
    const length = Math.max(want.length, got.length);
    for (let at = 0; at < length; at++) walk(want[at], got[at], [...path, at], found);
  } else if (isJsonRecord(want) && isJsonRecord(got)) {
    for (const key of new Set([...Object.keys(want), ...Object.keys(got)]))
      walk(want[key], got[key], [...path, key], found);
  } else if (want !== got) found(path, want ?? undefined, got ?? undefined);
}

const isNothing = (value: unknown) =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

/** A request in which equal values are written in one way. */
function plain(format: string, body: JsonRecord): JsonRecord {
  const { model: _, ...rest } = jsonRecord(withoutDefaults(body));
  const spelled = spellings[format]?.(rest) ?? rest;
  return Object.fromEntries(Object.entries(spelled).filter(([name, value]) => !isNeutral(name, value)));
}

/** Whether a setting equals its default, or Sluice replaces it as documented: nothing is stored, and end users are hashed. */
function isNeutral(name: string, value: unknown): boolean {
  if (["user", "safety_identifier", "stream_options"].includes(name)) return true;
  if (name === "metadata") return Object.keys(jsonRecord(value)).every((key) => key === "user_id");
  if (name === "store" || name === "stream") return value === false;
  if (name === "n") return value === 1;
  if (name === "logprobs") return value === false;
  if (name === "tool_choice") return value === "auto";
  if (name === "response_format") return jsonRecord(value)["type"] === "text";
  return name === "service_tier" && ["auto", "default", "on_demand"].includes(textOrEmpty(value));
}

function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults);
  if (!isJsonRecord(value)) return value;
  const isDefault = ([name, inner]: readonly [string, unknown]) =>
    (name === "is_error" && inner === false) ||
    (name === "description" && inner === "") ||
    (name === "type" && inner === "custom") ||
    (name === "ttl" && inner === "5m");
  return Object.fromEntries(
    Object.entries(value)
      .filter((entry) => !isDefault(entry))
      .map(([name, inner]) => [name, withoutDefaults(inner)]),
  );
}

const asParts = (content: unknown, type: string): unknown =>
  typeof content !== "string" ? content : content === "" ? undefined : [{ type, text: content }];

/** Puts the URL of an image and the bytes of a sound into an object, which Mistral's clients leave out. */
const plainParts = (parts: unknown): unknown =>
  Array.isArray(parts)
    ? parts.map((part: unknown) => {
        if (!isJsonRecord(part)) return part;
        const { image_url: image, input_audio: sound } = part;
        if (typeof image === "string") return { ...part, image_url: { url: image } };
        return isJsonRecord(sound) ? { ...part, input_audio: sound["data"] } : part;
      })
    : parts;

function plainChat({
  max_completion_tokens: maximum,
  stop,
  messages,
  tools,
  tool_choice: choice,
  ...rest
}: JsonRecord): JsonRecord {
  // A call without the index, which is its position in the list.
  const plainCall = (call: JsonRecord) => {
    const called = jsonRecord(call["function"]);
    return {
      ...call,
      index: undefined,
      function: { ...called, arguments: parseJson(textOrEmpty(called["arguments"])) ?? called["arguments"] },
    };
  };
  return {
    ...rest,
    max_tokens: rest["max_tokens"] ?? maximum,
    tools: jsonRecords(tools).map((tool) => ({ type: "function", ...tool })),
    // In Mistral's format, `any` means that a call is required.
    tool_choice: choice === "any" ? "required" : choice,
    stop: typeof stop === "string" ? [stop] : stop,
    messages: jsonRecords(messages).map(({ content, tool_calls: calls, ...message }) => ({
      ...message,
      content: plainParts(asParts(content, "text")),
      tool_calls: jsonRecords(calls).map(plainCall),
    })),
  };
}

function plainResponses({ input, ...rest }: JsonRecord): JsonRecord {
  const items = typeof input === "string" ? [{ role: "user", content: input }] : jsonRecords(input);
  return {
    ...rest,
    input: items.map((item: JsonRecord) => {
      const type = item["type"] ?? (item["role"] === undefined ? undefined : "message");
      const part = item["role"] === "assistant" ? "output_text" : "input_text";
      return { ...item, type, ...(type === "message" && { content: asParts(item["content"], part) }) };
    }),
  };
}

function plainMessages({
  system,
  messages,
  output_format: format,
  output_config: config,
  ...rest
}: JsonRecord): JsonRecord {
  const plainBlock = (block: unknown) =>
    isJsonRecord(block) && block["type"] === "tool_result"
      ? { ...block, content: asParts(block["content"], "text") }
      : block;
  return {
    ...rest,
    // The output format is now in another field of the Messages format.
    output_config: format ? { ...jsonRecord(config), format } : config,
    system: asParts(system, "text"),
    messages: jsonRecords(messages).map(({ content, ...message }) => {
      const blocks = asParts(content, "text");
      return { ...message, content: Array.isArray(blocks) ? blocks.map(plainBlock) : blocks };
    }),
  };
}

const spellings: Readonly<Record<string, (body: JsonRecord) => JsonRecord>> = {
  chat: plainChat,
  responses: plainResponses,
  messages: plainMessages,
};
