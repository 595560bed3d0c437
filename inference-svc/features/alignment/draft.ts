/** Builds the message of an unfinished answer from its events. */
import { append } from "@sluice/proto/lib/text/append.js";
import type { OutputItem, TurnEvent } from "../../turn/turn.ts";
import { type Message, toMessage } from "./message.ts";

/**
 * Minimum growth of the text before the next evaluation, in UTF-16 units, and as a fraction (1/16) of the text so far:
 * rules read the message from its start each time.
 */
const minGrowth = 16;
const growthShare = 16;

export class Draft {
  /** Finished items. */
  readonly #ended: OutputItem[] = [];
  readonly #begun = new Map<number, OutputItem>();
  /** Text of unfinished messages. */
  #openText = "";
  #textLength = 0;
  #nextLength = 0;
  #hasNews = false;

  take(event: TurnEvent): void {
    if (event.type === "item.start") {
      this.#begun.set(event.index, event.item);
      this.#hasNews ||= event.item.type !== "message";
    } else if (event.type === "text.delta") {
      this.#openText = append(this.#openText, event.delta);
      this.#textLength += event.delta.length;
      this.#hasNews ||= this.#textLength >= this.#nextLength;
    } else if (event.type === "item.end") {
      this.#begun.delete(event.index);
      this.#ended.push(event.item);
      if (event.item.type === "message") this.#openText = "";
      this.#hasNews = true;
    }
  }

  /** All items so far; unfinished items have the status incomplete. */
  get items(): readonly OutputItem[] {
    const content = [{ type: "output_text", text: this.#openText, annotations: [], logprobs: [] }];
    const open = [...this.#begun.values()].map((item): OutputItem => {
      if (item.type === "message") return { ...item, status: "incomplete", content };
      return "arguments" in item ? { ...item, status: "incomplete", arguments: "" } : { ...item, status: "incomplete" };
    });
    return [...this.#ended, ...open];
  }

  /** The message so far. @returns undefined until enough of it is new */
  takeNews(): Message | undefined {
    if (!this.#hasNews) return undefined;
    this.#hasNews = false;
    this.#nextLength = this.#textLength + Math.max(minGrowth, Math.floor(this.#textLength / growthShare));
    return toMessage(this.items);
  }
}
