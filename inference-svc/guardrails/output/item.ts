/**
 * One output item on its way out. Its texts pass as soon as they are decided; arguments, and progress events that carry text, once the item is
 * whole. What was not looked at does not pass.
 */
import { codePointLength } from "@sluice/proto/runtime/validation/text.js";
import { moved, pointsAt } from "../../turn/replaced.ts";
import type { OutputItem, TurnEvent } from "../../turn/turn.ts";
import { Channel, type Part } from "./channel.ts";
import { cutItem } from "./cut.ts";
import { cleanedJson } from "./json-text.ts";
import { cleanedLeaves, hasText } from "./leaves.ts";
import { Blocked, type Looker } from "./look.ts";
import { NativeTexts } from "./natives.ts";
import { type TextEvent, type TextKey, carriesJson, carriesText, deltaOf, edited, keyOf } from "./texts.ts";

type AnnotationEvent = Extract<TurnEvent, { readonly type: "annotation" }>;
type NativeEvent = Extract<TurnEvent, { readonly type: "native" }>;

/** Fields that say what a reasoning says, in a form that only the provider reads. */
const sealed = ["encrypted_content", "signature"] as const;

export class GuardedItem {
  readonly #index: number;
  readonly #looker: Looker;
  readonly #channel: Channel<TextKey>;
  readonly #natives: NativeTexts;
  readonly #annotations = new Map<number, unknown[]>();
  /** Those that came before all of the text that they point at: whether that is delivered is not known yet. */
  #early: AnnotationEvent[] = [];
  #start: OutputItem | undefined;
  #streamed = false;
  /** There is something to show of it, so that it may begin. */
  shown = false;
  ended = false;
  /** What may go out once it has begun, in order. */
  #ready: TurnEvent[] = [];

  constructor(index: number, looker: Looker) {
    this.#index = index;
    this.#looker = looker;
    this.#natives = new NativeTexts(looker);
    this.#channel = new Channel(looker.rules.enforced, looker.report, (part, text) => this.#deliver(part, text));
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
    this.#start = await cleanedLeaves(item, this.#looker);
    this.#ready.push({ type: "item.start", index: this.#index, item: this.#start });
    // A call commits, and there is nothing of it to act on yet.
    this.shown = !carriesText(item.type);
  }

