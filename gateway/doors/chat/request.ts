/** Converts the body of POST /chat/completions into a turn. */
import { chatRequestShape } from "../../contract/chat/request.ts";
import { type PluginJson, pluginMessages } from "@sluice/proto/contract/plugins/plugin-messages.js";
import { preferencesMessage } from "@sluice/proto/contract/request/preferences.js";
import type { Plugin, RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { emptyRunTurnRequest } from "@sluice/proto/lib/lane/gen/codec.js";
import { type JsonMember, memberOf } from "@sluice/proto/lib/json/span.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { subtreeBytes } from "../../edge/turns/json.ts";
import { parametersAt } from "../../edge/turns/parameters.ts";
import { readSession } from "../../edge/turns/session.ts";
import type { FieldNames } from "../../edge/turns/field-names.ts";
import { KnownFields, toUnknownField } from "../../edge/turns/unknown-fields.ts";
import { ChatArrays, type ChatFields, readChatFields, findMember } from "./fields.ts";
import { ChatFieldNames } from "./field-names.ts";
import { type ChatInput, toInput } from "./input.ts";
import { functionChoiceJson, functionsJson, toolChoiceJson, webSearchJson, writeTools } from "./tools.ts";

export interface ChatHeaders {
  /** Session id from the header `x-session-id`, used when the body names no session. */
  readonly sessionId?: string | undefined;
  /** Whether `X-Service-Metadata` asks for the receipt. */
  readonly serviceMetadata: boolean;
  /** Whether a usage chunk that the client did not request would break the client. */
  readonly omitsUsage?: boolean;
}

/** Settings of a request that decide the form of its answer. */
export interface AnswerForm {
  /** Whether a stream ends with a usage chunk without choices. */
  readonly wantsUsage: boolean;
  /** Whether a stream contains usage only if the client requested it. */
  readonly omitsUsage: boolean;
  readonly hidesReasoning: boolean;
  /** Whether calls have the form of the deprecated `functions`, since the request contains `functions`. */
  readonly oldCalls: boolean;
}

export interface ChatRequest {
  readonly request: RunTurnRequest;
  readonly names: FieldNames;
  readonly form: AnswerForm;
}

const none = new Uint8Array();
const known = new KnownFields(Object.keys(chatRequestShape.fields));

/** @param members top-level members of the body  @throws Fault INVALID_REQUEST with every problem in the body's shape, or the first other problem */
export function parseChatRequest(body: Buffer, members: readonly JsonMember[], headers: ChatHeaders): ChatRequest {
  const arrays = new ChatArrays(body, members);
  const problems = new Problems((path) => arrays.addIgnored(path));
  const fields = readChatFields(body, members, arrays, problems);
  const sessionId = readSession(fields.session_id ?? undefined, headers.sessionId, problems);
  problems.throwIfAny();
  const input = toInput(fields.messages, arrays);
  const request = buildTurn(body, members, fields, input, arrays);
  const { ignored } = arrays;
  if (ignored.length > 0)
    request.unknownFields = [...request.unknownFields, ...ignored.map((path) => toUnknownField(path))].slice(
      0,
      maxUnsent,
    );
  if (request.unknownFields.length > 0) request.extraJson = known.extraJson(body, members);
  request.sessionId = sessionId;
  request.serviceMetadata = headers.serviceMetadata;
  const form = {
    wantsUsage: fields.stream_options?.include_usage ?? fields.usage?.include ?? false,
    omitsUsage: headers.omitsUsage ?? false,
    hidesReasoning: fields.reasoning?.exclude ?? fields.include_reasoning === false,
    oldCalls: hasFunctions(fields),
  };
  return { request, form, names: new ChatFieldNames(input.places, fields) };
}

/** Maximum number of unsent fields named in headers and receipts, since a client chooses how many there are. */
const maxUnsent = 16;

const hasFunctions = ({ functions }: ChatFields): boolean => functions !== null && functions !== undefined;

function buildTurn(
  body: Buffer,
  members: readonly JsonMember[],
  fields: ChatFields,
  input: ChatInput,
  arrays: ChatArrays,
): RunTurnRequest {
  const { cache_control: mark } = fields;
  const bytesOf = (name: Parameters<typeof findMember>[1]) => subtreeBytes(body, findMember(members, name));
  const request = emptyRunTurnRequest();
  request.model = fields.model ?? "";
  if (fields.models) request.models = fields.models;
  request.inputJson = input.json;
  request.stream = fields.stream ?? false;
  // With `functions`, an answer has room for one call only.
  request.parallelToolCalls = hasFunctions(fields) ? false : (fields.parallel_tool_calls ?? undefined);
  request.toolsJson = allToolsJson(body, members, fields, arrays);
  request.toolChoiceJson = choiceJson(fields);
  request.textFormatJson = formatJson(body, members, fields);
  request.textVerbosity = fields.verbosity ?? "";
  request.reasoningJson = reasoningJson(fields);
  request.include = additions(fields, input);
  request.maxToolCalls = fields.max_tool_calls ?? undefined;
  if (fields.metadata) request.metadata = fields.metadata;
  if (fields.modalities) request.modalities = fields.modalities;
  request.user = fields.user ?? undefined;
  request.safetyIdentifier = fields.safety_identifier ?? undefined;
  request.promptCacheKey = fields.prompt_cache_key ?? undefined;
  // "on_demand" is Groq's name for its standard tier.
  request.serviceTier = fields.service_tier === "on_demand" ? "default" : (fields.service_tier ?? "");
  request.echoUpstreamBody = fields.debug?.echo_upstream_body ?? false;
  request.imageConfigJson = bytesOf("image_config");
  if (mark) request.cacheControl = { $typeName: "sluice.inference.v1.CacheControl", ttl: mark.ttl ?? "" };
  request.promptCacheOptionsJson = bytesOf("prompt_cache_options");
  request.traceJson = bytesOf("trace");
  request.stopServerToolsWhenJson = bytesOf("stop_server_tools_when");
  if (fields.provider) request.provider = preferencesMessage(fields.provider);
  request.plugins = plugins(fields);
  request.unknownFields = known.unknownAmong(members);
  request.predictionJson = bytesOf("prediction");
  request.door = "chat";
  parametersAt.chat.read(fields, request);
  return request;
}

function allToolsJson(
  body: Buffer,
  members: readonly JsonMember[],
  { tools, functions, web_search_options: search }: ChatFields,
  arrays: ChatArrays,
): Uint8Array {
  const searched = search ? `${webSearchJson(search)},` : "";
  if (tools) return writeTools(body, tools, arrays, searched);
  if (!functions && !search) return none;
  const declared = functions ? functionsJson(body, findMember(members, "functions")!) : "";
  return Buffer.from(`[${(declared + searched).slice(0, -1)}]`);
}

function choiceJson({ tool_choice: choice, function_call: old }: ChatFields): Uint8Array {
  if (choice) return Buffer.from(toolChoiceJson(choice));
  return old ? Buffer.from(functionChoiceJson(old)) : none;
}

/** The response format of a turn. A JSON schema is copied from the client's bytes without parsing. */
function formatJson(body: Buffer, members: readonly JsonMember[], { response_format: format }: ChatFields): Uint8Array {
  if (!format || format.type === "text") return none;
  const span = findMember(members, "response_format")!;
  if (format.type !== "json_schema") return body.subarray(span.start, span.end);
  const inner = memberOf(body, span.start, "json_schema")!;
  return Buffer.from(`{"type":"json_schema",${body.toString("utf8", inner.start + 1, inner.end)}`);
}

function reasoningJson({ reasoning, reasoning_effort: effort }: ChatFields): Uint8Array {
  if (!reasoning) return effort ? Buffer.from(`{"effort":"${effort}"}`) : none;
  const { exclude: _, ...settings } = reasoning;
  return Buffer.from(JSON.stringify(effort ? { ...settings, effort } : settings));
}

/** Additional output to request. Encrypted reasoning is requested whenever the model may reason, since the chat format has no field to ask for it. */
function additions({ logprobs, reasoning, reasoning_effort: effort }: ChatFields, { hasSealed }: ChatInput): string[] {
  const include = logprobs ? ["message.output_text.logprobs"] : [];
  const thinks = reasoning || (effort && effort !== "none") || hasSealed;
  if (thinks) include.push("reasoning.encrypted_content");
  return include;
}

const compression = "context-compression";

/** Plugins of a request. `transforms` is an alias of the plugin context-compression; a plugin given under its own name takes precedence. */
function plugins({ plugins, transforms }: ChatFields): Plugin[] {
  const given = plugins ?? [];
  if (!transforms || given.some(({ id }) => id === compression)) return given.length === 0 ? [] : pluginMessages(given);
  const plugin: PluginJson = { id: compression, enabled: transforms.length > 0 };
  return pluginMessages([...given, plugin]);
}
