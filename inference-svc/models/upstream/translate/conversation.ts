/**
 * Walks through the items of an input, for formats made of messages, functions and function outputs. Items of every
 * kind are written by the dialect, reported as dropped, or were refused before.
 */
import { brokenSeal, hasBrokenSeal } from "../../../turn/parse/broken-seals.ts";
import type { InputItem } from "../../../turn/request.ts";
import { dropReason, nameFoundTools, toFunctionCall, toFunctionOutput, toText } from "./tool-history.ts";
import { type JsonObject, Verbatim, isObject, objects, text } from "../json.ts";
import type { TranslationContext } from "./context.ts";
import { isBlankThought } from "./blank-thoughts.ts";
import { repairEscapes } from "./lone-escapes.ts";
import { openReasoning } from "./reasoning-seal.ts";
import { JoinedResults, joinedResult } from "./repeated-results.ts";

/** The dialect's part of the translation. `path` is always the path in the request of the argument in front of it. */
export interface ConversationWriter {
  /** Whether messages to the model can contain the name of a participant. */
  readonly takesNames: boolean;
  /** Whether the output of a call can mark a failure of the tool. */
  readonly takesFailures: boolean;
  /** Whether a call can have a cache mark. */
  readonly takesCallMarks: boolean;
  /** Whether the format has a reference for the tool this output text names. */
  refersTo?(part: JsonObject): boolean;
  /** Called before the item with this index is written. */
  begin?(index: number): void;
  /** Adds a message of the role system, developer or user. */
  addPrompt(item: InputItem, path: string): void;
  /** Adds a message of the assistant. */
  addAnswer(item: InputItem, path: string): void;
  addReasoning(item: InputItem, path: string): void;
  /** Adds reasoning without text in front of a call, if the format has a form for it. */
  addBlankThought?(path: string): void;
  addCall(call: WrittenCall): void;
  /**
   * Adds the output of a call. @param output a text, or parts as in a message
   * @param failed whether the client reports that the tool failed
   */
  addCallOutput(callId: unknown, output: unknown, path: string, failed?: boolean): void;
  /** Adds a call the provider ran. @returns whether the format has a form for it */
  addServerCall?(item: InputItem, path: string): boolean;
  /**
   * Adds a message from one agent to another.
   * @param head text for the model that names the author and the recipient
   */
  addAgentMessage(head: string, content: unknown, path: string): void;
}

export interface WrittenCall {
  readonly callId: unknown;
  /** Name of the tool in the request. */
  readonly name: string;
  /** Arguments as the model wrote them, which may be invalid JSON. For a custom tool, an object with its input. */
  readonly argumentsJson: string;
  /** Input of a custom tool. */
  readonly input?: unknown;
  /** Cache mark of the call, for a writer that can put marks on calls. */
  readonly mark?: { readonly control: JsonObject; readonly path: string };
}

/** Arguments for formats that take them as an object. A valid object stays as it was written; unfinished or other JSON is wrapped in one. */
export function parseArguments(json: string): Verbatim | JsonObject {
  try {
    return isObject(JSON.parse(json)) ? new Verbatim(repairEscapes(json)) : { arguments: json };
  } catch {
    return json.trim() === "" ? {} : { arguments: json };
  }
}

/**
 * Arguments for servers that parse those of earlier calls, and answer 400 or 500 to anything but an object.
 * @returns the arguments unchanged, unless they must be repaired
 */
export function objectArguments(json: string): string {
  const fitted = parseArguments(json);
  return fitted instanceof Verbatim ? fitted.json : JSON.stringify(fitted);
}

/** Reason in the receipt for arguments that `objectArguments` has changed. */
export const repairedArguments = "repaired: sent as an object, because most servers take no other arguments";

/** The reason in the receipt for escapes changed by `repairEscapes`. */
export const repairedEscapes =
  "repaired: sent with U+FFFD for half a surrogate pair, because most JSON parsers refuse it";

/** Writes the items. @param from index of the first item to write */
export function translateInput(
  input: readonly InputItem[],
  translation: TranslationContext,
  writer: ConversationWriter,
  from = 0,
): void {
  const translator = new InputTranslator(translation, writer);
  const results = new JoinedResults(input);
  for (let index = from; index < input.length; index++) {
    writer.begin?.(index);
    const item = results.itemAt(index);
    if (item === undefined) translation.onDropped(`input.${index}`, joinedResult);
    else translator.translate(item, `input.${index}`);
  }
}

const subagentFields = ["subagent_id", "subagent_items"];
const noField = "the format has no field for it";

class InputTranslator {
  readonly #translation: TranslationContext;
  readonly #writer: ConversationWriter;
  /** Call ids by item id: the output of a local shell may name the item of its call instead of the call id. */
  #callIds: Map<unknown, unknown> | undefined;

  constructor(translation: TranslationContext, writer: ConversationWriter) {
    this.#translation = translation;
    this.#writer = writer;
  }

