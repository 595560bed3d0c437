/** Reads a reasoning item of an answer. */
import { remainingText } from "../events/item-writer.ts";
import type { ItemStatus } from "../events/item-writer.ts";
import type { ReasoningWriter } from "../events/output.ts";
import { type JsonObject, objects, text } from "../json.ts";
import type { ItemReader, ReadContext } from "./item-reader.ts";
import { PartNumbers } from "./part-numbers.ts";

export class ReasoningReader implements ItemReader {
  readonly #writer: ReasoningWriter;
  readonly #sealed: boolean;
  readonly #format: string;
  readonly #contents = new PartNumbers();
  readonly #summaries = new PartNumbers();

  constructor({ output, include, target }: ReadContext, id: string | undefined) {
    this.#sealed = include.includes("reasoning.encrypted_content");
    this.#format = target.reasoningFormat ?? "unknown";
    this.#writer = output.reasoning(id, this.#format);
  }

  event(type: string, event: JsonObject): boolean {
    switch (type) {
      case "response.reasoning_text.delta":
      // The event has this name in Open Responses.
      case "response.reasoning.delta":
        this.#writer.text(this.#findContent(event.content_index), text(event.delta));
        return true;
      case "response.reasoning_summary_text.delta":
        this.#writer.summary(this.#findSummary(event.summary_index), text(event.delta));
        return true;
      case "response.reasoning_text.done":
      case "response.reasoning.done":
        this.#completeText(event.content_index, event.text);
        return this.#closeText(event.content_index);
      case "response.content_part.done":
      // The event has this name at servers of open models.
      case "response.reasoning_part.done":
        return this.#closeText(event.content_index);
      case "response.reasoning_summary_text.done":
        this.#completeSummary(event.summary_index, event.text);
        return this.#closeSummary(event.summary_index);
      case "response.reasoning_summary_part.done":
        return this.#closeSummary(event.summary_index);
      default:
        return false;
    }
  }

  complete(item: JsonObject): void {
    for (const [number, part] of objects(item.summary).entries()) this.#completeSummary(number, part.text);
    for (const [number, part] of objects(item.content).entries()) this.#completeText(number, part.text);
  }

  end(item: JsonObject, status: ItemStatus): void {
    const { type: _, id: __, status: ___, summary: ____, content: _____, encrypted_content: sealed, ...extra } = item;
    this.#writer.end(status, {
      ...extra,
      ...(this.#sealed && typeof sealed === "string" && { encrypted_content: sealed }),
      // If the provider does not name the format, it is known from the provider's address.
      format: text(item.format) || this.#format,
    });
  }

  #findContent(number: unknown): number {
    return this.#contents.findOrOpen(number ?? 0, () => this.#writer.texts.push("") - 1);
  }

  #findSummary(number: unknown): number {
    return this.#summaries.findOrOpen(number ?? 0, () => this.#writer.summaries.push("") - 1);
  }

  #completeText(number: unknown, whole: unknown): void {
    const index = this.#findContent(number);
    this.#writer.text(index, remainingText(this.#writer.texts[index] ?? "", whole));
  }

  #completeSummary(number: unknown, whole: unknown): void {
    const index = this.#findSummary(number);
    this.#writer.summary(index, remainingText(this.#writer.summaries[index] ?? "", whole));
  }

  /** Closes a text, which is complete, and thus releases later ones that wait for it. */
  #closeText(number: unknown): true {
    const index = this.#contents.known(number ?? 0);
    if (index !== undefined) this.#writer.close("reasoning.delta", index);
    return true;
  }

  #closeSummary(number: unknown): true {
    const index = this.#summaries.known(number ?? 0);
    if (index !== undefined) this.#writer.close("summary.delta", index);
    return true;
  }
}
