/** Converts the body of POST /messages into a turn. */
import { messagesRequest } from "../../contract/messages/request.ts";
import { pluginMessages } from "@sluice/proto/contract/plugins/plugin-messages.js";
import { preferencesMessage } from "@sluice/proto/contract/request/preferences.js";
import type { RunTurnRequest, UnknownField } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { emptyRunTurnRequest } from "@sluice/proto/lib/lane/gen/codec.js";
import type { ByteSpan, JsonMember } from "@sluice/proto/lib/json/span.js";
import { memberOf } from "@sluice/proto/lib/json/span.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { Shape } from "@sluice/proto/lib/validation/shape.js";
import { isLongerThan } from "@sluice/proto/lib/validation/text.js";
import type { DoorContext } from "../../edge/turns/door.ts";
import type { FieldNames } from "../../edge/turns/field-names.ts";
import { parametersAt } from "../../edge/turns/parameters.ts";
import { KnownFields, toUnknownField } from "../../edge/turns/unknown-fields.ts";
import { type MessagesBody, checkMessages } from "./body.ts";
import { Conversation, CallInputTexts } from "./conversation.ts";
import { messageFieldNames } from "./field-names.ts";
import { toReasoning } from "./reasoning.ts";
import type { OnFieldNotSent } from "./parts.ts";
import { RepeatedArrays } from "./repeated-arrays.ts";
import { toToolChoice } from "./tools.ts";
import { TurnTools } from "./turn-tools.ts";

export interface MessagesTurn {
  readonly request: RunTurnRequest;
  readonly names: FieldNames;
}

const known = new KnownFields(Object.keys(messagesRequest.fields));
const none = new Uint8Array();
const maxUserLength = 256;

/**
 * @param shape shape of the body: of a turn, or of a token count  @throws Fault INVALID_REQUEST with every problem that can be found before the turn
 * runs
 */
export function parseMessages(
  body: Buffer,
  members: readonly JsonMember[],
  context: Pick<DoorContext, "headers" | "sessionId" | "serviceMetadata">,
  shape: Shape = messagesRequest,
): MessagesTurn {
  const spans = new Spans(body, members);
  const arrays = new RepeatedArrays(body, spans.of("messages"), spans.of("tools"));
  const { fields, betas, session, unread } = checkMessages(arrays, context, shape);
  const unknown = [...known.unknownAmong(members), ...unread.map((path) => toUnknownField(path))];
  const { request, names } = buildTurn(fields, spans, arrays, unknown);
  if (unknown.length > 0) request.extraJson = known.extraJson(body, members);
  request.sessionId = session;
  request.serviceMetadata = fields.service_metadata ?? context.serviceMetadata;
  request.anthropicBetas = betas;
  return { request, names };
}

/** Finds the parts of a body that are passed on unchanged. */
class Spans {
  readonly body: Buffer;
  readonly #members: readonly JsonMember[];

  constructor(body: Buffer, members: readonly JsonMember[]) {
    this.body = body;
    this.#members = members;
  }

  of(name: string): JsonMember | undefined {
    return this.#members.find(({ key }) => key === name);
  }

  /** The JSON of a value. @param name top-level field @param path keys below it @returns undefined for an absent value */
  text(name: string, ...path: readonly string[]): string | undefined {
    let span: ByteSpan | undefined = this.of(name);
    for (const key of path) span = span && memberOf(this.body, span.start, key);
    return span && this.body.toString("utf8", span.start, span.end);
  }
}