  #delta(event: TextEvent): Promise<void> | void {
    this.#streamed = true;
    if (carriesJson(this.#start?.type ?? "")) return;
    const key = keyOf(event);
    if (this.#early.length > 0 && key !== this.#channel.parts.at(-1)?.key) this.#noteEarly(key);
    if (this.#looker.asks || !this.#looker.isShort(event.delta)) return this.#push(key, event.delta);
    const push = this.#looker.through(this.#channel.push(key, event.delta));
    return push ? push.then(() => this.#stop()) : this.#stop();
  }

  async #annotation(event: AnnotationEvent): Promise<void> {
    const annotation = await cleanedLeaves(event.annotation, this.#looker);
    // What was redacted in it would be found by following it.
    if (annotation !== event.annotation) return;
    // Those of one part stay in their order.
    if (this.#isEarly(event) || this.#early.some(({ part }) => part === event.part)) this.#early.push(event);
    else this.#channel.note(() => this.#annotate(event));
  }

  #isEarly({ part, annotation }: AnnotationEvent): boolean {
    const said = this.#channel.parts.find(({ key }) => key === `text.delta ${part}`)?.raw ?? "";
    return pointsAt(annotation) > codePointLength(said);
  }

  /** Once their part is over. @param key of the part that begins */
  #noteEarly(key?: TextKey): void {
    const waiting = this.#early.filter(({ part }) => key === `text.delta ${part}`);
    for (const event of this.#early) if (!waiting.includes(event)) this.#channel.note(() => this.#annotate(event));
    this.#early = waiting;
  }

  async #native(event: NativeEvent): Promise<void> {
    const payload: unknown = JSON.parse(event.payloadJson);
    if (hasText(payload)) this.#natives.hold(event, payload);
    else this.#ready.push(event);
  }

  /** @throws as step */
  async end(item: OutputItem): Promise<void> {
    const whole = carriesJson(item.type) ? await this.#endJson(item) : await this.#endTexts(item);
    this.#ready.push(...(await this.#natives.cleaned()));
    this.#ready.push({ type: "item.end", index: this.#index, item: whole });
    this.shown = true;
    this.ended = true;
  }

  /** What was delivered of an item that will not be whole; undefined when it has not begun. */
  cut(): OutputItem | undefined {
    return this.#start && this.shown ? cutItem(this.#start, this.#channel.parts, this.#annotations) : undefined;
  }

  async #push(key: TextKey, text: string): Promise<void> {
    if (this.#looker.isShort(text)) await this.#looker.through(this.#channel.push(key, text));
    else await this.#pushAll(this.#channel, key, text);
    if (this.#looker.asks) await this.#channel.ask(false);
    this.#stop();
  }

  /** @throws Blocked */
  #stop(): void {
    if (this.#channel.blocked) throw new Blocked();
  }

  async #pushAll(channel: Channel<TextKey>, key: TextKey, text: string): Promise<void> {
    for await (const piece of this.#looker.pieces(text)) await this.#looker.through(channel.push(key, piece));
  }

  async #endJson(item: OutputItem): Promise<OutputItem> {
    let json = "";
    edited(item, (_, text) => ({ text: (json = text) }));
    const text = await cleanedJson(json, this.#looker);
    if (this.#streamed && text !== "") this.#ready.push(deltaOf("arguments.delta 0", this.#index, text));
    return edited(await cleanedLeaves(edited(item, emptied), this.#looker), () => ({ text }));
  }

  async #endTexts(item: OutputItem): Promise<OutputItem> {
    const texts: [key: TextKey, text: string][] = [];
    edited(item, (key, text) => {
      texts.push([key, text]);
      return { text };
    });
    let channel = this.#channel;
    if (!texts.every(([key, text]) => this.#goesOn(key, text))) {
      // The deltas said something else: what the item says is looked at by itself.
      channel = new Channel(this.#looker.rules.enforced, this.#looker.report, () => {});
    }
    for (const [key, text] of texts) {
      const said = channel.parts.find((part) => part.key === key)?.raw.length ?? 0;
      if (text.length > said) await this.#pushAll(channel, key, text.slice(said));
    }
    if (this.#looker.asks) {
      await this.#looker.through(channel.rest());
      await channel.ask(true);
    }
    this.#noteEarly();
    await this.#looker.through(channel.end());
    if (channel.blocked) throw new Blocked();
    await this.#looker.reported(texts.map(([, text]) => text).join(""));
    const rest = edited(item, (key) => ({ text: "", part: this.#guards ? withoutLogprobs(key) : {} }));
    return this.#written(await cleanedLeaves(rest, this.#looker), item, channel);
  }

  /** Whether a text begins with what its deltas said, and something can still be added if it says more. */
  #goesOn(key: TextKey, text: string): boolean {
    const { parts } = this.#channel;
    const part = parts.find((each) => each.key === key);
    if (!part) return true;
    return text.startsWith(part.raw) && (text.length === part.raw.length || part === parts.at(-1));
  }

  /** Something that is found does not go out. */
  get #guards(): boolean {
    return this.#looker.rules.enforced.length > 0;
  }

  #written(cleaned: OutputItem, item: OutputItem, channel: Channel<TextKey>): OutputItem {
    const partOf = (key: TextKey) => channel.parts.find((part) => part.key === key);
    const annotations = new Map<TextKey, unknown>();
    edited(item, (key, text, { annotations: list }) => {
      annotations.set(key, list);
      return { text };
    });
    const whole = edited(cleaned, (key, _, { annotations: looked }) => {
      const part = partOf(key);
      const kept = keptAnnotations(annotations.get(key), looked, part);
      return {
        text: part?.shown ?? "",
        part: { ...(kept && { annotations: kept }) },
      };
    });
    const redacted = channel.parts.some(({ replaced }) => replaced.length > 0);
    return redacted && item.type === "reasoning" ? this.#unsealed(whole) : whole;
  }

  #unsealed(item: OutputItem): OutputItem {
    const fields = sealed.filter((field) => item[field] !== undefined && item[field] !== null);
    for (const field of fields) this.#looker.report.dropped(`output.${this.#index}.${field}`);
    return Object.fromEntries(Object.entries(item).filter(([field]) => !fields.includes(field as never))) as OutputItem;
  }

  #deliver({ key }: Part<TextKey>, text: string): void {
    this.shown = true;
    if (!this.#streamed) return;
    const last = this.#ready.at(-1);
    const goesOn = last !== undefined && "delta" in last && keyOf(last) === key;
    if (goesOn) this.#ready[this.#ready.length - 1] = { ...last, delta: last.delta + text };
    else this.#ready.push(deltaOf(key, this.#index, text));
  }

  #annotate(event: AnnotationEvent): void {
    const part = this.#channel.parts.find(({ key }) => key === `text.delta ${event.part}`);
    const annotation = part ? moved(event.annotation, part.raw, part.replaced) : event.annotation;
    if (annotation === undefined) return;
    const list = this.#annotations.get(event.part) ?? [];
    list.push(annotation);
    this.#annotations.set(event.part, list);
    this.#ready.push({ ...event, annotation });
  }
}

const emptied = () => ({ text: "" });

/** They spell the text, and what else might have stood there. */
const withoutLogprobs = (key: TextKey): object => (key.startsWith("text.delta") ? { logprobs: [] } : {});

/** Without those in which something was redacted, and those that point at what was. */
function keptAnnotations(before: unknown, looked: unknown, part: Part<TextKey> | undefined): unknown[] | undefined {
  if (!Array.isArray(before) || !Array.isArray(looked)) return undefined;
  const clean = before.filter((annotation, index) => annotation === looked[index]) as unknown[];
  if (!part) return clean;
  return clean.map((each) => moved(each, part.raw, part.replaced)).filter((each) => each !== undefined);
}
