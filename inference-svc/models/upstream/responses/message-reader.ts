/** Reads a message of an answer. */
import { type ItemStatus, remainingText } from "../events/item-writer.ts";
import type { MessageWriter } from "../events/output.ts";
import { type JsonObject, objects, text } from "../json.ts";
import type { ItemReader, ReadContext } from "./item-reader.ts";
import { PartNumbers } from "./part-numbers.ts";

type PartType = "output_text" | "refusal";

export class MessageReader implements ItemReader {
  readonly #writer: MessageWriter;
  readonly #logprobs: boolean;
  readonly #numbers = new PartNumbers();

  /** @param start the item as the provider announces it */
  constructor({ output, logprobs }: ReadContext, id: string | undefined, start: JsonObject) {
    const { content: _, status: __, id: ___, ...extra } = start;
    this.#writer = output.message(id, extra);
    this.#logprobs = logprobs;
  }

  event(type: string, event: JsonObject): boolean {
    const number = event.content_index;
    switch (type) {
      case "response.output_text.delta":
        this.#writer.text(this.#findPart(number, "output_text"), text(event.delta), this.#readLogprobs(event.logprobs));
        return true;
      case "response.refusal.delta":
        this.#writer.refusal(this.#findPart(number, "refusal"), text(event.delta));
        return true;
      case "response.output_text.annotation.added":
        this.#writer.annotation(this.#findPart(number, "output_text"), event.annotation);
        return true;
      case "response.output_text.done":
        this.#completeText(this.#findPart(number, "output_text"), event);
        return this.#close(number);
      case "response.refusal.done":
        this.#completeText(this.#findPart(number, "refusal"), event);
        return this.#close(number);
      case "response.content_part.done":
        return this.#close(number);
      default:
        return false;
    }
  }

  complete(item: JsonObject): void {
    for (const [number, part] of objects(item.content).entries()) this.#completePart(part, number);
  }

  end(item: JsonObject, status: ItemStatus): void {
    this.#writer.end(status, item);
  }

  #findPart(number: unknown, type: PartType): number {
    return this.#numbers.findOrOpen(number ?? 0, () => this.#writer.newPart(type));
  }

  #readLogprobs(value: unknown): readonly JsonObject[] {
    return this.#logprobs ? objects(value) : [];
  }

  #completeText(index: number, whole: JsonObject): void {
    const written = this.#writer.parts[index];
    if (written?.type === "refusal") this.#writer.refusal(index, remainingText(written.refusal, whole.refusal));
    if (written?.type !== "output_text") return;
    const logprobs = this.#readLogprobs(whole.logprobs).slice(written.logprobs.length);
    this.#writer.text(index, remainingText(written.text, whole.text), logprobs);
  }

  #completePart(part: JsonObject, number: number): void {
    const { type = "output_text" } = part;
    if (type !== "output_text" && type !== "refusal") {
      return void this.#numbers.findOrOpen(number, () => this.#writer.otherPart(part));
    }
    const index = this.#findPart(number, type);
    this.#completeText(index, part);
    const written = this.#writer.parts[index];
    if (written?.type !== "output_text") return;
    for (const annotation of objects(part.annotations).slice(written.annotations.length)) {
      this.#writer.annotation(index, annotation);
    }
  }

  /** Closes a part, which is complete, and thus releases later parts that wait for it. */
  #close(number: unknown): true {
    const index = this.#numbers.known(number ?? 0);
    if (index !== undefined) this.#writer.close(index);
    return true;
  }
}
