/**
 * Knows of which items each message is made, and remembers the JSON of messages that are made of shared items: a conversation that goes on
 * repeats them in every request.
 */
import type { InputItem } from "../../turn/request.ts";
import { memoOf } from "../../turn/parse/shared-items.ts";
import type { TranslationContext } from "./context.ts";

export class MessageSources {
  /** The items of each message, in order; undefined for messages that depend on something else. */
  readonly #items: (InputItem[] | undefined)[] = [];
  #thoughts: (InputItem | undefined)[] = [];
  #item: InputItem | undefined = undefined;

  /** @param item whose translation comes next; undefined for one on which messages depend that are not its own */
  begin(item: InputItem | undefined): void {
    this.#item = item;
  }

  /** A message was made of the item. */
  add(): void {
    this.#items.push(this.#item && [this.#item]);
  }

  addUnknown(): void {
    this.#items.push(undefined);
  }

  /** The item joins the last message. */
  join(): void {
    this.#joinLast(this.#item);
  }

  think(): void {
    this.#thoughts.push(this.#item);
  }

  forgetThoughts(): void {
    this.#thoughts = [];
  }

  /** The thoughts join the last message. */
  joinThoughts(): void {
    for (const item of this.#thoughts) this.#joinLast(item);
    this.#thoughts = [];
  }

  #joinLast(item: InputItem | undefined): void {
    const last = this.#items.length - 1;
    if (item === undefined) this.#items[last] = undefined;
    else this.#items[last]?.push(item);
  }

  json(messages: readonly object[], translation: TranslationContext): string {
    let json = "";
    for (let index = 0; index < messages.length; index++) {
      json += index === 0 ? "[" : ",";
      json += messageJson(messages[index]!, this.#items[index], translation);
    }
    return `${json}]`;
  }
}

function messageJson(message: object, items: InputItem[] | undefined, { target, tools }: TranslationContext): string {
  const memo = items && memoOf(items[0]!);
  if (memo === undefined) return JSON.stringify(message);
  const { message: written } = memo;
  if (written?.target === target && written.tools === tools && isSame(written.items, items!)) return written.json;
  const json = JSON.stringify(message);
  memo.message = { items: items!, target, tools, json };
  return json;
}

function isSame(items: readonly InputItem[], others: readonly InputItem[]): boolean {
  if (items.length !== others.length) return false;
  for (let index = 0; index < items.length; index++) if (items[index] !== others[index]) return false;
  return true;
}
