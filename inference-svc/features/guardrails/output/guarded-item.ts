/**
 * Guards one output item. Streamed texts are delivered as soon as no match can include them; arguments and native
 * events with text are delivered at the end of the item.
 */
import { type Waiting, type Yielding, awaitSettled } from "../../../turn/time-slice.ts";
import type { OutputItem, TurnEvent } from "../../../turn/turn.ts";
import { type AnnotationEvent, Annotations } from "./annotations.ts";
import { GuardedTexts } from "./guarded-texts.ts";
import { buildCutItem } from "./cut-item.ts";
import { buildDeliveredItem } from "./delivered-item.ts";
import { redactJson } from "./redact-json.ts";
import { redactValue } from "./redact-value.ts";
import { BlockRuleMatched, type TextScanner } from "./rules/text-scanner.ts";
import { NativeEvents } from "./native-events.ts";
import { TextPart } from "./text-part.ts";
import {
  type ItemText,
  type PartJson,
  type TextEvent,
  type TextKey,
  type DeltaPosition,
  hasJsonArguments,
  hasStreamedText,
  buildDelta,
  continuesText,
  extendDelta,
  editTexts,
  listTexts,
  hasTextParts,
  toTextKey,
  toDeltaPosition,
} from "../../../turn/item-texts.ts";

type NativeEvent = Extract<TurnEvent, { readonly type: "native" }>;

export class GuardedItem {
  readonly #index: number;
  readonly #scanner: TextScanner;
  readonly #joinedTexts: GuardedTexts | undefined;
  /** Scans the item's streamed texts and holds them back; absent until the item's type is known. */
  #ownTexts: GuardedTexts | undefined;
  #parts = new Map<TextKey, TextPart<TextKey>>();
  #last: { readonly type: TextEvent["type"]; readonly number: number; readonly part: TextPart<TextKey> } | undefined;
  /** The item's native events; absent before the first one. */
  #nativeEvents: NativeEvents | undefined;
  /** The item's annotations; absent before the first one. */
  #annotations: Annotations | undefined;
  #start: OutputItem | undefined;
  #hasJsonArguments = false;
  #streamed = false;
  /** Whether the start of the item may be delivered, because the item has something to show. */
  canBegin = false;
  /** Whether the item's end event has come and waits for the scan of its texts. */
  isWaiting = false;
  hasEnded = false;
  /** Events in order that may be delivered once the item's start is delivered. */
  readonly #ready: TurnEvent[] = [];

  /** @param joinedTexts scans the joined texts of all items; if absent, the item is scanned by itself */
  constructor(index: number, scanner: TextScanner, joinedTexts?: GuardedTexts) {
    this.#index = index;
    this.#scanner = scanner;
    this.#joinedTexts = joinedTexts;
  }

  /** Moves the events ready for delivery to the end of `list`. */
  moveTo(list: TurnEvent[]): void {
    for (const event of this.#ready) list.push(event);
    this.#ready.length = 0;
  }

  /**
   * Takes the next event of the item. @returns the rest of the work, if there is any @throws BlockRuleMatched; Fault
   * UNAVAILABLE when a rule fails
   */
  step(event: TurnEvent): Waiting | undefined {
    switch (event.type) {
      case "item.start":
        return this.#begin(event.item);
      case "item.end":
        return this.end(event.item);
      case "annotation":
        return this.#annotation(event);
      case "native":
        return this.#native(event);
      case "debug":
      case "start":
      case "end":
        return undefined;
      default:
        return this.#delta(event);
    }
  }

  *#begin(item: OutputItem): Waiting {
    this.#chooseTexts(item);
    this.#hasJsonArguments = hasJsonArguments(item.type);
    this.#start = yield* awaitSettled(redactValue(item, this.#scanner));
    this.#ready.push({ type: "item.start", index: this.#index, item: this.#start });
    // The start of a call waits for its text: it would commit the turn, although a client cannot act on it without the
    // text.
    this.canBegin = !hasStreamedText(item.type);
  }

  /** Chooses the scan for the item's texts. Texts of calls are never joined, since calls may stream in parallel. */
  #chooseTexts({ type }: OutputItem): void {
    if (this.#joinedTexts && hasTextParts(type)) this.#ownTexts = this.#joinedTexts;
  }