function buildTurn(
  fields: MessagesBody,
  spans: Spans,
  arrays: RepeatedArrays,
  unknownFields: UnknownField[],
): MessagesTurn {
  const { conversation, inputJson } = readConversation(fields, spans.body, arrays);
  const unsent = [...unknownFields];
  const onUnsent: OnFieldNotSent = (path, reason) => void unsent.push(toUnknownField(path, reason));
  for (const { path, reason } of conversation.unsent) onUnsent(path, reason);
  const { tool_choice: choice, cache_control: mark, service_tier: tier } = fields;
  const tools = readTools(fields, conversation, spans.body, arrays, onUnsent);
  const toolsJson = tools.write();
  const { user_id: userId } = fields.metadata ?? {};
  const include = includes(tools);
  if (fields.context_management && !fields.context_management.edits) onUnsent("context_management", "it has no edits");
  if (fields.container && !include.includes(codeOutputs)) onUnsent("container", "no tool of the request runs code");
  const request = emptyRunTurnRequest();
  request.model = fields.model ?? "";
  if (fields.models) request.models = fields.models;
  request.inputJson = inputJson;
  request.stream = fields.stream ?? false;
  request.parallelToolCalls = choice?.disable_parallel_tool_use === true ? false : undefined;
  request.toolsJson = toolsJson;
  request.toolChoiceJson = jsonBytes(toToolChoice(choice, fields.tools ?? []));
  request.textFormatJson = toTextFormat(fields, spans);
  request.reasoningJson = jsonBytes(toReasoning(fields));
  request.include = include;
  request.user = userId && !isLongerThan(userId, maxUserLength) ? userId : undefined;
  request.safetyIdentifier = userId || undefined;
  request.serviceTier = tier === "standard_only" ? "default" : (tier ?? "");
  if (mark) request.cacheControl = { $typeName: "sluice.inference.v1.CacheControl", ttl: mark.ttl ?? "" };
  if (fields.provider) request.provider = preferencesMessage(fields.provider);
  if (fields.plugins) request.plugins = pluginMessages(fields.plugins);
  request.unknownFields = unsent.slice(0, maxUnsent);
  request.contextManagementJson = fields.context_management?.edits ? verbatim(spans.text("context_management")) : none;
  request.door = "messages";
  parametersAt.messages.read(fields, request);
  return { request, names: messageFieldNames(conversation.places, tools.paths) };
}

/** Maximum number of unsent fields named in headers and receipts, since a client chooses how many there are. */
const maxUnsent = 16;

const jsonBytes = (value: unknown): Uint8Array => (value === undefined ? none : Buffer.from(JSON.stringify(value)));

const verbatim = (json: string | undefined): Uint8Array =>
  json === undefined || json === "null" ? none : Buffer.from(json);

interface ReadConversation {
  readonly conversation: Conversation;
  readonly inputJson: Uint8Array;
}

function readConversation({ system, messages }: MessagesBody, body: Buffer, arrays: RepeatedArrays): ReadConversation {
  const array = arrays.messages;
  const conversation = new Conversation(new CallInputTexts(body, array));
  if (system) conversation.readSystem(system, "system");
  const instructions = conversation.json;
  for (let index = 0; index < array.known; index++) conversation.skip(array.note(index));
  for (let index = array.known; index < messages.length; index++) {
    const note = conversation.read(messages[index]!, index);
    const unread = arrays.unreadIn(`messages.${index}`);
    if (unread) note.unread = unread;
    array.add(conversation.json, unread && note);
  }
  if (conversation.places.length === 0) throw invalid("messages", "at least one message with content is required");
  return { conversation, inputJson: array.write(instructions) };
}

function readTools(
  { tools, mcp_servers: servers, tool_choice: choice, container }: MessagesBody,
  { found }: Conversation,
  body: Buffer,
  arrays: RepeatedArrays,
  onUnsent: OnFieldNotSent,
): TurnTools {
  const input = {
    tools: tools ?? [],
    servers: servers ?? [],
    chosen: choice?.name,
    container: (typeof container === "object" ? container?.id : container) ?? undefined,
    found,
  };
  return new TurnTools(input, body, arrays, onUnsent);
}

/** The output format of a turn. Its schema is named `answer`, because the Messages format gives it no name. */
function toTextFormat({ output_config: config, output_format: older }: MessagesBody, spans: Spans): Uint8Array {
  const schema = config?.format
    ? spans.text("output_config", "format", "schema")
    : older
      ? spans.text("output_format", "schema")
      : undefined;
  if (schema === undefined) return none;
  return Buffer.from(`{"type":"json_schema","name":"answer","strict":true,"schema":${schema}}`);
}

const codeOutputs = "code_interpreter_call.outputs";

/** Additional output that the turn must request, since answers in the Messages format always contain it. */
function includes({ texts }: TurnTools): string[] {
  const include = ["reasoning.encrypted_content"];
  if (texts.some((tool) => tool.startsWith('{"type":"web_search"'))) include.push("web_search_call.action.sources");
  if (texts.some((tool) => tool.startsWith('{"type":"code_interpreter"'))) include.push(codeOutputs);
  return include;
}
