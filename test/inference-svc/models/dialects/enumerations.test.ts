/**
 * Every value of an enumeration in the published requests of the doors, in every format: two values give different bodies, or all except one are
 * reported as not sent. The same holds for a value that is sent like an absent one, unless absence means this value.
 */
import { describe, expect, test } from "@jest/globals";
import { nativeTools } from "@sluice/proto/contract/tools/native-tools.js";
import { serviceTools } from "@sluice/proto/contract/tools/service-tools.js";
import { refuseSdk } from "@sluice/inference-svc/models/upstream/ai-sdk/provider.js";
import { callOptions } from "@sluice/inference-svc/models/upstream/ai-sdk/request.js";
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import { cohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import { converse } from "@sluice/inference-svc/models/upstream/converse/dialect.js";
import type { Dialect, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { gemini } from "@sluice/inference-svc/models/upstream/gemini/dialect.js";
import { messages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import type { JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import { formats as doorFormats } from "../../../support/random-requests/formats.ts";
import { leastText, leastValue, followReference } from "../../../support/schema-walk.ts";

type Fields = Readonly<Record<string, unknown>>;

/** An enumeration of a request, with the body of a request for each of its values. */
interface Enumeration {
  readonly path: string;
  readonly values: readonly string[];
  /** @param value the value of the field; the field is left out for undefined */
  readonly body: (value: string | undefined) => Fields;
}

type Place = (value: unknown) => unknown;

/** @param seen names of schemas that were visited; each is visited once */
function* enumerationsOf(
  given: JsonSchema,
  path: string,
  place: Place,
  seen: Set<string>,
): Generator<{ path: string; values: readonly string[]; place: Place }> {
  const reference = given["$ref"];
  if (typeof reference === "string") {
    if (seen.has(reference)) return;
    seen.add(reference);
  }
  const schema = followReference(given);
  const words = (schema["enum"] ?? []) as readonly unknown[];
  if (words.length > 1) yield { path, values: words.filter((each): each is string => typeof each === "string"), place };
  for (const choice of (schema["anyOf"] ?? []) as readonly JsonSchema[])
    yield* enumerationsOf(choice, path, place, seen);
  if (schema["type"] === "array")
    yield* enumerationsOf(
      schema["items"] as JsonSchema,
      `${path}[]`,
      (value) => place(value === undefined ? undefined : [value]),
      seen,
    );
  const whole = leastValue(schema) as Fields;
  for (const [name, field] of Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>)) {
    yield* enumerationsOf(
      field,
      path === "" ? name : `${path}.${name}`,
      (value) => place({ ...whole, [name]: value }),
      seen,
    );
  }
}

/** A tool with the name to which every minimal reference to a tool refers. */
const lookup = { name: leastText, description: "Looks up", parameters: { type: "object", properties: {} } };

const requests = {
  responses: {
    schema: "ResponseRequest",
    base: { model: "m", input: "Hi" },
    tools: [{ type: "function", ...lookup }],
  },
  chat: {
    schema: "ChatCompletionRequest",
    base: { model: "m", messages: [{ role: "user", content: "Hi" }] },
    tools: [{ type: "function", function: lookup }],
  },
  messages: {
    schema: "MessagesRequest",
    base: { model: "m", max_tokens: 16_000, messages: [{ role: "user", content: "Hi" }] },
    tools: [{ name: leastText, input_schema: lookup.parameters }],
  },
} as const;
type DoorName = keyof typeof requests;

/** Fields that Sluice acts on by itself, and parts of the history. */
const own =
  /^(models|plugins|provider|trace|debug|stop_server_tools_when|include|truncation)\b|\b(status|failure_reason|execution)$|^input\[\]\.(action|command)$/;

function enumerationsFor(door: DoorName): readonly Enumeration[] {
  const { schema, base, tools } = requests[door];
  const all = [...enumerationsOf({ $ref: `#/components/schemas/${schema}` }, "", (value) => value, new Set())];
  return all
    .filter(({ path }) => !own.test(path))
    .map(({ path, values, place }) => {
      const others = Object.entries(base).filter(([name]) => !path.startsWith(name));
      const around = path.startsWith("tool_choice")
        ? { tools }
        : path === "function_call"
          ? { functions: [lookup] }
          : {};
      return {
        path,
        values,
        body: (value) => ({ ...(place(value) as Fields), ...Object.fromEntries(others), ...around }),
      };
    });
}

const at = (upstreamModel: string, supportedParameters?: readonly string[], original = false): Target => ({
  upstreamModel,
  tier: "default",
  original,
  ...(supportedParameters && { supportedParameters }),
});
type Writer = Pick<Dialect, "refusal" | "body" | "requestHeaders">;
const aiSdk: Writer = {
  refusal: refuseSdk,
  body: (turn, target, onDropped) => JSON.stringify(callOptions(turn, target, onDropped, "v4")),
};

const budgets = ["reasoning", "reasoning.max_tokens", "tool_choice", "tools"];
const targets: Readonly<Record<string, readonly [Writer, Target]>> = {
  chat: [chat, at("m")],
  "OpenAI's chat": [chat, at("m", undefined, true)],
  responses: [responses, at("m")],
  "responses of a provider that runs every tool": [
    responses,
    { ...at("m"), nativeTools: new Set(Object.keys({ ...nativeTools, ...serviceTools })) },
  ],
  "OpenAI's responses": [responses, { ...at("m", undefined, true), reasoningFormat: "openai-responses-v1" }],
  messages: [messages, at("m")],
  "messages with a budget": [messages, at("m", budgets, true)],
  "messages with updates": [messages, at("m", ["reasoning", "thinking.updates", "tools"], true)],
  "Claude at Bedrock": [converse, at("eu.anthropic.claude-sonnet-4-6")],
  "Nova at Bedrock": [converse, at("us.amazon.nova-2-lite-v1:0")],
  "Gemini with a level": [gemini, at("gemini-3.6-flash")],
  "Gemini with a budget": [gemini, at("gemini-2.5-flash")],
  cohere: [cohere, at("command-a-plus-05-2026")],
  "the AI SDK": [aiSdk, at("m")],
};

interface Sent {
  readonly body: string;
  /** Paths of fields that are not sent unchanged, in the names of the Responses format. */
  readonly losses: readonly string[];
}

/** Each request is read once for all formats. */
const turns = new Map<string, TurnRequest | undefined>();

/** The translated request; undefined for a refused one. */
function read(door: DoorName, fields: Fields): TurnRequest | undefined {
  const json = JSON.stringify(fields);
  const key = `${door} ${json}`;
  if (!turns.has(key)) turns.set(key, parse(door, Buffer.from(json)));
  return turns.get(key);
}

function parse(door: DoorName, bytes: Buffer): TurnRequest | undefined {
  try {
    return doorFormats[door].accept(bytes, scanObject(bytes, "body"), true).turn;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** The parsed request; undefined for a refused one. */
function send(door: DoorName, fields: Fields, dialect: Writer, target: Target): Sent | undefined {
  const turn = read(door, fields);
  if (turn === undefined || dialect.refusal(turn, target)) return undefined;
  const losses = [...(turn.ignoredFields ?? [])];
  const body = dialect.body(turn, target, (path) => losses.push(path));
  return { body: JSON.stringify([body, dialect.requestHeaders?.(turn, target)]), losses };
}

/** Names of the fields in the Responses format, where these differ. */
const names: Readonly<Record<string, string>> = {
  reasoning_effort: "reasoning.effort",
  "output_config.effort": "reasoning.effort",
  "thinking.display": "reasoning.summary",
  verbosity: "text.verbosity",
  "messages[].content[].image_url.detail": "input[].content[].detail",
  "web_search_options.search_context_size": "tools[].search_context_size",
};

/** A field counts as named by its own path or by the path of a field around it. */
function isNamed(path: string, losses: readonly string[]): boolean {
  const field = (names[path] ?? path).replace(/^messages\[\]/, "input[]");
  const plain = losses.map((each) => each.replaceAll(/\.\d+/g, "[]"));
  return plain.some((each) => field === each || field.startsWith(`${each}.`) || field.startsWith(`${each}[`));
}

/** Values that, by the definition of the field, mean the same as no value or as another value. */
const synonyms: readonly (readonly [path: RegExp, values: readonly string[], format?: RegExp])[] = [
  [/^reasoning\.context$|\.detail$|^(tool_choice|function_call|service_tier)$/, ["auto"]],
  [/^reasoning\.mode$/, ["standard"]],
  [/^modalities\[\]$/, ["text"]],
  [/cache_control\.ttl$/, ["5m"]],
  // The tier of an endpoint without one; "on_demand" is Groq's name for it, and "fast" another of priority.
  [/^service_tier$/, ["default", "standard_only", "on_demand", "fast"]],
  // Models with a thinking budget reason only on request, and then show it unless it is to be omitted.
  [/^(reasoning\.effort|reasoning_effort)$/, ["none"]],
  [/^reasoning\.summary$/, ["omitted"]],
  [/^thinking\.display$/, ["summarized"]],
  // Mistral calls this value "any".
  [/^tool_choice$/, ["any"]],
  // OpenAI shows no reasoning unless a summary is requested.
  [/^thinking\.display$/, ["omitted"], /OpenAI/],
];

const meansAnother = (path: string, value: string, format: string): boolean =>
  synonyms.some(([paths, values, formats = /^/]) => paths.test(path) && values.includes(value) && formats.test(format));

/** The values that are sent like another one without a report. */
function foldedOf(door: DoorName, each: Enumeration, format: string): readonly string[] {
  const [dialect, target] = targets[format]!;
  const { path, values, body } = each;
  const known = new Map<string, string>();
  const absent = send(door, body(undefined), dialect, target);
  if (absent) known.set(absent.body, "no value");
  return values.flatMap((value) => {
    const sent = send(door, body(value), dialect, target);
    if (sent === undefined || isNamed(path, sent.losses)) return [];
    if (meansAnother(path, value, format)) return [];
    const like = known.get(sent.body);
    known.set(sent.body, value);
    return like === undefined ? [] : [`${path}: ${value} like ${like}`];
  });
}

describe.each(Object.keys(requests) as DoorName[])("the enumerations of a request to /%s", (door) => {
  const all = enumerationsFor(door);

  test.each(Object.keys(targets))("reach %s with every value, or the value is named as not sent", (format) => {
    expect(all.flatMap((each) => foldedOf(door, each, format))).toEqual([]);
  });

  test("have at least one format that takes each value", () => {
    const untaken = all.flatMap(({ path, values, body }) =>
      values.flatMap((value) =>
        Object.values(targets).some(([dialect, target]) => send(door, body(value), dialect, target))
          ? []
          : [`${path}: ${value}`],
      ),
    );
    expect(untaken).toEqual([]);
  });
});
