/** Responses input as a prompt of the interface. */
import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { type JsonObject, objects, text } from "../json.ts";
import { type Speech, type ToldCall, tellInput } from "../teller.ts";
import type { Words } from "../words.ts";
import { type UserPart, sdkPart } from "./parts.ts";

export function promptOf(request: TurnRequest, words: Words): LanguageModelV4Prompt {
  const speech = new SdkSpeech(words);
  const { instructions = "" } = request;
  if (instructions !== "") speech.messages.push({ role: "system", content: instructions });
  tellInput(request.input, words, speech);
  speech.settle();
  return speech.messages;
}

interface Said {
  readonly role: "assistant";
  readonly content: (LanguageModelV4TextPart | LanguageModelV4ToolCallPart)[];
}

interface Results {
  readonly role: "tool";
  readonly content: LanguageModelV4ToolResultPart[];
}

class SdkSpeech implements Speech {
  readonly #words: Words;
  readonly messages: LanguageModelV4Message[] = [];
  /** Where each call was made, and under which name. */
  readonly #calls = new Map<unknown, { readonly name: string; readonly said: Said }>();
  readonly #results = new Map<Said, Results>();
  /** Images and files out of tool outputs: most packages take text there only, so they follow as the user's. */
  #shown: UserPart[] = [];

  constructor(words: Words) {
    this.#words = words;
  }

  /** What the system says before anybody else stays the system's; later on many packages take it from the user only. */
  ask(item: InputItem, path: string): void {
    const parts = this.#content(item.content, `${path}.content`);
    const first = this.messages.every(({ role }) => role === "system");
    const words = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    if (item.role !== "user" && first && words.length === parts.length) {
      return void (words.length > 0 && this.messages.push({ role: "system", content: words.join("\n") }));
    }
    if (item.role !== "user") {
      this.#words.lose(`${path}.role`, "sent as the user's: the system speaks in the beginning only");
    }
    this.#ask(parts);
  }

  say(item: InputItem, path: string): void {
    const parts = this.#content(item.content, `${path}.content`).filter((part) => part.type === "text");
    if (parts.length > 0) this.#said().content.push(...parts);
  }

  call({ callId, name, argumentsJson }: ToldCall): void {
    const said = this.#said();
    this.#calls.set(callId, { name, said });
    said.content.push({ type: "tool-call", toolCallId: text(callId), toolName: name, input: inputOf(argumentsJson) });
  }

  answer(callId: unknown, output: unknown, path: string): void {
    const call = this.#calls.get(callId);
    if (!call) return;
    const parts = this.#content(output, path);
    const words = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    this.#shown.push(...parts.filter((part) => part.type === "file"));
    this.#resultsOf(call.said).content.push({
      type: "tool-result",
      toolCallId: text(callId),
      toolName: call.name,
      output: { type: "text", value: words.join("\n") },
    });
  }

  /** Each package seals it in a way of its own. */
  think(_item: InputItem, path: string): void {
    this.#words.lose(path, "the interface takes no reasoning back");
  }

  forward(head: string, content: unknown, path: string): void {
    this.#ask([{ type: "text", text: head }, ...this.#content(content, path)]);
  }

  /** What tools have shown comes before what is said next. */
  settle(): void {
    const shown = this.#shown;
    this.#shown = [];
    if (shown.length > 0) this.messages.push({ role: "user", content: shown });
  }

  #ask(parts: readonly UserPart[]): void {
    this.settle();
    if (parts.length > 0) this.messages.push({ role: "user", content: [...parts] });
  }

  #said(): Said {
    this.settle();
    const last = this.messages.at(-1);
    if (last?.role === "assistant") return last as Said;
    const said: Said = { role: "assistant", content: [] };
    this.messages.push(said);
    return said;
  }

  /** Results stand right after the calls, whatever was said in the meantime. */
  #resultsOf(said: Said): Results {
    const known = this.#results.get(said);
    if (known) return known;
    const results: Results = { role: "tool", content: [] };
    this.#results.set(said, results);
    this.messages.splice(this.messages.indexOf(said) + 1, 0, results);
    return results;
  }

  #content(content: unknown, path: string): UserPart[] {
    if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
    const parts = objects(content).map((part, index) => sdkPart(part, `${path}.${index}`, this.#words));
    return parts.filter((part) => part.type !== "text" || part.text !== "");
  }
}

/** What a model did not finish is no JSON: it stays the text that it is. */
function inputOf(json: string): unknown {
  try {
    return JSON.parse(json === "" ? "{}" : json);
  } catch {
    return { arguments: json } satisfies JsonObject;
  }
}
