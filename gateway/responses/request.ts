/**
 * The body of POST /responses as a turn: scalars typed and checked, open-ended subtrees cut out as the bytes the client wrote.
 *
 * Those subtrees are checked where they are read, in inference-svc; here they are neither parsed nor copied. By hand and not by a schema
 * library, because this runs for every request.
 */
import { isUtf8 } from "node:buffer";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fields, type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import { type Member, type Span, scanObject } from "@sluice/proto/runtime/validation/json-scan.js";
import { membersOf } from "@sluice/proto/runtime/validation/json-span.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { checkScalars, serviceTiers, verbosities } from "@sluice/proto/runtime/validation/scalars.js";
import { isLongerThan } from "@sluice/proto/runtime/validation/text.js";
import { type Echo, echoOf } from "./echo.ts";
import { checkUnavailable, refusePrompt } from "./request-unavailable.ts";

export interface RequestHeaders {
  /** `x-session-id`: counts when the body has none. */
  readonly sessionId?: string;
  /** Whether `X-Service-Metadata` asks for the receipt. */
  readonly serviceMetadata: boolean;
}

export interface ParsedRequest {
  readonly request: RunTurnRequest;
  readonly echo: Echo;
}

const none = new Uint8Array();
const quote = 0x22;
const openBracket = 0x5b;

/**
 * @param fillDefaults whether the echo shows defaults in the place of null
 * @throws Fault INVALID_REQUEST with every problem of the scalar fields; NOT_FOUND for a stored prompt
 */
export function parseRequest(body: Buffer, headers: RequestHeaders, fillDefaults = false): ParsedRequest {
  const cuts = cutOut(body, scanObject(body, "body"));
  const problems = new Problems();
  const parsed = JSON.parse(cuts.rest) as JsonObject;
  const fields = new Fields(parsed, "", problems);
  checkSubtrees(body, cuts, problems);
  const request = turnOf(body, cuts, fields, headers, problems);
  checkScalars(request, problems);
  checkUnavailable(fields, problems);
  const reasoning = fields.object("reasoning", "nullable");
  problems.throwIfAny();
  refusePrompt(fields);
  return { request, echo: echoOf(request, reasoning, fillDefaults) };
}

interface Cuts {
  readonly input: Span | undefined;
  readonly tools: Span | undefined;
  readonly toolChoice: Span | undefined;
  readonly reasoning: Span | undefined;
  readonly textFormat: Span | undefined;
  /** The body with null in the place of input, tools and text.format. */
  readonly rest: string;
}

function cutOut(body: Buffer, members: readonly Member[]): Cuts {
  const named = (key: string) => members.find((member) => member.key === key);
  const input = named("input");
  const tools = named("tools");
  const text = named("text");
  const textFormat = text && isObjectAt(body, text) ? formatOf(body, text) : undefined;
  const spans = [input, tools, textFormat].filter((span) => span !== undefined).sort((a, b) => a.start - b.start);
  let rest = "";
  let from = 0;
  for (const span of spans) {
    rest += `${body.toString("utf8", from, span.start)}null`;
    from = span.end;
  }
  rest += body.toString("utf8", from);
  return { input, tools, textFormat, toolChoice: named("tool_choice"), reasoning: named("reasoning"), rest };
}

const isObjectAt = (body: Buffer, { start }: Span): boolean => body[start] === 0x7b;

const formatOf = (body: Buffer, text: Span): Span | undefined =>
  membersOf(body, text.start).find((member) => member.key === "format");

/** The bytes of a subtree; empty when it is absent or null. */
function bytesOf(body: Buffer, span: Span | undefined): Uint8Array {
  return span && !isNullAt(body, span) ? body.subarray(span.start, span.end) : none;
}

/** Only null begins with n. */
const isNullAt = (body: Buffer, { start }: Span): boolean => body[start] === 0x6e;

