/**
 * Writes the messages of a conversation as JSON. Messages of its first items are cached with these items. The next
 * request of the conversation repeats them, so only later items are translated.
 */
import { knownItemsOf } from "../../../turn/parse/beginnings.ts";
import { isShared } from "../../../turn/parse/shared-items.ts";
import type { InputItem } from "../../../turn/request.ts";
import type { DroppedField } from "../../../turn/trace.ts";
import type { TranslationContext } from "../translate/context.ts";
import { isAmidResults } from "../translate/repeated-results.ts";

/** Cached messages, which later items cannot change. */
interface KnownMessages {
  /** Index of the first item they contain. */
  readonly from: number;
  /** Number of first items that stay system messages. */
  readonly prompts: number;
  /** Number of items they contain. */
  readonly items: number;
  /** JSON of the messages, with commas between them. */
  readonly json: string;
  readonly dropped: readonly DroppedField[];
  /** Target of the translation, on which the messages depend as well. */
  readonly target: TranslationContext["target"];
  readonly tools: TranslationContext["tools"];
}

const known = Symbol("messages");
/** A list of input items on which its messages are stored, like the results of a `ListMemo`. */
type Input = readonly InputItem[] & { [known]?: KnownMessages };

/** A place in the input at which all messages were complete. */
interface Place {
  readonly items: number;
  readonly messages: number;
  readonly dropped: number;
}

export class RepeatedMessages {
  readonly #input: Input;
  readonly #beginning: Input | undefined;
  readonly #known: KnownMessages | undefined;
  readonly #from: number;
  readonly #prompts: number;
  readonly #onDropped: TranslationContext["onDropped"];
  #dropped: DroppedField[] = [];
  /** The translation context for items that are not cached. */
  readonly translation: TranslationContext;
  #inBeginning: Place | undefined = undefined;
  #last: Place | undefined = undefined;

  private constructor(
    input: Input,
    beginning: Input | undefined,
    { target, tools, onDropped }: TranslationContext,
    from: number,
    prompts: number,
  ) {
    const isFor = (messages: KnownMessages | undefined) =>
      messages?.target === target &&
      messages.tools === tools &&
      messages.from === from &&
      messages.prompts === prompts &&
      !isAmidResults(input, messages.items);
    this.#input = input;
    this.#beginning = beginning;
    this.#known = [input[known], beginning?.[known]].find(isFor);
    this.#from = from;
    this.#prompts = prompts;
    this.#onDropped = onDropped;
    this.translation = {
      target,
      tools,
      onDropped: (path, reason) => {
        this.#dropped.push({ path, reason });
        onDropped(path, reason);
      },
    };
  }

  /**
   * @param from index of the first item that has a message of its own; the items before it are in the first messages,
   * which are written each time
   * @param prompts number of first items that stay system messages
   * @returns undefined for an input without cached items that is not expected to be repeated
   */
  static open(
    input: readonly InputItem[],
    translation: TranslationContext,
    from: number,
    prompts: number,
  ): RepeatedMessages | undefined {
    const beginning = knownItemsOf(input);
    if (beginning === undefined && !isRemembered(input)) return undefined;
    return new RepeatedMessages(input, beginning, translation, from, prompts);
  }

  /** Called after the first messages, whose dropped fields are not cached. Reports the dropped fields of the cached messages. */
  beginItems(): void {
    this.#dropped = [...(this.#known?.dropped ?? [])];
    for (const { path, reason } of this.#dropped) this.#onDropped(path, reason);
  }

  /** Number of first items that need no translation. */
  get knownItems(): number {
    return this.#known?.items ?? this.#from;
  }

  /** Notes that later items cannot change the messages so far. @param messages number of messages written, without the cached ones */
  complete(items: number, messages: number): void {
    if (isAmidResults(this.#input, items)) return;
    const place = { items, messages, dropped: this.#dropped.length };
    if (this.#beginning && items <= this.#beginning.length) this.#inBeginning = place;
    this.#last = place;
  }

  /**
   * The messages as a JSON array, with the cached ones.
   * @param heads number of first messages that belong to no item
   */
  json(written: readonly object[], heads: number): string {
    let json = this.#known?.json ?? "";
    let done = heads;
    const keep = (input: Input, { items, messages, dropped }: Place): void => {
      json = joinTexts(json, membersJson(written.slice(done, messages)));
      done = messages;
      const { target, tools } = this.translation;
      input[known] = {
        from: this.#from,
        prompts: this.#prompts,
        items,
        json,
        dropped: this.#dropped.slice(0, dropped),
        target,
        tools,
      };
    };
    if (this.#known === undefined && this.#beginning && this.#inBeginning) keep(this.#beginning, this.#inBeginning);
    if (this.#last && isRemembered(this.#input)) keep(this.#input, this.#last);
    json = joinTexts(json, membersJson(written.slice(done)));
    return `[${joinTexts(membersJson(written.slice(0, heads)), json)}]`;
  }
}

/** Whether the input was seen before: it then consists only of shared items. */
function isRemembered(input: readonly InputItem[]): boolean {
  const last = input.at(-1);
  return last !== undefined && isShared(last);
}

/** JSON of an array's elements, with commas between them. */
const membersJson = (values: readonly object[]): string => JSON.stringify(values).slice(1, -1);

const joinTexts = (before: string, after: string): string =>
  before === "" || after === "" ? before + after : `${before},${after}`;
