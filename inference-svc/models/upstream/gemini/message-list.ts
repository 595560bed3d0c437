/** The growing list of contents for Gemini. The outputs of calls come right after the calls, and signatures stay on their parts. */
import type { OnDropped } from "../dialect.ts";
import type { JsonObject } from "../json.ts";

export interface Content {
  readonly role: "user" | "model";
  readonly parts: JsonObject[];
}

interface Signature {
  readonly path: string;
  readonly value: string;
}

/** A call that is already in the list. */
interface Call {
  readonly name: string;
  readonly content: Content;
}

export class ContentList {
  readonly #onDropped: OnDropped;
  readonly contents: Content[] = [];
  #signatures: Signature[] = [];
  readonly #calls = new Map<unknown, Call>();
  /** Contents with the outputs of calls, by the content with the calls. */
  readonly #answers = new Map<Content, Content>();

  constructor(onDropped: OnDropped) {
    this.#onDropped = onDropped;
  }

  addUserMessage(parts: readonly JsonObject[]): void {
    if (parts.length === 0) return;
    this.#settle();
    const last = this.contents.at(-1);
    // Gemini requires the outputs of calls in a separate content.
    if (last?.role === "user" && last.parts[0]?.functionResponse === undefined) last.parts.push(...parts);
    else this.contents.push({ role: "user", parts: [...parts] });
  }

  addAssistantMessage(parts: readonly JsonObject[]): Content | undefined {
    const [first, ...rest] = parts;
    if (!first) return undefined;
    const own = this.#signatures.pop();
    const content = this.#model();
    content.parts.push(...this.#withoutNeighbours(), own ? { ...first, thoughtSignature: own.value } : first, ...rest);
    return content;
  }

  call(callId: unknown, name: string, part: JsonObject): void {
    const content = this.addAssistantMessage([part]);
    if (content) this.#calls.set(callId, { name, content });
  }

  /** Adds the output of a call. @param attachments images and files of the output */
  answer(callId: unknown, response: JsonObject, attachments: readonly JsonObject[]): void {
    this.#settle();
    const call = this.#calls.get(callId);
    if (!call) return;
    const { parts } = this.#answersTo(call.content);
    // Pictures and files follow all results, because between two results they would separate them.
    const results = parts.filter(({ functionResponse }) => functionResponse !== undefined).length;
    parts.splice(results, 0, { functionResponse: { id: callId, name: call.name, response } });
    parts.push(...attachments);
  }

  /** Puts a signature on the next part, or on the part before when none follows. */
  sign(signature: Signature): void {
    this.#signatures.push(signature);
  }

  finish(): readonly Content[] {
    this.#settle();
    const first = this.contents[0];
    // Gemini requires that a content with calls follows a content of the user.
    if (first?.role === "model" && first.parts.some(({ functionCall }) => functionCall !== undefined)) {
      this.#onDropped("input.0", "repaired: a message of the user is sent before it, as the format requires");
      this.contents.unshift({ role: "user", parts: [{ text: "(no message)" }] });
    }
    return this.contents;
  }

  #model(): Content {
    const last = this.contents.at(-1);
    if (last?.role === "model") return last;
    const content: Content = { role: "model", parts: [] };
    this.contents.push(content);
    return content;
  }

  #answersTo(content: Content): Content {
    const known = this.#answers.get(content);
    if (known) return known;
    const answers: Content = { role: "user", parts: [] };
    this.#answers.set(content, answers);
    this.contents.splice(this.contents.indexOf(content) + 1, 0, answers);
    return answers;
  }

  /** Attaches the remaining signatures, before a content of another role. */
  #settle(): void {
    const last = this.contents.at(-1);
    if (last?.role === "model") last.parts.push(...this.#withoutNeighbours());
    for (const { path } of this.#signatures) this.#onDropped(path, "no part of the assistant's messages is next to it");
    this.#signatures = [];
  }

  /** Signatures as parts of their own. In streams they also arrive in this form, after the text they sign. */
  #withoutNeighbours(): readonly JsonObject[] {
    const parts = this.#signatures.map(({ value }) => ({ text: "", thoughtSignature: value }));
    this.#signatures = [];
    return parts;
  }
}