/** Only whether they are there and of the right kind; inference-svc looks inside. */
function checkSubtrees(body: Buffer, { input, tools, textFormat }: Cuts, problems: Problems): void {
  const first = input && body[input.start];
  if (input === undefined || isNullAt(body, input)) problems.add("input", "required");
  else if (first !== quote && first !== openBracket) problems.add("input", "must be a string or an array of items");
  if (tools && body[tools.start] !== openBracket) problems.add("tools", "must be an array");
  if (textFormat && !isObjectAt(body, textFormat)) problems.add("text.format", "must be an object");
}

function turnOf(body: Buffer, cuts: Cuts, fields: Fields, headers: RequestHeaders, problems: Problems): RunTurnRequest {
  const text = new Fields(fields.object("text") ?? {}, "text", problems);
  const debug = new Fields(fields.object("debug") ?? {}, "debug", problems);
  checkToolChoice(fields);
  return {
    $typeName: "sluice.inference.v1.RunTurnRequest",
    model: fields.string("model") ?? "",
    models: fields.strings("models") ?? [],
    inputJson: bytesOf(body, cuts.input),
    instructions: fields.string("instructions", "nullable"),
    stream: fields.boolean("stream", "nullable") ?? false,
    maxOutputTokens: fields.integer("max_output_tokens", "nullable"),
    temperature: fields.number("temperature", "nullable"),
    topP: fields.number("top_p", "nullable"),
    topK: fields.integer("top_k"),
    frequencyPenalty: fields.number("frequency_penalty", "nullable"),
    presencePenalty: fields.number("presence_penalty", "nullable"),
    topLogprobs: fields.integer("top_logprobs", "nullable"),
    parallelToolCalls: fields.boolean("parallel_tool_calls", "nullable"),
    toolsJson: bytesOf(body, cuts.tools),
    toolChoiceJson: bytesOf(body, cuts.toolChoice),
    textFormatJson: bytesOf(body, cuts.textFormat),
    textVerbosity: text.word("verbosity", verbosities, "nullable") ?? "",
    reasoningJson: bytesOf(body, cuts.reasoning),
    include: fields.strings("include", "nullable") ?? [],
    maxToolCalls: fields.integer("max_tool_calls", "nullable"),
    metadata: metadataOf(fields),
    modalities: fields.strings("modalities") ?? [],
    user: fields.string("user"),
    safetyIdentifier: fields.string("safety_identifier", "nullable"),
    sessionId: fields.string("session_id") ?? sessionOf(fields, headers, problems),
    promptCacheKey: fields.string("prompt_cache_key", "nullable"),
    serviceTier: fields.word("service_tier", serviceTiers, "nullable") ?? "",
    echoUpstreamBody: debug.boolean("echo_upstream_body") ?? false,
    serviceMetadata: headers.serviceMetadata,
    truncation: "",
    imageConfigJson: none,
    promptCacheOptionsJson: none,
    traceJson: none,
    stopServerToolsWhenJson: none,
  };
}

function checkToolChoice(fields: Fields): void {
  const choice = fields.raw("tool_choice", "nullable");
  if (choice !== undefined && typeof choice !== "string" && !isObject(choice)) {
    fields.problem("tool_choice", "must be a string or an object");
  }
}

/** The parsed object itself: copying it key by key would lose a key named like a member of every object. */
function metadataOf(fields: Fields): Record<string, string> {
  const metadata = fields.object("metadata", "nullable") ?? {};
  const wrong = Object.keys(metadata).filter((key) => typeof metadata[key] !== "string");
  for (const key of wrong) fields.problem(`metadata.${key.slice(0, 64)}`, "must be a string");
  return wrong.length === 0 ? (metadata as Record<string, string>) : {};
}

/** Header text arrives as one character per byte. */
function sessionOf(fields: Fields, { sessionId }: RequestHeaders, problems: Problems): string | undefined {
  if (sessionId === undefined || sessionId === "" || fields.raw("session_id") !== undefined) return undefined;
  const bytes = Buffer.from(sessionId, "latin1");
  const decoded = bytes.length === sessionId.length && isUtf8(bytes) ? bytes.toString("utf8") : undefined;
  if (decoded === undefined) problems.add("x-session-id", "must be valid UTF-8");
  else if (isLongerThan(decoded, 256)) problems.add("x-session-id", "at most 256 characters");
  else return decoded;
  return undefined;
}
