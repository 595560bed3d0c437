/**
 * One answer of the model, as it is read: what is for the client passes, with numbers that count over all answers of the turn; calls of the house's
 * tools do not. Calls of the client's own functions wait, since they come last.
 */
import type { Batch, Outcome, OutputItem, TurnEvent } from "../turn/turn.ts";
import type { Offer } from "./toolbox.ts";

/** Numbers the items of a turn. */
export class Numbers {
  #next = 0;

  take(): number {
    return this.#next++;
  }
}

/** A call of a tool of the house. */
export interface CalledTool {
  readonly offer: Offer;
  readonly callId: string;
  /** As the model wrote them. */
  readonly argumentsJson: string;
}

type Indexed = Extract<TurnEvent, { readonly index: number }>;
type ItemEnd = Extract<TurnEvent, { readonly type: "item.end" }>;

const functionCalls: ReadonlySet<string> = new Set(["function_call", "custom_tool_call"]);

export class Answer {
  readonly #offers: ReadonlyMap<string, Offer>;
  readonly #numbers: Numbers;
  readonly #isFirst: boolean;
  #model: string | undefined;
  /** By number within this answer: where the item goes. */
  readonly #places = new Map<number, number | "tool" | "client">();
  /** Of the client's functions. */
  readonly #waiting: Indexed[] = [];
  /** Of a message: whether that was all is known once more has come. */
  #ended: ItemEnd | undefined;
  /** As the model said them, and reads them in the next turn. */
  readonly items: OutputItem[] = [];
  readonly calls: CalledTool[] = [];
  readonly functions: string[] = [];
  outcome: Outcome | undefined;

  /** @param before which answer of the turn it is, and which model gave the one before it */
  constructor(
    offers: ReadonlyMap<string, Offer>,
    numbers: Numbers,
    before: { readonly isFirst: boolean; readonly model: string | undefined },
  ) {
    this.#offers = offers;
    this.#numbers = numbers;
    this.#isFirst = before.isFirst;
    this.#model = before.model;
  }

  get model(): string | undefined {
    return this.#model;
  }

  /** What of it the client gets now. */
  take(batch: Batch): TurnEvent[] {
    const shown: TurnEvent[] = [];
    for (const event of batch) this.#step(event, shown);
    return shown;
  }

  /** What has waited, for the end of the turn. */
  rest(): TurnEvent[] {
    const places = new Map<number, number>();
    return this.#waiting.map((event) => {
      let index = places.get(event.index);
      if (index === undefined) places.set(event.index, (index = this.#numbers.take()));
      return { ...event, index };
    });
  }

  #step(event: TurnEvent, shown: TurnEvent[]): void {
    if (event.type === "debug") {
      if (this.#isFirst) shown.push(event);
      return;
    }
    if (event.type === "start") {
      if (event.model !== this.#model) shown.push(event);
      this.#model = event.model;
      return;
    }
    if (event.type === "end") {
      this.#flush(shown, false);
      this.outcome = event.outcome;
      return;
    }
    if (!("index" in event) || event.index === undefined) return void shown.push(event);
    this.#ofItem(event as Indexed, shown);
  }

  #ofItem(event: Indexed, shown: TurnEvent[]): void {
    const place = this.#placeOf(event, shown);
    if (event.type === "item.end") this.items.push(event.item);
    if (place === "tool") return;
    if (place === "client") return void this.#waiting.push(event);
    const placed = { ...event, index: place };
    if (placed.type === "item.end" && placed.item.type === "message") this.#ended = placed;
    else shown.push(placed);
  }

  #placeOf(event: Indexed, shown: TurnEvent[]): number | "tool" | "client" {
    const known = this.#places.get(event.index);
    // Without a stream items have no beginning.
    const item = "item" in event ? event.item : undefined;
    const place = known ?? this.#begin(item, shown);
    this.#places.set(event.index, place);
    if (event.type === "item.end" && place === "tool") this.#note(event.item);
    if (event.type === "item.end" && place === "client") this.functions.push(String(event.item["name"]));
    return place;
  }

  #begin(item: OutputItem | undefined, shown: TurnEvent[]): number | "tool" | "client" {
    const isTool = item !== undefined && this.#offerOf(item) !== undefined;
    this.#flush(shown, isTool);
    if (isTool) return "tool";
    return item !== undefined && functionCalls.has(item.type) ? "client" : this.#numbers.take();
  }

  #offerOf({ type, name, namespace }: OutputItem): Offer | undefined {
    if (type !== "function_call" || (namespace !== undefined && namespace !== null)) return undefined;
    return this.#offers.get(String(name));
  }

  #note(item: OutputItem): void {
    const offer = this.#offerOf(item);
    if (offer) this.calls.push({ offer, callId: String(item["call_id"]), argumentsJson: String(item["arguments"]) });
  }

  /** @param isCommentary the model goes on with a tool of the house */
  #flush(shown: TurnEvent[], isCommentary: boolean): void {
    const ended = this.#ended;
    if (ended === undefined) return;
    this.#ended = undefined;
    const { item } = ended;
    const isSaid = item["phase"] !== undefined && item["phase"] !== null;
    shown.push(isCommentary && !isSaid ? { ...ended, item: { ...item, phase: "commentary" } } : ended);
  }
}
