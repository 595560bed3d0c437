/**
 * Tells the items of an input, one after the other, to formats that know messages, functions and what functions answer: every kind of item
 * is told, declared lost, or was refused before. A dialect brings the words.
 */
import type { InputItem } from "../turn/request.ts";
import { hostedCall, hostedOutput, lossOf } from "./history.ts";
import { type JsonObject, Verbatim, isObject, objects, text } from "./json.ts";
import type { Words } from "./words.ts";

/** What a dialect makes of the items. A `path` is that of what stands beside it, as in the request. */
export interface Speech {
  /** A message of the system, a developer or the user. */
  ask(item: InputItem, path: string): void;
  /** A message of the assistant. */
  say(item: InputItem, path: string): void;
  think(item: InputItem, path: string): void;
  call(call: ToldCall): void;
  /** @param output a string, or parts as in a message */
  answer(callId: unknown, output: unknown, path: string): void;
  /**
   * From one agent to another.
   * @param head tells the model who speaks to whom
   */
  forward(head: string, content: unknown, path: string): void;
}

export interface ToldCall {
  readonly callId: unknown;
  /** As the tool is or was sent. */
  readonly name: string;
  /** As the model wrote them: they may be no JSON. Of a custom tool, an object that holds its input. */
  readonly argumentsJson: string;
  /** Of a custom tool. */
  readonly input?: unknown;
}

/** Arguments for formats that want an object: as it was written; what a model did not finish cannot be one. */
export function argumentsOf(json: string): Verbatim | JsonObject {
  try {
    return isObject(JSON.parse(json)) ? new Verbatim(json) : { arguments: json };
  } catch {
    return json.trim() === "" ? {} : { arguments: json };
  }
}

export function tellInput(input: readonly InputItem[], words: Words, speech: Speech): void {
  const teller = new Teller(words, speech);
  for (const [index, item] of input.entries()) teller.tell(item, `input.${index}`);
}

const wordless = "the format has no words for it";

class Teller {
  readonly #words: Words;
  readonly #speech: Speech;
  /** Outputs of a local shell may name the id of their call's item. */
  readonly #callIds = new Map<unknown, unknown>();

  constructor(words: Words, speech: Speech) {
    this.#words = words;
    this.#speech = speech;
  }

  tell(item: InputItem, path: string): void {
    switch (item.type) {
      case "message":
        return item.role === "assistant" ? this.#said(item, path) : this.#speech.ask(item, path);
      case "function_call":
      case "custom_tool_call":
        return this.#called(item, path);
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#speech.answer(item.call_id, item.output, `${path}.output`);
      case "reasoning":
        return this.#speech.think(item, path);
      case "agent_message":
        return this.#forwarded(item, path);
      case "additional_tools":
      case "tool_search_output":
        return this.#words.lose(path, "its tools are there from the beginning");
      case "configuration_update":
        // Read with the settings.
        return;
      case "item_reference":
        // What it names is told where it stands: twice, it would be a second call of the same id.
        return;
      default:
        return this.#hosted(item, path);
    }
  }

  #said(item: InputItem, path: string): void {
    const { lose } = this.#words;
    if (item.phase !== undefined && item.phase !== null) lose(`${path}.phase`, wordless);
    for (const [index, part] of objects(item.content).entries()) {
      const cited = objects(part.annotations).length > 0;
      if (cited) lose(`${path}.content.${index}.annotations`, "the format takes no annotations back");
    }
    this.#speech.say(item, path);
  }

  #called(item: InputItem, path: string): void {
    const { tools, lose } = this.#words;
    if (item.async === true) lose(`${path}.async`, "calls are answered in their turn");
    for (const field of ["subagent_id", "subagent_items"]) {
      if (item[field] !== undefined && item[field] !== null) lose(`${path}.${field}`, wordless);
    }
    const callId = item.call_id;
    const name = tools.sentName(text(item.name), text(item.namespace) || undefined);
    if (item.type === "function_call") {
      return this.#speech.call({ callId, name, argumentsJson: text(item.arguments) });
    }
    const { input } = item;
    this.#speech.call({ callId, name, argumentsJson: JSON.stringify({ input }), input });
  }

  #forwarded(item: InputItem, path: string): void {
    const head = `Message from ${text(item.author)} to ${text(item.recipient)}:`;
    this.#speech.forward(head, item.content, `${path}.content`);
  }

  #hosted(item: InputItem, path: string): void {
    const call = hostedCall(item);
    if (call) {
      this.#callIds.set(item.id, call.callId);
      this.#speech.call(call);
    }
    const answer = hostedOutput(item);
    if (answer) {
      const callId = this.#callIds.get(answer.callId) ?? answer.callId;
      this.#speech.answer(callId, answer.output, `${path}.output`);
    }
    if (!call && !answer) this.#words.lose(path, lossOf(item.type));
  }
}
