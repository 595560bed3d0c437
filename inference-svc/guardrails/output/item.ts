/**
 * One output item on its way out. Its texts pass as soon as they are decided; arguments, and progress events that carry text, once the item is
 * whole. What was not looked at does not pass.
 */
import type { OutputItem, TurnEvent } from "../../turn/turn.ts";
import { type AnnotationEvent, Annotations } from "./annotations.ts";
import { Channel } from "./channel.ts";
import { cutItem } from "./cut.ts";
import { asDelivered, sealsOf, withoutSeals } from "./finished.ts";
import { cleanedJson } from "./json-text.ts";
import { cleanedLeaves } from "./leaves.ts";
import { Blocked, type Looker } from "./look.ts";
import { NativeTexts } from "./natives.ts";
import { Part } from "./part.ts";
import { type TextEvent, type TextKey, carriesJson, carriesText, deltaOf, edited, hasParts, keyOf } from "./texts.ts";

type NativeEvent = Extract<TurnEvent, { readonly type: "native" }>;

export class GuardedItem {
  readonly #index: number;
  readonly #looker: Looker;
  readonly #joined: Channel | undefined;
  /** Reads its texts. */
  #channel: Channel;
  #parts = new Map<TextKey, Part<TextKey>>();
  #last: { readonly type: TextEvent["type"]; readonly number: number; readonly part: Part<TextKey> } | undefined;
  readonly #natives: NativeTexts;
  readonly #annotations: Annotations;
  #start: OutputItem | undefined;
  #streamed = false;
  /** There is something to show of it, so that it may begin. */
  shown = false;
  /** Its end has come, and waits for the decision about its texts. */
  waits = false;
  ended = false;
  /** Events that may go out once it has begun, in order. */
  #ready: TurnEvent[] = [];

