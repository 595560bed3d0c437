/** Responses input as a system instruction and contents. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { type JsonObject, objects, text } from "../json.ts";
import { type Speech, type ToldCall, argumentsOf, tellInput } from "../teller.ts";
import type { Words } from "../words.ts";
import { geminiPart, isText } from "./parts.ts";
import { signCalls, signatureOf, thoughtFormat } from "./thoughts.ts";
import { type Content, Thread } from "./thread.ts";

export interface Conversation {
  readonly system: readonly JsonObject[];
  readonly contents: readonly Content[];
}

export function conversation(request: TurnRequest, words: Words): Conversation {
  const speech = new GeminiSpeech(words);
  const { instructions = "" } = request;
  if (instructions !== "") speech.system.push({ text: instructions });
  tellInput(request.input, words, speech);
  const contents = signCalls(speech.thread.finish(), words.target);
  // There has to be something to answer.
  const prompt = contents.length === 0 ? speech.system.pop() : undefined;
  return { system: speech.system, contents: prompt ? [{ role: "user", parts: [prompt] }] : contents };
}

class GeminiSpeech implements Speech {
  readonly #words: Words;
  readonly system: JsonObject[] = [];
  readonly thread: Thread;

  constructor(words: Words) {
    this.#words = words;
    this.thread = new Thread(words.lose);
  }

  /** What the system says before anybody else is its instruction; later on only the user can speak. */
  ask(item: InputItem, path: string): void {
    const parts = this.#content(item.content, `${path}.content`);
    if (item.role === "user") return this.thread.ask(parts);
    if (this.thread.contents.length === 0 && parts.every(isText)) return void this.system.push(...parts);
    this.#words.lose(`${path}.role`, "sent as the user's: the system speaks in the beginning only");
    this.thread.ask(parts);
  }

  say(item: InputItem, path: string): void {
    this.thread.say(this.#content(item.content, `${path}.content`));
  }

  call({ callId, name, argumentsJson }: ToldCall): void {
    this.thread.call(callId, name, { functionCall: { id: callId, name, args: argumentsOf(argumentsJson) } });
  }

  /** The provider calls what a function gave its "output". */
  answer(callId: unknown, output: unknown, path: string): void {
    const parts = this.#content(output, path);
    const said = parts.filter(isText).map((part) => text(part.text));
    const shown = parts.filter((part) => !isText(part));
    this.thread.answer(callId, { output: said.join("\n") }, shown);
  }

  /** What the family has told of its thought without signing it is for people: the provider does not ask for it. */
  think(item: InputItem, path: string): void {
    const value = signatureOf(item);
    if (value !== "") this.thread.sign({ path, value });
    else if (item.format !== thoughtFormat) {
      this.#words.lose(path, "the provider reads only reasoning of its own family");
    }
  }

  forward(head: string, content: unknown, path: string): void {
    this.thread.ask([{ text: head }, ...this.#content(content, path)]);
  }

  /** Empty texts are a 400 there. */
  #content(content: unknown, path: string): JsonObject[] {
    if (typeof content === "string") return content === "" ? [] : [{ text: content }];
    const parts = objects(content).map((part, index) => geminiPart(part, `${path}.${index}`, this.#words));
    return parts.filter((part) => part.text !== "");
  }
}
