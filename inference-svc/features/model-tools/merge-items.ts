/**
 * Merges the messages of an answer into one, and its reasoning items into one: clients see them joined, and a rule may
 * match across two of them.
 */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { append } from "@sluice/proto/lib/text/append.js";
import { batchLayer } from "../../turn/layer-builders.ts";
import type { Layer, OutputItem, TurnEvent } from "../../turn/turn.ts";

export const mergeItems: Layer = batchLayer(() => {
  const merged = new MergedItems();
  return (batch) => batch.flatMap((event) => merged.take(event));
});

/** Separator between joined messages, and between joined reasoning items. */
const border = "\n\n";

/** The text of one kind (message or reasoning), joined over all items. */
interface Channel {
  readonly type: "text.delta" | "reasoning.delta";
  /** Output index of the merged item; undefined before its first text. */
  index: number | undefined;
  /** Output indices of the items whose text is joined. */
  readonly from: Set<number>;
  text: string;
}

class MergedItems {
  readonly #words: Channel = { type: "text.delta", index: undefined, from: new Set(), text: "" };
  readonly #thoughts: Channel = { type: "reasoning.delta", index: undefined, from: new Set(), text: "" };
  /** Annotations of all messages. */
  readonly #annotations: object[] = [];
  readonly #others: OutputItem[] = [];
  /** Number of output items so far. */
  #count = 0;

  take(event: TurnEvent): TurnEvent[] {
    switch (event.type) {
      case "text.delta":
      case "refusal.delta":
        return this.#addDelta(this.#words, event.index, event.delta);
      case "reasoning.delta":
      case "summary.delta":
        return this.#addDelta(this.#thoughts, event.index, event.delta);
      case "item.end":
        return this.#ended(event.index, event.item);
      case "end":
        return [...this.#items(), event];
      default:
        return [];
    }
  }

  #addDelta(channel: Channel, from: number, words: string): TurnEvent[] {
    if (words === "") return [];
    const isNext = channel.from.size > 0 && !channel.from.has(from);
    channel.from.add(from);
    const delta = isNext ? border + words : words;
    channel.text = append(channel.text, delta);
    const begun = channel.index === undefined ? [this.#begin(channel)] : [];
    return [...begun, { type: channel.type, index: channel.index as number, part: 0, delta }];
  }

  #begin(channel: Channel): TurnEvent {
    channel.index = this.#count++;
    return { type: "item.start", index: channel.index, item: itemOf(channel.type) };
  }

  /** Handles the end of an item. An answer without streaming has no deltas to repeat, so its text comes from here. */
  #ended(index: number, item: OutputItem): TurnEvent[] {
    if (item.type === "reasoning") return [];
    if (item.type !== "message") {
      this.#others.push(item);
      return [];
    }
    const parts = Array.isArray(item["content"]) ? item["content"].filter(isObject) : [];
    for (const { annotations } of parts) if (Array.isArray(annotations)) this.#cite(annotations);
    if (this.#words.from.has(index)) return [];
    const texts = parts.map(({ text, refusal }) => [text, refusal].find((each) => typeof each === "string") ?? "");
    return this.#addDelta(this.#words, index, texts.join(""));
  }

  /** Keeps cited pages without their places, because the places have changed. */
  #cite(annotations: readonly unknown[]): void {
    for (const { url, title } of annotations.filter(isObject)) this.#annotations.push({ url, title });
  }

  #items(): TurnEvent[] {
    const deltas = [this.#words, this.#thoughts].flatMap(({ type, index, text }): TurnEvent[] =>
      index === undefined ? [] : [{ type: "item.end", index, item: itemOf(type, text, this.#annotations) }],
    );
    return [...deltas, ...this.#others.map((item): TurnEvent => ({ type: "item.end", index: this.#count++, item }))];
  }
}

function itemOf(type: Channel["type"], text?: string, annotations: readonly object[] = []): OutputItem {
  if (type === "reasoning.delta") {
    const content = text === undefined ? [] : [{ type: "reasoning_text", text }];
    return { type: "reasoning", id: "rs_one", summary: [], content };
  }
  const content = text === undefined ? [] : [{ type: "output_text", text, annotations }];
  return { type: "message", id: "msg_one", role: "assistant", content };
}
