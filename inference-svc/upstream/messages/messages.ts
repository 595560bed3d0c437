/** Responses input as a system prompt and messages: every kind of item is told, declared lost, or was refused before. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { hostedCall, hostedOutput, lossOf } from "../history.ts";
import { type JsonObject, Verbatim, isObject, objects, text } from "../json.ts";
import type { Words } from "../words.ts";
import { callIdOf } from "./call-id.ts";
import type { CacheMarks } from "./cache-marks.ts";
import { messagesPart } from "./parts.ts";
import { thoughtBlock } from "./thoughts.ts";
import { type Block, type Message, Thread, textBlock } from "./thread.ts";

export interface Conversation {
  readonly system: Block[];
  readonly messages: readonly Message[];
}

export function conversation(request: TurnRequest, words: Words, marks: CacheMarks): Conversation {
  const teller = new Teller(words, marks);
  const { instructions = "" } = request;
  if (instructions.trim() !== "") teller.system.push(textBlock(instructions));
  for (const [index, item] of request.input.entries()) teller.tell(item, `input.${index}`);
  const messages = teller.thread.finish();
  // There has to be something to answer.
  const prompt = messages.length === 0 ? teller.system.pop() : undefined;
  return { system: teller.system, messages: prompt ? [{ role: "user", content: [prompt] }] : messages };
}

class Teller {
  readonly #words: Words;
  readonly #marks: CacheMarks;
  readonly system: Block[] = [];
  readonly thread: Thread;
  /** Outputs of a local shell may name the id of their call's item. */
  readonly #callIds = new Map<unknown, unknown>();

  constructor(words: Words, marks: CacheMarks) {
    this.#words = words;
    this.#marks = marks;
    this.thread = new Thread(words.lose);
  }

  tell(item: InputItem, path: string): void {
    switch (item.type) {
      case "message":
        return item.role === "assistant" ? this.#said(item, path) : this.#asked(item, path);
      case "function_call":
      case "custom_tool_call":
        return this.#call(item, path);
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#answered(item.call_id, item.output, path);
      case "reasoning":
        return this.#thought(item, path);
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

  /** What the system says before anybody else is the prompt; later on only the user can speak. */
  #asked(item: InputItem, path: string): void {
    const blocks = this.#content(item.content, `${path}.content`);
    if (item.role === "user") return this.thread.ask(blocks);
    if (this.thread.messages.length === 0 && blocks.every(({ type }) => type === "text")) {
      return void this.system.push(...blocks);
    }
    this.#words.lose(`${path}.role`, "sent as the user's: the system speaks in the beginning only");
    this.thread.ask(blocks);
  }

  #said(item: InputItem, path: string): void {
    const { lose } = this.#words;
    if (item.phase !== undefined && item.phase !== null) lose(`${path}.phase`, "the format has no words for it");
    for (const [index, part] of objects(item.content).entries()) {
      const cited = objects(part.annotations).length > 0;
      if (cited) lose(`${path}.content.${index}.annotations`, "the format takes no annotations back");
    }
    this.thread.say(this.#content(item.content, `${path}.content`));
  }

  #call(item: InputItem, path: string): void {
    const { tools, lose } = this.#words;
    if (item.async === true) lose(`${path}.async`, "calls are answered in their turn");
    for (const field of ["subagent_id", "subagent_items"]) {
      if (item[field] !== undefined && item[field] !== null) lose(`${path}.${field}`, "the format has no words for it");
    }
    const name = tools.sentName(text(item.name), text(item.namespace) || undefined);
    const input = item.type === "function_call" ? inputOf(text(item.arguments)) : { input: item.input };
    this.thread.say([toolUse(item.call_id, name, input)]);
  }

  #answered(callId: unknown, output: unknown, path: string): void {
    const content = this.#content(output, `${path}.output`);
    this.thread.answer({ tool_use_id: callIdOf(callId), ...(content.length > 0 && { content }) });
  }

  #thought(item: InputItem, path: string): void {
    const block = thoughtBlock(item);
    if (block) this.thread.think({ path, block });
    else this.#words.lose(path, "the provider reads only reasoning that its own family has signed");
  }

  /** From one agent to another: the model is told who speaks to whom. */
  #forwarded(item: InputItem, path: string): void {
    const head = textBlock(`Message from ${text(item.author)} to ${text(item.recipient)}:`);
    this.thread.ask([head, ...this.#content(item.content, `${path}.content`)]);
  }

  #hosted(item: InputItem, path: string): void {
    const call = hostedCall(item);
    if (call) {
      this.#callIds.set(item.id, call.callId);
      this.thread.say([toolUse(call.callId, call.name, inputOf(call.argumentsJson))]);
    }
    const answer = hostedOutput(item);
    if (answer) this.#answered(this.#callIds.get(answer.callId) ?? answer.callId, answer.output, path);
    if (!call && !answer) this.#words.lose(path, lossOf(item.type));
  }

  /** Blank texts are a 400 there. */
  #content(content: unknown, path: string): Block[] {
    if (typeof content === "string") return content.trim() === "" ? [] : [textBlock(content)];
    const blocks: Block[] = [];
    for (const [index, part] of objects(content).entries()) {
      const block = messagesPart(part, `${path}.${index}`, this.#words);
      if (block.type === "text" && text(block.text).trim() === "") continue;
      blocks.push(block);
      if (isObject(part.cache_control) || isObject(part.prompt_cache_breakpoint)) {
        this.#marks.copy(part, block, `${path}.${index}`);
      }
    }
    return blocks;
  }
}

const toolUse = (callId: unknown, name: string, input: unknown): Block => ({
  type: "tool_use",
  id: callIdOf(callId),
  name,
  input,
});

/** An object, as it was written; what a model did not finish cannot be one. */
function inputOf(json: string): Verbatim | JsonObject {
  try {
    return isObject(JSON.parse(json)) ? new Verbatim(json) : { arguments: json };
  } catch {
    return json.trim() === "" ? {} : { arguments: json };
  }
}