  get #texts(): GuardedTexts {
    return (this.#ownTexts ??= new GuardedTexts(this.#scanner.rules.enforced, this.#scanner.report));
  }

  #delta(event: TextEvent): Waiting | undefined {
    this.#streamed = true;
    if (this.#hasJsonArguments) return undefined;
    const part = this.#continuedPart(event) ?? this.#switchPart(event);
    if (this.#scanner.usesService || !this.#scanner.isShort(event.delta)) return this.#push(part, event.delta);
    const rest = this.#texts.push(part, event.delta);
    if (rest) return this.#pushRest(rest);
    this.#throwIfBlocked();
    return undefined;
  }

  /** The part of the previous delta, if this delta continues it, as most do; else undefined. */
  #continuedPart(event: TextEvent): TextPart<TextKey> | undefined {
    const number = "part" in event ? event.part : 0;
    const isSame = this.#last?.type === event.type && this.#last.number === number;
    return isSame ? this.#last?.part : undefined;
  }

  #switchPart(event: TextEvent): TextPart<TextKey> {
    const key = toTextKey(event);
    this.#annotations?.continueAt(key);
    const part = this.#partOf(key);
    this.#last = { type: event.type, number: "part" in event ? event.part : 0, part };
    return part;
  }

  #partOf(key: TextKey): TextPart<TextKey> {
    const known = this.#parts.get(key);
    if (known) return known;
    const joinKey = this.#texts === this.#joinedTexts ? key.slice(0, key.indexOf(" ")) : "";
    const place = toDeltaPosition(key);
    const part = new TextPart(key, { joinKey, item: this }, (text) => this.#deliver(place, text));
    this.#parts.set(key, part);
    return part;
  }

  *#annotation(event: AnnotationEvent): Waiting {
    const annotation = yield* awaitSettled(redactValue(event.annotation, this.#scanner));
    // A partly redacted annotation would lead a reader to the redacted text.
    if (annotation === event.annotation) this.#openAnnotations().take(event);
  }

  #openAnnotations(): Annotations {
    return (this.#annotations ??= new Annotations({
      partOf: (key) => this.#parts.get(key),
      afterDelivery: (pass) => this.#texts.afterDelivery(pass),
      deliver: (event) => this.#ready.push(event),
    }));
  }

  *#native(event: NativeEvent): Waiting {
    this.#nativeEvents ??= new NativeEvents(this.#scanner);
    const passes = yield* awaitSettled(this.#nativeEvents.take(event));
    if (passes) this.#ready.push(passes);
  }

  /**
   * Handles the end of the item. @throws BlockRuleMatched; Fault UNAVAILABLE when a rule fails and its guardrail fails
   * closed
   */
  *end(item: OutputItem): Waiting {
    if (!this.#start) this.#chooseTexts(item);
    const whole = hasJsonArguments(item.type) ? yield* awaitSettled(this.#endJson(item)) : yield* this.#endTexts(item);
    const nativeEvents = this.#nativeEvents ? yield* awaitSettled(this.#nativeEvents.flush()) : [];
    this.isWaiting = true;
    this.#texts.afterDelivery(() => {
      for (const event of nativeEvents) this.#ready.push(event);
      this.#ready.push({ type: "item.end", index: this.#index, item: whole() });
      this.canBegin = this.hasEnded = true;
      this.isWaiting = false;
    });
  }

  /** The item with the texts delivered so far, for an answer cut. @returns undefined for an item not begun */
  cut(): OutputItem | undefined {
    return this.#start && this.canBegin
      ? buildCutItem(this.#start, [...this.#parts.values()], this.#annotations?.delivered)
      : undefined;
  }

  *#push(part: TextPart, text: string): Waiting {
    yield* this.#pushAll(part, text);
    if (this.#scanner.usesService) yield* awaitSettled(this.#texts.scanByServices(false));
    this.#throwIfBlocked();
  }

  *#pushRest(rest: Yielding): Waiting {
    yield* rest;
    this.#throwIfBlocked();
  }

  /** @throws BlockRuleMatched once a block rule has matched */
  #throwIfBlocked(): void {
    if (this.#texts.blocked) throw new BlockRuleMatched();
  }

  /** Scans a delta. @returns the rest of the work, if there is any */
  #pushPieces(part: TextPart, text: string): Yielding | undefined {
    return this.#scanner.isShort(text) ? this.#texts.push(part, text) : this.#pushAll(part, text);
  }

  *#pushAll(part: TextPart, text: string): Yielding {
    for (const piece of this.#scanner.piecesOf(text)) {
      const rest = this.#texts.push(part, piece);
      if (rest) yield* rest;
      yield;
    }
  }

  async #endJson(item: OutputItem): Promise<() => OutputItem> {
    const text = await redactJson(listTexts(item)[0]?.text ?? "", this.#scanner);
    if (this.#streamed && text !== "") this.#ready.push(buildDelta(argumentsPlace, this.#index, text));
    const whole = editTexts(await redactValue(editTexts(item, emptyText), this.#scanner), () => ({ text }));
    return () => whole;
  }

  *#endTexts(item: OutputItem): Waiting<() => OutputItem> {
    const texts: ItemText[] = [];
    const rest = editTexts(item, (key, text, part) => {
      texts.push({ key, text, part });
      return { text: "", part: this.#scanner.enforces ? emptyLogprobs(key) : {} };
    });
    if (!texts.every(({ key, text }) => this.#matchesDeltas(key, text))) this.#rescan();
    for (const { key, text } of texts) {
      const part = this.#partOf(key);
      const more = text.length > part.raw.length ? this.#pushPieces(part, text.slice(part.raw.length)) : undefined;
      if (more) yield* more;
    }
    this.#annotations?.continueAt();
    if (this.#scanner.usesService) yield* this.#askServices();
    const ending = this.#texts === this.#joinedTexts ? this.#texts.endItem() : this.#texts.end();
    if (ending) yield* ending;
    this.#throwIfBlocked();
    if (this.#scanner.reports) yield* this.#scanner.reportOnly(texts.map(({ text }) => text).join(""));
    const cleaned = yield* awaitSettled(redactValue(rest, this.#scanner));
    const onDropped = (field: string) => this.#scanner.report.addDropped(`output.${this.#index}.${field}`);
    const isClean = cleaned === rest && texts.every(({ part }) => !hasLogprobs(part));
    return () =>
      isClean && this.#passesUnchanged(texts) ? item : buildDeliveredItem(cleaned, item, this.#parts, onDropped);
  }

  #passesUnchanged(texts: readonly ItemText[]): boolean {
    return texts.every(({ key, text }) => this.#partOf(key).delivered === text);
  }

  /** Calls the detector services for complete texts. */
  *#askServices(): Waiting {
    yield* this.#texts.flushHeldForms();
    yield* awaitSettled(this.#texts.scanByServices(true));
  }

  /** Whether a final text starts with the deltas received, so the rest can be appended to them. */
  #matchesDeltas(key: TextKey, text: string): boolean {
    const part = this.#parts.get(key);
    if (!part) return true;
    return text.startsWith(part.raw) && (text.length === part.raw.length || part === [...this.#parts.values()].at(-1));
  }

  /** Scans the item's final texts again, each by itself, because they contradict the deltas. */
  #rescan(): void {
    this.#ownTexts = undefined;
    this.#parts = new Map();
    this.#streamed = false;
  }

  #deliver(place: DeltaPosition, text: string): void {
    this.canBegin = true;
    if (!this.#streamed) return;
    const last = this.#ready.at(-1);
    if (last !== undefined && "delta" in last && continuesText(last, place))
      this.#ready[this.#ready.length - 1] = extendDelta(last, text);
    else this.#ready.push(buildDelta(place, this.#index, text));
  }
}

const argumentsPlace: DeltaPosition = { type: "arguments.delta", part: 0 };

const emptyText = () => ({ text: "" });

const hasLogprobs = ({ type, logprobs }: PartJson): boolean =>
  type === "output_text" && !(Array.isArray(logprobs) && logprobs.length === 0);

/** Log probabilities are left out, because they spell out the text and its alternatives. */
const emptyLogprobs = (key: TextKey): object => (key.startsWith("text.delta") ? { logprobs: [] } : {});
