/** Assembles the reasoning of a complete answer: as one text, and as entries of `reasoning_details` for clients to send back. */
import { toJsonString } from "../../edge/turns/json.ts";
import { type ReasoningPosition, detailJson, toPositionedId, encryptedReasoningJson } from "./details.ts";
import { type OutputItem, contentOf, summariesOf, visibleText } from "./item.ts";

/** Separator of reasoning parts, since each part is a text of its own. */
export const reasoningPartSeparator = "\n\n";

export class CollectedReasoning {
  readonly #texts: string[] = [];
  readonly #details: string[] = [];

  add(reasoning: OutputItem, place: ReasoningPosition): void {
    const item = { ...reasoning, id: toPositionedId(reasoning.id, place) };
    const summaries = summariesOf(item);
    const contents = contentOf(item);
    for (const part of summaries) this.#entry("reasoning.summary", visibleText(part), item);
    for (let index = 0; index < contents.length; index++) {
      const isLast = index === contents.length - 1;
      this.#entry("reasoning.text", visibleText(contents[index]!), item, isLast);
    }
    const sealed = encryptedReasoningJson(item, contents.length > 0);
    if (sealed !== "") this.#detail("reasoning.encrypted", sealed, item, true);
    else if (contents.length === 0 && item.signature) this.#detail("reasoning.text", "", item, true);
  }

  #entry(kind: "reasoning.text" | "reasoning.summary", text: string, item: OutputItem, isLast = false): void {
    this.#texts.push(text);
    this.#detail(kind, text, item, isLast);
  }

  #detail(kind: Parameters<typeof detailJson>[0], text: string, item: OutputItem, isLast: boolean): void {
    this.#details.push(detailJson(kind, text, item.id, this.#details.length, isLast ? item : undefined));
  }

  /** Members of the message about reasoning, with leading commas. */
  members(): string {
    if (this.#details.length === 0) return "";
    const text =
      this.#texts.length === 0 ? "" : `,"reasoning":${toJsonString(this.#texts.join(reasoningPartSeparator))}`;
    return `${text},"reasoning_details":[${this.#details.join(",")}]`;
  }
}
