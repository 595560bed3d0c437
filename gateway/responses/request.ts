/**
 * The body of POST /responses as a turn: scalars typed and checked, open-ended subtrees cut out as the bytes the client wrote.
 *
 * Those subtrees are checked where they are read, in inference-svc; here they are neither parsed nor copied. By hand and not by a schema
 * library, because this runs for every request.
 */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { RunTurnRequest, UnknownField } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { type PluginJson, pluginMessages } from "@sluice/proto/contract/plugin-messages.js";
import { type PreferencesJson, preferencesMessage } from "@sluice/proto/contract/preferences.js";
import { requestShape } from "@sluice/proto/contract/request.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { pieceBytes, scanObject, scanObjectInPieces } from "@sluice/proto/runtime/validation/json-scan.js";
import { type Member, type Span, memberOf } from "@sluice/proto/runtime/validation/json-span.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { isLongerThan } from "@sluice/proto/runtime/validation/text.js";
import type { Reservation } from "@sluice/proto/runtime/byte-budget.js";
import { cutShort } from "../http/body.ts";
import { type Echo, echoOf } from "./echo.ts";
import { refusePrompt } from "./stored-prompt.ts";
import { findUnknownFields } from "./unknown-fields.ts";

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
 * The members of a body. A long one is read piece by piece, so that nobody waits for it.
 * @param request whose client alone asks for it
 * @throws Fault INVALID_REQUEST; when that client has left meanwhile, too
 */
export function scanBody(body: Buffer, request?: IncomingMessage): readonly Member[] | Promise<readonly Member[]> {
  if (body.length <= pieceBytes) return scanObject(body, "body");
  return scanObjectInPieces(body, "body", async () => {
    await nextTurn();
    if (request?.socket.destroyed) throw cutShort();
  });
}

/** Memory for each byte that is parsed: its text, its value and its echo in the answer, each in two bytes a character at worst. */
const parsedCopies = 6;

/**
 * Memory for what is parsed here: all of a body but its input, which is passed on unread.
 * @returns undefined where it is there at once. @throws Fault UNAVAILABLE where no memory is free
 */
export function reserveForParsing(
  room: Reservation,
  body: Buffer,
  members: readonly Member[],
): Promise<void> | undefined {
  const input = members.find(({ key }) => key === "input");
  const parsedBytes = body.length - (input ? input.end - input.start : 0);
  return room.grow(parsedCopies * parsedBytes);
}

/**
 * @param members of the body
 * @param fillDefaults whether the echo shows defaults in the place of null
 * @throws Fault INVALID_REQUEST with every problem of the scalar fields; NOT_FOUND for a stored prompt
 */
export function parseRequest(
  body: Buffer,
  members: readonly Member[],
  headers: RequestHeaders,
  fillDefaults = false,
): ParsedRequest {
  const cuts = cutOut(body, members);
  const problems = new Problems();
  const parsed = JSON.parse(cuts.rest) as JsonObject;
  checkSubtrees(body, cuts, problems);
  requestShape.check(parsed, "", problems);
  const sessionId = sessionOf(parsed, headers, problems);
  problems.throwIfAny();
  refusePrompt(parsed);
  // The shape has seen every field that is read from here on.
  const fields = parsed as RequestFields;
  const request = turnOf(body, cuts, fields, { ...headers, sessionId }, findUnknownFields(members));
  return { request, echo: echoOf(request, fields, fillDefaults) };
}

interface Cuts {
  readonly input: Span | undefined;
  readonly tools: Span | undefined;
  readonly toolChoice: Span | undefined;
  readonly reasoning: Span | undefined;
  readonly imageConfig: Span | undefined;
  readonly promptCacheOptions: Span | undefined;
  readonly trace: Span | undefined;
  readonly stopServerToolsWhen: Span | undefined;
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
  return {
    input,
    tools,
    textFormat,
    toolChoice: named("tool_choice"),
    reasoning: named("reasoning"),
    imageConfig: named("image_config"),
    promptCacheOptions: named("prompt_cache_options"),
    trace: named("trace"),
    stopServerToolsWhen: named("stop_server_tools_when"),
    rest,
  };
}

const isObjectAt = (body: Buffer, { start }: Span): boolean => body[start] === 0x7b;

const formatOf = (body: Buffer, text: Span): Span | undefined => memberOf(body, text.start, "format");

/** The bytes of a subtree; empty when it is absent or null. */
function bytesOf(body: Buffer, span: Span | undefined): Uint8Array {
  return span && !isNullAt(body, span) ? body.subarray(span.start, span.end) : none;
}

/** Only null begins with n. */
const isNullAt = (body: Buffer, { start }: Span): boolean => body[start] === 0x6e;

/** Only whether they are there and of the right kind; inference-svc looks inside. */
function checkSubtrees(body: Buffer, cuts: Cuts, problems: Problems): void {
  const { input, tools, toolChoice, reasoning, textFormat } = cuts;
  const first = input && body[input.start];
  if (input === undefined || isNullAt(body, input)) problems.add("input", "required");
  else if (first !== quote && first !== openBracket) problems.add("input", "must be a string or an array of items");
  if (tools && body[tools.start] !== openBracket) problems.add("tools", "must be an array");
  if (textFormat && !isObjectAt(body, textFormat) && !isNullAt(body, textFormat)) {
    problems.add("text.format", "must be an object or null");
  }
  if (reasoning && !isObjectAt(body, reasoning) && !isNullAt(body, reasoning)) {
    problems.add("reasoning", "must be an object or null");
  }
  if (toolChoice && !isObjectAt(body, toolChoice) && !isNullAt(body, toolChoice) && body[toolChoice.start] !== quote) {
    problems.add("tool_choice", "must be a string or an object");
  }
}

