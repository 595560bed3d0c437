/**
 * Writes the messages of a conversation as JSON. Messages of the first items are cached with the items; the next request repeats these, and
 * only later items are translated.
 */
import { knownItemsOf } from "../../../turn/parse/beginnings.ts";
import { isShared } from "../../../turn/parse/shared-items.ts";
import type { InputItem } from "../../../turn/request.ts";
import type { DroppedField } from "../../../turn/trace.ts";
import type { TranslationContext } from "../translate/context.ts";
import { isAmidResults } from "../translate/repeated-results.ts";

/** Messages independent of later items. */
interface KnownMessages {
  /** Place of the first item translated into them. */
  readonly from: number;
  /** Number of first items that stay messages of the system. */
  readonly prompts: number;
  /** Number of items translated into them. */
  readonly items: number;
  /** The messages with commas between them. */
  readonly json: string;
  readonly dropped: readonly DroppedField[];
  /** The translation also depends on these. */
  readonly target: TranslationContext["target"];
  readonly tools: TranslationContext["tools"];
}

const known = Symbol("messages");
/** The messages are stored on the list itself, like the results of a `ListMemo`. */
type Input = readonly InputItem[] & { [known]?: KnownMessages };

/** A place in the input where the messages were complete. */
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
  /** The context for the new items. */
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
   * Undefined for an input without known items and not expected to repeat.
   * @param from place of the first item with messages of its own: those before it are in the first messages, which are written each time
   * @param prompts number of first items that stay messages of the system
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

  /** Called after the first messages, whose dropped fields are not cached: reports those of the known messages. */
  beginItems(): void {
    this.#dropped = [...(this.#known?.dropped ?? [])];
    for (const { path, reason } of this.#dropped) this.#onDropped(path, reason);
  }

  /** Number of first items without need for translation. */
  get knownItems(): number {
    return this.#known?.items ?? this.#from;
  }

  /** Notes that the messages so far are independent of later items. @param messages number of written messages, without the known messages */
  complete(items: number, messages: number): void {
    if (isAmidResults(this.#input, items)) return;
    const place = { items, messages, dropped: this.#dropped.length };
    if (this.#beginning && items <= this.#beginning.length) this.#inBeginning = place;
    this.#last = place;
  }

  /**
   * The messages as a JSON array, including the known messages.
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

/** A remembered input has only shared items. */
function isRemembered(input: readonly InputItem[]): boolean {
  const last = input.at(-1);
  return last !== undefined && isShared(last);
}

/** The elements of an array with commas between them. */
const membersJson = (values: readonly object[]): string => JSON.stringify(values).slice(1, -1);

const joinTexts = (before: string, after: string): string =>
  before === "" || after === "" ? before + after : `${before},${after}`;