  translate(item: InputItem, path: string): void {
    switch (item.type) {
      case "message":
        if (item.role === "assistant") return this.#addAssistantItem(item, path);
        if (hasParticipantName(item) && !this.#writer.takesNames) this.#translation.onDropped(`${path}.name`, noField);
        return this.#writer.addPrompt(item, path);
      case "function_call":
      case "custom_tool_call":
        return this.#called(item, path);
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#answered(item, path);
      case "reasoning":
        if (isBlankThought(item)) return this.#writer.addBlankThought?.(path);
        if (hasBrokenSeal(item)) return this.#translation.onDropped(path, brokenSeal);
        return this.#writer.addReasoning(openReasoning(item), path);
      case "agent_message":
        return this.#forwarded(item, path);
      case "additional_tools":
      case "tool_search_output":
        return this.#translation.onDropped(path, "its tools are sent with the others");
      case "configuration_update":
        // The item is read together with the request's settings.
        return;
      case "item_reference":
        // The item referenced is translated where it stands; a second copy would repeat a call id.
        return;
      default:
        return this.#hosted(item, path);
    }
  }

  #addAssistantItem(item: InputItem, path: string): void {
    const { onDropped } = this.#translation;
    if (hasParticipantName(item)) onDropped(`${path}.name`, noField);
    if (item.phase !== undefined && item.phase !== null) onDropped(`${path}.phase`, noField);
    const parts = objects(item.content);
    for (let index = 0; index < parts.length; index++) {
      if (objects(parts[index]?.annotations).length === 0) continue;
      onDropped(`${path}.content.${index}.annotations`, "the format takes no annotations back");
    }
    this.#writer.addAnswer(item, path);
  }

  #called(item: InputItem, path: string): void {
    const { tools, onDropped } = this.#translation;
    if (item.async === true) onDropped(`${path}.async`, "the format has no asynchronous calls");
    for (const field of subagentFields) {
      if (item[field] !== undefined && item[field] !== null) onDropped(`${path}.${field}`, noField);
    }
    const callId = item.call_id;
    const name = tools.sentName(text(item.name), text(item.namespace) || undefined, `${path}.name`, onDropped);
    if (item.type === "function_call") {
      const mark = this.#markOf(item, path);
      const given = text(item.arguments);
      const argumentsJson = repairEscapes(given);
      if (argumentsJson !== given) onDropped(`${path}.arguments`, repairedEscapes);
      return this.#writer.addCall({ callId, name, argumentsJson, ...mark });
    }
    const { input } = item;
    this.#writer.addCall({ callId, name, argumentsJson: JSON.stringify({ input }), input });
  }

  #markOf({ cache_control: control }: InputItem, path: string): Pick<WrittenCall, "mark"> {
    if (!isObject(control)) return {};
    if (this.#writer.takesCallMarks) return { mark: { control, path } };
    this.#translation.onDropped(`${path}.cache_control`, "the format has no cache marks on calls");
    return {};
  }

  #answered({ call_id: callId, output, status }: InputItem, path: string): void {
    const failed = status === "incomplete";
    if (failed && !this.#writer.takesFailures) this.#translation.onDropped(`${path}.status`, noField);
    const { tools, onDropped } = this.#translation;
    const named = nameFoundTools(output, {
      sentName: (name) => tools.findByOwnName(name)?.sentName ?? name,
      refers: (part) => this.#writer.refersTo?.(part) === true,
      onWords: (place, reason) => onDropped(`${path}.output.${place}`, reason),
    });
    this.#writer.addCallOutput(callId, named, `${path}.output`, failed);
  }

  #forwarded(item: InputItem, path: string): void {
    const head = `Message from ${text(item.author)} to ${text(item.recipient)}:`;
    this.#writer.addAgentMessage(head, item.content, `${path}.content`);
  }

  #hosted(item: InputItem, path: string): void {
    if (this.#writer.addServerCall?.(item, path)) return;
    const call = toFunctionCall(item);
    if (call) {
      (this.#callIds ??= new Map()).set(item.id, call.callId);
      const { tools, onDropped } = this.#translation;
      this.#writer.addCall({ ...call, name: tools.sentName(call.name, undefined, `${path}.name`, onDropped) });
    }
    const answer = toFunctionOutput(item);
    if (answer) {
      const callId = this.#callIds?.get(answer.callId) ?? answer.callId;
      this.#writer.addCallOutput(callId, answer.output, `${path}.output`);
    }
    if (!call && !answer) this.#described(item, path);
  }

  /** Writes a message that describes an item for which the format has no form. */
  #described(item: InputItem, path: string): void {
    const content = toText(item);
    if (content === undefined) return this.#translation.onDropped(path, dropReason(item.type));
    if (item.type === "image_generation_call" && text(item.result) !== "") {
      this.#translation.onDropped(`${path}.result`, "the format takes no generated images back");
    }
    if (item.type === "mcp_approval_response") this.#writer.addPrompt({ type: "message", role: "user", content }, path);
    else this.#writer.addAnswer({ type: "message", role: "assistant", content }, path);
  }
}

/** Whether a message names its participant. */
export const hasParticipantName = ({ name }: InputItem): boolean => name !== undefined && name !== null;
