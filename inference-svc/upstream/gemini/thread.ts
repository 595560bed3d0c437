/** Contents as they grow: what calls were answered with comes right after them, and signatures stand on what they were given for. */
import type { Lose } from "../dialect.ts";
import type { JsonObject } from "../json.ts";

export interface Content {
  readonly role: "user" | "model";
  readonly parts: JsonObject[];
}

interface Signature {
  readonly path: string;
  readonly value: string;
}

/** A call that was told. */
interface Call {
  readonly name: string;
  readonly content: Content;
}

export class Thread {
  readonly #lose: Lose;
  readonly contents: Content[] = [];
  #signatures: Signature[] = [];
  readonly #calls = new Map<unknown, Call>();
  /** Answers, by the content that made the calls. */
  readonly #answers = new Map<Content, Content>();

  constructor(lose: Lose) {
    this.#lose = lose;
  }

  ask(parts: readonly JsonObject[]): void {
    if (parts.length === 0) return;
    this.#settle();
    const last = this.contents.at(-1);
    // The provider wants answers to calls to stand alone.
    if (last?.role === "user" && last.parts[0]?.functionResponse === undefined) last.parts.push(...parts);
    else this.contents.push({ role: "user", parts: [...parts] });
  }

  say(parts: readonly JsonObject[]): Content | undefined {
    const [first, ...rest] = parts;
    if (!first) return undefined;
    const own = this.#signatures.pop();
    const content = this.#model();
    content.parts.push(...this.#alone(), own ? { ...first, thoughtSignature: own.value } : first, ...rest);
    return content;
  }

  call(callId: unknown, name: string, part: JsonObject): void {
    const content = this.say([part]);
    if (content) this.#calls.set(callId, { name, content });
  }

  /** @param shown images and files of the answer */
  answer(callId: unknown, response: JsonObject, shown: readonly JsonObject[]): void {
    this.#settle();
    const call = this.#calls.get(callId);
    if (!call) return;
    const { parts } = this.#answersTo(call.content);
    parts.push({ functionResponse: { id: callId, name: call.name, response } }, ...shown);
  }

  /** A signature of what comes next; of what came before, when nothing comes. */
  sign(signature: Signature): void {
    this.#signatures.push(signature);
  }

  finish(): readonly Content[] {
    this.#settle();
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

  /** Nothing more is said before somebody else speaks. */
  #settle(): void {
    const last = this.contents.at(-1);
    if (last?.role === "model") last.parts.push(...this.#alone());
    for (const { path } of this.#signatures) this.#lose(path, "nothing that the assistant said stands beside it");
    this.#signatures = [];
  }

  /** As parts of their own: so they come in a stream whose text was said before. */
  #alone(): readonly JsonObject[] {
    const parts = this.#signatures.map(({ value }) => ({ text: "", thoughtSignature: value }));
    this.#signatures = [];
    return parts;
  }
}