  /** @param joined reads the texts of all items that clients join; without it, each item is read by itself */
  constructor(index: number, looker: Looker, joined?: Channel) {
    this.#index = index;
    this.#looker = looker;
    this.#joined = joined;
    this.#channel = this.#newChannel();
    this.#natives = new NativeTexts(looker);
    this.#annotations = new Annotations({
      partOf: (key) => this.#parts.get(key),
      note: (pass) => this.#channel.note(pass),
      pass: (event) => this.#ready.push(event),
    });
  }

  take(): readonly TurnEvent[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** @throws Blocked; Fault UNAVAILABLE when a rule fails */
  step(event: TurnEvent): Promise<void> | void {
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
        return;
      default:
        return this.#delta(event);
    }
  }

  async #begin(item: OutputItem): Promise<void> {
    this.#open(item);
    this.#start = await cleanedLeaves(item, this.#looker);
    this.#ready.push({ type: "item.start", index: this.#index, item: this.#start });
    // A call commits, and there is nothing of it to act on yet.
    this.shown = !carriesText(item.type);
  }

  /** No client joins the texts of calls, which may run beside each other. */
  #open({ type }: OutputItem): void {
    if (this.#joined && hasParts(type)) this.#channel = this.#joined;
  }

  #newChannel(): Channel {
    return new Channel(this.#looker.rules.enforced, this.#looker.report);
  }

  #delta(event: TextEvent): Promise<void> | void {
    this.#streamed = true;
    if (carriesJson(this.#start?.type ?? "")) return;
    const part = this.#goesOn(event) ?? this.#next(event);
    if (this.#looker.asks || !this.#looker.isShort(event.delta)) return this.#push(part, event.delta);
    const push = this.#looker.through(this.#channel.push(part, event.delta));
    return push ? push.then(() => this.#stop()) : this.#stop();
  }

  /** The part of the delta before it, which most deltas go on with. */
  #goesOn(event: TextEvent): Part<TextKey> | undefined {
    const number = "part" in event ? event.part : 0;
    const isSame = this.#last?.type === event.type && this.#last.number === number;
    return isSame ? this.#last?.part : undefined;
  }

  #next(event: TextEvent): Part<TextKey> {
    const key = keyOf(event);
    this.#annotations.goOn(key);
    const part = this.#partOf(key);
    this.#last = { type: event.type, number: "part" in event ? event.part : 0, part };
    return part;
  }

  #partOf(key: TextKey): Part<TextKey> {
    const known = this.#parts.get(key);
    if (known) return known;
    const strand = this.#channel === this.#joined ? key.slice(0, key.indexOf(" ")) : "";
    const part = new Part(key, { strand, item: this }, (text) => this.#deliver(key, text));
    this.#parts.set(key, part);
    return part;
  }

  async #annotation(event: AnnotationEvent): Promise<void> {
    const annotation = await cleanedLeaves(event.annotation, this.#looker);
    // A reader could find the redacted text by following the annotation.
    if (annotation === event.annotation) this.#annotations.take(event);
  }

  async #native(event: NativeEvent): Promise<void> {
    const passes = await this.#natives.take(event);
    if (passes) this.#ready.push(passes);
  }

  /** @throws as step */
  async end(item: OutputItem): Promise<void> {
    if (!this.#start) this.#open(item);
    const whole = carriesJson(item.type) ? await this.#endJson(item) : await this.#endTexts(item);
    const natives = await this.#natives.cleaned();
    this.waits = true;
    this.#channel.note(() => {
      this.#ready.push(...natives, { type: "item.end", index: this.#index, item: whole() });
      this.shown = this.ended = true;
      this.waits = false;
    });
  }

  /** What was delivered of an item that will not be whole; undefined when it has not begun. */
  cut(): OutputItem | undefined {
    return this.#start && this.shown
      ? cutItem(this.#start, [...this.#parts.values()], this.#annotations.delivered)
      : undefined;
  }

  async #push(part: Part, text: string): Promise<void> {
    if (this.#looker.isShort(text)) await this.#looker.through(this.#channel.push(part, text));
    else await this.#pushAll(part, text);
    if (this.#looker.asks) await this.#channel.ask(false);
    this.#stop();
  }

  /** @throws Blocked */
  #stop(): void {
    if (this.#channel.blocked) throw new Blocked();
  }

  async #pushAll(part: Part, text: string): Promise<void> {
    for await (const piece of this.#looker.pieces(text)) await this.#looker.through(this.#channel.push(part, piece));
  }

  async #endJson(item: OutputItem): Promise<() => OutputItem> {
    let json = "";
    edited(item, (_, text) => ({ text: (json = text) }));
    const text = await cleanedJson(json, this.#looker);
    if (this.#streamed && text !== "") this.#ready.push(deltaOf("arguments.delta 0", this.#index, text));
    const whole = edited(await cleanedLeaves(edited(item, emptied), this.#looker), () => ({ text }));
    return () => whole;
  }

  async #endTexts(item: OutputItem): Promise<() => OutputItem> {
    const texts: [key: TextKey, text: string][] = [];
    edited(item, (key, text) => {
      texts.push([key, text]);
      return { text };
    });
    if (!texts.every(([key, text]) => this.#isBegunBy(key, text))) this.#restart();
    for (const [key, text] of texts) {
      const part = this.#partOf(key);
      if (text.length > part.raw.length) await this.#pushAll(part, text.slice(part.raw.length));
    }
    this.#annotations.goOn();
    await this.#endChannel();
    this.#stop();
    await this.#looker.reported(texts.map(([, text]) => text).join(""));
    const rest = edited(item, (key) => ({ text: "", part: this.#looker.enforces ? withoutLogprobs(key) : {} }));
    const cleaned = await cleanedLeaves(rest, this.#looker);
    return () => this.#written(cleaned, item);
  }

  async #endChannel(): Promise<void> {
    if (this.#looker.asks) {
      await this.#looker.through(this.#channel.rest());
      await this.#channel.ask(true);
    }
    const isJoined = this.#channel === this.#joined;
    await this.#looker.through(isJoined ? this.#channel.endItem() : this.#channel.end());
  }

  /** Whether a text begins with what its deltas said, and something can still be added if it says more. */
  #isBegunBy(key: TextKey, text: string): boolean {
    const part = this.#parts.get(key);
    if (!part) return true;
    return text.startsWith(part.raw) && (text.length === part.raw.length || part === [...this.#parts.values()].at(-1));
  }

  /** The deltas said something else: what the item says is looked at by itself. */
  #restart(): void {
    this.#channel = this.#newChannel();
    this.#parts = new Map();
    this.#streamed = false;
  }

  #written(cleaned: OutputItem, item: OutputItem): OutputItem {
    const whole = asDelivered(cleaned, item, this.#parts);
    const redacted = [...this.#parts.values()].some(({ replaced }) => replaced.length > 0);
    if (!redacted || item.type !== "reasoning") return whole;
    for (const field of sealsOf(item)) this.#looker.report.dropped(`output.${this.#index}.${field}`);
    return withoutSeals(whole);
  }

  #deliver(key: TextKey, text: string): void {
    this.shown = true;
    if (!this.#streamed) return;
    const last = this.#ready.at(-1);
    const goesOn = last !== undefined && "delta" in last && keyOf(last) === key;
    if (goesOn) this.#ready[this.#ready.length - 1] = { ...last, delta: last.delta + text };
    else this.#ready.push(deltaOf(key, this.#index, text));
  }
}

const emptied = () => ({ text: "" });

/** They spell the text, and what else might have stood there. */
const withoutLogprobs = (key: TextKey): object => (key.startsWith("text.delta") ? { logprobs: [] } : {});
