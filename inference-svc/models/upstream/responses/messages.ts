/**
 * Converts input items for servers with the Responses API: as the client sent them, without fields that only Sluice
 * reads. Fields the provider cannot read are reported as dropped.
 */
import { brokenSeal, hasBrokenSeal } from "../../../turn/parse/broken-seals.ts";
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import { boundedId } from "../translate/bounded-id.ts";
import { hasParticipantName, objectArguments, repairedArguments, repairedEscapes } from "../translate/conversation.ts";
import {
  type Opening,
  isPrompt,
  joinPromptTexts,
  openingOf,
  reportJoined,
  reportQuestion,
  takesPromptsAnywhere,
} from "../translate/first-prompts.ts";
import { repairEscapes } from "../translate/lone-escapes.ts";
import { isBlankThought } from "../translate/blank-thoughts.ts";
import { openReasoning } from "../translate/reasoning-seal.ts";
import { JoinedResults, joinedResult } from "../translate/repeated-results.ts";
import { findCacheMark } from "../translate/special-inputs.ts";
import { nameFoundTools, toText } from "../translate/tool-history.ts";
import { runsNatively } from "./native-tools.ts";
import { spellItemType } from "./spelling.ts";
import { ToolNames } from "./tool-names.ts";
import { isVendor } from "./vendor.ts";

export interface SentInput {
  readonly instructions: string | undefined;
  readonly items: readonly JsonObject[];
}

export function sentInput(request: TurnRequest, target: Target, onDropped: OnDropped): SentInput {
  const { input } = request;
  const sending: Sending = { request, target, onDropped, names: ToolNames.of(request) };
  const opening = openingOf(request, !isVendor(target) && !takesPromptsAnywhere(target));
  const { instructions, items } = openInput(request, opening, onDropped);
  const results = new JoinedResults(input);
  for (let index = opening.joins ? opening.prompts : 0; index < input.length; index++) {
    const path = `input.${index}`;
    const item = results.itemAt(index);
    if (item === undefined) {
      onDropped(path, joinedResult);
      continue;
    }
    const isUsers = index >= opening.prompts && isPrompt(item);
    if (isUsers) onDropped(`${path}.role`, opening.reason);
    const sent = sentItem(isUsers ? { ...item, role: "user" } : item, path, sending);
    if (sent) items.push(sent);
  }
  return { instructions, items };
}

interface OpenedInput {
  readonly instructions: string | undefined;
  readonly items: JsonObject[];
}

/** The instructions, and the items that come before those of the client. */
function openInput({ instructions, input }: TurnRequest, opening: Opening, onDropped: OnDropped): OpenedInput {
  if (opening.asksInstructions) {
    reportQuestion("instructions", onDropped);
    return { instructions: undefined, items: [{ type: "message", role: "user", content: instructions }] };
  }
  if (!opening.joins) return { instructions, items: [] };
  const texts = instructions === undefined ? [] : [instructions];
  for (const [index, item] of input.slice(0, opening.prompts).entries()) {
    reportJoinedPrompt(item, `input.${index}`, texts.length > 0, onDropped);
    if (typeof item.content === "string") texts.push(item.content);
    else texts.push(...objects(item.content).map((part) => text(part.text)));
  }
  return { instructions: joinPromptTexts(texts), items: [] };
}

/** Reports what a prompt loses when it is joined to the instructions. */
function reportJoinedPrompt(item: InputItem, path: string, isLater: boolean, onDropped: OnDropped): void {
  if (isLater) reportJoined(path, onDropped);
  if (hasParticipantName(item)) onDropped(`${path}.name`, "the format has no field for it");
  for (const [index, part] of objects(item.content).entries()) {
    const mark = findCacheMark(part);
    if (mark !== undefined) onDropped(`${path}.content.${index}.${mark}`, "instructions have no cache marks");
  }
}

interface Sending {
  readonly request: TurnRequest;
  readonly target: Target;
  readonly onDropped: OnDropped;
  readonly names: ToolNames;
}

/** The item to send. @returns undefined for an item left out */
function sentItem(item: InputItem, path: string, sending: Sending): JsonObject | undefined {
  const { request, target, onDropped, names } = sending;
  // The item referenced is sent where it stands, and the API refuses two items with one id.
  if (item.type === "item_reference") return undefined;
  if (item.type === "reasoning") {
    if (isBlankThought(item)) return undefined;
    const sent = reasoning(openReasoning(item), path, target, onDropped);
    return sent && isVendor(target) ? withOwnId(sent, path, onDropped) : sent;
  }
  if (item.type.includes(":")) return ofServerTool(item, request, target);
  const named = names.sentItem(withoutName(withoutOwn(item, path, sending), path, onDropped), path, onDropped);
  return isVendor(target)
    ? withCallId(withOwnId(forVendor(named, path, onDropped), path, onDropped))
    : withObject(named, path, onDropped);
}

/** Repairs arguments of a call. OpenAI takes any text; other servers parse it as an object. */
function withObject(item: JsonObject, path: string, onDropped: OnDropped): JsonObject {
  if (item.type !== "function_call") return item;
  const given = text(item.arguments);
  const json = repairEscapes(given);
  const sent = objectArguments(json);
  if (sent === given) return item;
  onDropped(`${path}.arguments`, sent === json ? repairedEscapes : repairedArguments);
  return { ...item, arguments: sent };
}

/** Maximum characters of a call id: OpenAI answers 400 to longer ones ("Expected a string with maximum length 64"). */
const vendorIdLength = 64;

