/**
 * Converts the body of POST /responses to a turn. Scalars are parsed and checked. Open-ended parts such as the input are copied as bytes without
 * parsing, and inference-svc checks them. The code is written by hand, without a schema library, because it runs for every request.
 */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { RunTurnRequest, UnknownField } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { pluginMessages } from "@sluice/proto/contract/plugins/plugin-messages.js";
import { preferencesMessage } from "@sluice/proto/contract/request/preferences.js";
import { emptyRunTurnRequest } from "@sluice/proto/lib/lane/gen/codec.js";
import { openBrace, openBracket, quote } from "@sluice/proto/lib/json/bytes.js";
import { type JsonMember, type ByteSpan, memberOf } from "@sluice/proto/lib/json/span.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { type Echo, buildEcho } from "@sluice/proto/lib/responses/echo.js";
import { isNullAt, subtreeBytes } from "../../edge/turns/json.ts";
import { parametersAt } from "../../edge/turns/parameters.ts";
import { readSession } from "../../edge/turns/session.ts";
import { KnownFields, toUnknownField } from "../../edge/turns/unknown-fields.ts";
import { FieldSpans, type RequestFields, readFields } from "./fields.ts";

export interface RequestHeaders {
  /** Session id from the header `x-session-id`, used when the body names no session. */
  readonly sessionId?: string | undefined;
  /** Whether `X-Service-Metadata` asks for the receipt. */
  readonly serviceMetadata: boolean;
}

export interface ParsedRequest {
  readonly request: RunTurnRequest;
  readonly echo: Echo;
}

const known = new KnownFields(Object.keys(requestShape.fields));

/**
 * @param members top-level members of the body  @param fillDefaults whether the answer shows default settings instead of null  @throws Fault
 * INVALID_REQUEST with every problem of the scalar fields; NOT_FOUND for a stored prompt
 */
export function parseRequest(
  body: Buffer,
  members: readonly JsonMember[],
  headers: RequestHeaders,
  fillDefaults = false,
): ParsedRequest {
  const spans = new FieldSpans(body, members);
  const text = spans.of("text");
  const textFormat = text && isObjectAt(body, text) ? memberOf(body, text.start, "format") : undefined;
  const nested: string[] = [];
  const problems = new Problems((path) => nested.length < maxUnsent && nested.push(path));
  checkSubtrees(body, members, spans, textFormat, problems);
  const fields = readFields(body, spans, textFormat, problems);
  const sessionId = readSession(fields.session_id, headers.sessionId, problems);
  problems.throwIfAny();
  // This check comes last: its error is for requests that are otherwise valid.
  if (isObject(fields.prompt)) throw promptNotFound(fields.prompt);
  const unknown = [...known.unknownAmong(members), ...nested.map((path) => toUnknownField(path))].slice(0, maxUnsent);
  const request = buildTurn(body, spans, textFormat, fields, unknown);
  if (unknown.length > 0) request.extraJson = known.extraJson(body, members);
  request.sessionId = sessionId;
  request.serviceMetadata = headers.serviceMetadata;
  return { request, echo: buildEcho(request, fields, fillDefaults) };
}

/** Maximum number of unsent fields named in headers and receipts, since a client chooses how many there are. */
const maxUnsent = 16;

const isObjectAt = (body: Buffer, { start }: ByteSpan): boolean => body[start] === openBrace;

/** Error text for a body without input; a body with `messages` is one of chat completions, and the text says so. */
const missingInput = (members: readonly JsonMember[]): string =>
  members.some(({ key }) => key === "messages")
    ? "required here; a body with messages belongs to POST /api/v1/chat/completions (OpenAI's format) or POST /api/v1/messages (Anthropic's format)"
    : "required";