/** The fields of a request by their JSON names, as the request's shape lets them through. */
type RequestFields = {
  readonly [name in "model" | "user" | "session_id"]?: string;
} & {
  readonly [name in "instructions" | "safety_identifier" | "prompt_cache_key" | "service_tier"]?: string | null;
} & {
  readonly [name in "temperature" | "top_p" | "top_k" | "frequency_penalty" | "presence_penalty" | "top_logprobs"]?:
    | number
    | null;
} & {
  readonly [name in "max_output_tokens" | "max_tool_calls"]?: number | null;
} & {
  readonly [name in "stream" | "parallel_tool_calls"]?: boolean | null;
} & {
  readonly models?: string[];
  readonly include?: string[] | null;
  readonly modalities?: string[];
  readonly metadata?: Record<string, string> | null;
  readonly text?: { readonly verbosity?: string | null };
  readonly debug?: { readonly echo_upstream_body?: boolean };
  readonly reasoning?: JsonObject | null;
  readonly truncation?: string | { readonly type: string } | null;
  readonly cache_control?: { readonly ttl?: string };
  readonly provider?: PreferencesJson | null;
  readonly plugins?: readonly PluginJson[];
};

function turnOf(
  body: Buffer,
  cuts: Cuts,
  fields: RequestFields,
  { sessionId, serviceMetadata }: { sessionId: string | undefined; serviceMetadata: boolean },
  unknownFields: UnknownField[],
): RunTurnRequest {
  const { truncation, cache_control: mark } = fields;
  return {
    $typeName: "sluice.inference.v1.RunTurnRequest",
    model: fields.model ?? "",
    models: fields.models ?? [],
    inputJson: bytesOf(body, cuts.input),
    instructions: fields.instructions ?? undefined,
    stream: fields.stream ?? false,
    maxOutputTokens: fields.max_output_tokens ?? undefined,
    temperature: fields.temperature ?? undefined,
    topP: fields.top_p ?? undefined,
    topK: wholeOf(fields.top_k),
    frequencyPenalty: fields.frequency_penalty ?? undefined,
    presencePenalty: fields.presence_penalty ?? undefined,
    topLogprobs: wholeOf(fields.top_logprobs),
    parallelToolCalls: fields.parallel_tool_calls ?? undefined,
    toolsJson: bytesOf(body, cuts.tools),
    toolChoiceJson: bytesOf(body, cuts.toolChoice),
    textFormatJson: bytesOf(body, cuts.textFormat),
    textVerbosity: fields.text?.verbosity ?? "",
    reasoningJson: bytesOf(body, cuts.reasoning),
    include: fields.include ?? [],
    maxToolCalls: fields.max_tool_calls ?? undefined,
    // The parsed object itself: copying it key by key would lose a key named like a member of every object.
    metadata: fields.metadata ?? {},
    modalities: fields.modalities ?? [],
    user: fields.user,
    safetyIdentifier: fields.safety_identifier ?? undefined,
    sessionId,
    promptCacheKey: fields.prompt_cache_key ?? undefined,
    serviceTier: fields.service_tier ?? "",
    echoUpstreamBody: fields.debug?.echo_upstream_body ?? false,
    serviceMetadata,
    truncation: (typeof truncation === "object" ? truncation?.type : truncation) ?? "",
    imageConfigJson: bytesOf(body, cuts.imageConfig),
    cacheControl: mark && { $typeName: "sluice.inference.v1.CacheControl", ttl: mark.ttl ?? "" },
    promptCacheOptionsJson: bytesOf(body, cuts.promptCacheOptions),
    traceJson: bytesOf(body, cuts.trace),
    stopServerToolsWhenJson: bytesOf(body, cuts.stopServerToolsWhen),
    provider: fields.provider ? preferencesMessage(fields.provider) : undefined,
    plugins: fields.plugins ? pluginMessages(fields.plugins) : [],
    unknownFields,
  };
}

/** -0 is 0. */
const wholeOf = (value: number | null | undefined): number | undefined =>
  typeof value === "number" ? value + 0 : undefined;

/** The body's session counts before the header's. Header text arrives as one character per byte. */
function sessionOf(parsed: JsonObject, { sessionId }: RequestHeaders, problems: Problems): string | undefined {
  const own = parsed["session_id"];
  if (typeof own === "string") return own;
  if (sessionId === undefined || sessionId === "" || own !== undefined) return undefined;
  const bytes = Buffer.from(sessionId, "latin1");
  const decoded = bytes.length === sessionId.length && isUtf8(bytes) ? bytes.toString("utf8") : undefined;
  if (decoded === undefined) problems.add("x-session-id", "must be valid UTF-8");
  else if (isLongerThan(decoded, 256)) problems.add("x-session-id", "at most 256 characters");
  else return decoded;
  return undefined;
}