/** Converts a call id of another provider to OpenAI's form. */
function withCallId(item: JsonObject): JsonObject {
  const { call_id: callId } = item;
  const sentId = boundedId(callId, vendorIdLength);
  return sentId === callId ? item : { ...item, call_id: sentId };
}

/** Prefixes of OpenAI's item ids, by the type of the item; it answers 400 to other ids ("Expected an ID that begins with 'msg'"). */
const idPrefixes: Readonly<Record<string, string>> = {
  message: "msg_",
  reasoning: "rs_",
  function_call: "fc_",
  custom_tool_call: "ctc_",
};

/** Leaves out the id of another provider: it is of no use, because the provider stores nothing. */
function withOwnId(item: JsonObject, path: string, onDropped: OnDropped): JsonObject {
  const prefix = idPrefixes[text(item.type)];
  if (prefix === undefined || typeof item.id !== "string" || item.id.startsWith(prefix)) return item;
  onDropped(`${path}.id`, `repaired: sent without it, because the provider only takes ids that begin with ${prefix}`);
  const { id: _, ...sent } = item;
  return sent;
}

/** Types of items that have no status in the format; clients send back the status Sluice has set. */
const noStatus: ReadonlySet<string> = new Set(["mcp_list_tools", "mcp_approval_request", "compaction"]);

/** Removes the fields that only Sluice writes and reads. */
function withoutOwn(item: InputItem, path: string, sending: Sending): JsonObject {
  if (Array.isArray(item.output)) return withoutReferences(item, path, sending);
  if (item.type === "message" && item.model !== undefined) {
    const { model: _, ...message } = item;
    return message;
  }
  if (!noStatus.has(item.type) || item.status === undefined) return item;
  const { status: _, ...sent } = item;
  return sent;
}

/** Replaces references to tools by texts with their names, because the format has no references. */
function withoutReferences(item: InputItem, path: string, { names, onDropped }: Sending): JsonObject {
  const named = nameFoundTools(item.output, {
    sentName: (name) => names.sent(name),
    onWords: (place, reason) => onDropped(`${path}.output.${place}`, reason),
  });
  const output = objects(named);
  if (!output.some((part) => part.tool_reference !== undefined)) return item;
  return { ...item, output: output.map((part) => ({ ...part, tool_reference: undefined })) };
}

/** Removes the name of a message's author, because the format has none. */
function withoutName(item: JsonObject, path: string, onDropped: OnDropped): JsonObject {
  if (item.type !== "message" || item.name === undefined) return item;
  const { name, ...sent } = item;
  if (name !== null) onDropped(`${path}.name`, "the format has no field for it");
  return sent;
}

/** Reasoning to send back. Encrypted reasoning is sent only to the provider that encrypted it, because others answer 400. */
function reasoning(item: InputItem, path: string, target: Target, onDropped: OnDropped): JsonObject | undefined {
  if (hasBrokenSeal(item)) {
    onDropped(path, brokenSeal);
    return undefined;
  }
  const { reasoningFormat } = target;
  const { type, id, summary, content, encrypted_content } = item;
  const format = item.format ?? undefined;
  if (format !== undefined && format !== (reasoningFormat ?? "unknown")) {
    onDropped(path, `the provider reads reasoning of format ${reasoningFormat ?? "unknown"} only`);
    return undefined;
  }
  const sealed = text(encrypted_content) !== "";
  // Servers of open models read reasoning text; vendors that encrypt reasoning never take its text back.
  const open = reasoningFormat === undefined && !target.original && Array.isArray(content) && content.length > 0;
  if (!open && !sealed) {
    onDropped(path, "the provider reads reasoning only with its encrypted_content");
    return undefined;
  }
  return {
    type,
    id,
    // OpenAI has answered 400 to the status; others send it with their reasoning, and take it back.
    status: isVendor(target) ? undefined : (item.status ?? undefined),
    summary: summary ?? [],
    content: open ? content : undefined,
    encrypted_content: sealed ? encrypted_content : undefined,
  };
}

/** The item of a provider's tool. It keeps the provider's name for the tool; for a provider without the tool it becomes a message. */
function ofServerTool(item: InputItem, request: TurnRequest, target: Target): JsonObject {
  const type = spellItemType(item.type, request.tools);
  if (runsNatively(target, item.type) || runsNatively(target, type)) return { ...item, type };
  return { type: "message", role: "assistant", content: toText(item) ?? "" };
}

/** Fields of calls in Sluice's API that OpenAI's format lacks. */
const ofCalls = ["async", "subagent_id", "subagent_items", "cache_control"];

function forVendor(item: JsonObject, path: string, onDropped: OnDropped): JsonObject {
  if (item.type === "function_call" || item.type === "custom_tool_call") {
    return without(item, ofCalls, path, onDropped);
  }
  const field = Array.isArray(item.content) ? "content" : "output";
  const parts = item[field];
  if (!Array.isArray(parts) || !parts.some((part) => isObject(part) && part.cache_control !== undefined)) return item;
  return {
    ...item,
    [field]: parts.map((part: unknown, index) =>
      isObject(part) ? without(part, ["cache_control"], `${path}.${field}.${index}`, onDropped) : part,
    ),
  };
}

function without(object: JsonObject, names: readonly string[], path: string, onDropped: OnDropped): JsonObject {
  const present = names.filter((name) => object[name] !== undefined);
  if (present.length === 0) return object;
  for (const name of present) onDropped(`${path}.${name}`, "the provider does not know it");
  return Object.fromEntries(Object.entries(object).filter(([name]) => !present.includes(name)));
}