/** Checks presence and type of the parts passed on as bytes; inference-svc checks their content. */
function checkSubtrees(
  body: Buffer,
  members: readonly JsonMember[],
  spans: FieldSpans,
  textFormat: ByteSpan | undefined,
  problems: Problems,
): void {
  const input = spans.of("input");
  const tools = spans.of("tools");
  const toolChoice = spans.of("tool_choice");
  const reasoning = spans.of("reasoning");
  const first = input && body[input.start];
  if (input === undefined) {
    // A stored prompt could replace the input, and its own error is more helpful than one about a missing input.
    const prompt = members.find(({ key }) => key === "prompt");
    if (!prompt || !isObjectAt(body, prompt)) problems.add("input", missingInput(members));
  } else if (first !== quote && first !== openBracket) problems.add("input", "must be a string or an array of items");
  if (tools && body[tools.start] !== openBracket) problems.add("tools", "must be an array");
  if (textFormat && !isObjectAt(body, textFormat) && !isNullAt(body, textFormat)) {
    problems.add("text.format", "must be an object or null");
  }
  if (reasoning && !isObjectAt(body, reasoning)) problems.add("reasoning", "must be an object or null");
  if (toolChoice && !isObjectAt(body, toolChoice) && body[toolChoice.start] !== quote) {
    problems.add("tool_choice", "must be a string or an object");
  }
}

function buildTurn(
  body: Buffer,
  spans: FieldSpans,
  textFormat: ByteSpan | undefined,
  fields: RequestFields,
  unknownFields: UnknownField[],
): RunTurnRequest {
  const { truncation, cache_control: mark } = fields;
  const request = emptyRunTurnRequest();
  request.model = fields.model ?? "";
  if (fields.models) request.models = fields.models;
  request.inputJson = subtreeBytes(body, spans.of("input"));
  request.instructions = fields.instructions ?? undefined;
  request.stream = fields.stream ?? false;
  request.parallelToolCalls = fields.parallel_tool_calls ?? undefined;
  request.toolsJson = subtreeBytes(body, spans.of("tools"));
  request.toolChoiceJson = subtreeBytes(body, spans.of("tool_choice"));
  request.textFormatJson = subtreeBytes(body, textFormat);
  request.textVerbosity = fields.text?.verbosity ?? "";
  request.reasoningJson = subtreeBytes(body, spans.of("reasoning"));
  if (fields.include) request.include = fields.include;
  request.maxToolCalls = fields.max_tool_calls ?? undefined;
  // The parsed object is used without a copy: copying key by key would lose a key such as `__proto__`.
  if (fields.metadata) request.metadata = fields.metadata;
  if (fields.modalities) request.modalities = fields.modalities;
  request.user = fields.user ?? undefined;
  request.safetyIdentifier = fields.safety_identifier ?? undefined;
  request.promptCacheKey = fields.prompt_cache_key ?? undefined;
  request.serviceTier = fields.service_tier ?? "";
  request.echoUpstreamBody = fields.debug?.echo_upstream_body ?? false;
  request.truncation = (typeof truncation === "object" ? truncation?.type : truncation) ?? "";
  request.imageConfigJson = subtreeBytes(body, spans.of("image_config"));
  if (mark) request.cacheControl = { $typeName: "sluice.inference.v1.CacheControl", ttl: mark.ttl ?? "" };
  request.promptCacheOptionsJson = subtreeBytes(body, spans.of("prompt_cache_options"));
  request.traceJson = subtreeBytes(body, spans.of("trace"));
  request.stopServerToolsWhenJson = subtreeBytes(body, spans.of("stop_server_tools_when"));
  if (fields.provider) request.provider = preferencesMessage(fields.provider);
  if (fields.plugins) request.plugins = pluginMessages(fields.plugins);
  request.unknownFields = unknownFields;
  request.predictionJson = subtreeBytes(body, spans.of("prediction"));
  if (fields.anthropic_betas) request.anthropicBetas = fields.anthropic_betas;
  request.contextManagementJson = subtreeBytes(body, spans.of("context_management"));
  parametersAt.responses.read(fields, request);
  return request;
}

/** The error for a request with a stored prompt, since Sluice stores no prompts. */
const promptNotFound = ({ id }: JsonObject): Fault =>
  new Fault(FaultReason.NOT_FOUND, `prompt ${String(id).slice(0, 256)} not found: no prompts are stored`, {
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "not_found", param: "prompt" },
  });
