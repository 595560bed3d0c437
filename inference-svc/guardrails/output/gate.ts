/**
 * What a turn says, under the rules of the caller's guardrails: nothing that a block or redact rule finds goes out, and everything else goes as soon
 * as that is certain.
 */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Scope } from "../../turn/scope.ts";
import { type Batch, type TurnEvent, commits } from "../../turn/turn.ts";
import { notApplicable } from "../not-applicable.ts";
import { Channel } from "./channel.ts";
import { cleanedFault } from "./fault.ts";
import { GuardedItem } from "./item.ts";
import { cleanedLeaves } from "./leaves.ts";
import { Blocked, Looker } from "./look.ts";
import { NativeTexts } from "./natives.ts";
import { Report } from "./report.ts";
import { PassedItem } from "./passed.ts";
import { type OutputRule, divided } from "./rules.ts";
import { hasParts } from "./texts.ts";

/**
 * The whole answer, in which texts that clients join are read as one; its items, each by itself; or only the texts that clients join, of an answer
 * of which everything else was looked at before.
 */
export type Extent = "answer" | "items" | "texts";

type Item = GuardedItem | PassedItem;

/** Strands that only items of the type `reasoning` have. */
const thoughts = ["reasoning.delta", "summary.delta"] as const;

export class OutputGate {
  readonly #scope: Scope;
  readonly #report: Report;
  readonly #looker: Looker;
  readonly #enforces: boolean;
  /** By index; those that have not ended. */
  readonly #items = new Map<number, Item>();
  /** Reads the texts of all items that clients join. */
  readonly #channel: Channel;
  readonly #extent: Extent;
  /** Events of no item, held until the answer is whole. */
  readonly #natives: NativeTexts;
  /** How many items have begun to go out. */
  #begun = 0;
  #ready: TurnEvent[] = [];
  #committed = false;

  constructor(rules: readonly OutputRule[], scope: Scope, report: Report, extent: Extent) {
    this.#scope = scope;
    this.#report = report;
    const { enforced } = divided(rules);
    this.#enforces = enforced.length > 0;
    this.#looker = new Looker(divided(rules), report, scope.signal);
    this.#channel = new Channel(enforced, report);
    this.#extent = extent;
    this.#natives = new NativeTexts(this.#looker);
  }

  /** @throws Fault GUARDRAIL_BLOCKED, or UNAVAILABLE when a rule fails; a block ends what has begun to go out as incomplete instead */
  async *guard(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
    try {
      for await (const batch of batches) {
        this.#looker.begin();
        for (const event of batch) {
          // A promise costs more than a delta.
          const look = this.#look(event);
          if (look) await look;
          const pause = this.#looker.breathe();
          if (pause) await pause;
        }
        if (this.#ready.length > 0) yield this.#given();
      }
    } catch (error) {
      if (!(error instanceof Blocked)) return await this.refused(error);
      this.#tell();
      // The provider was stopped when the loop was left: what it has consumed is known.
      if (!this.#committed) throw this.#refusal();
      this.#pass();
      this.#cut();
      yield this.#given();
    }
  }

  /** @throws what was thrown, without what it must not say */
  async refused(error: unknown): Promise<never> {
    const told = error instanceof Fault && this.#enforces ? await cleanedFault(error, this.#looker) : error;
    this.#tell();
    throw told;
  }

  #given(): Batch {
    const batch = this.#ready;
    this.#ready = [];
    this.#committed ||= batch.some(commits);
    return batch;
  }

  /** What could not be looked at does not pass, where the rules do more than report. */
  #look(event: TurnEvent): Promise<void> | void {
    try {
      return this.#step(event)?.catch((error: unknown) => this.#failed(event, error));
    } catch (error) {
      this.#failed(event, error);
    }
  }

  /** @throws as guard */
  #failed(event: TurnEvent, error: unknown): void {
    if (error instanceof Blocked || error instanceof Fault) throw error;
    this.#looker.failed();
    if (this.#enforces) throw notApplicable(error);
    this.#ready.push(event);
  }

  #step(event: TurnEvent): Promise<void> | void {
    if (event.type === "end") return this.#end(event);
    if (this.#enforces && "index" in event && event.index !== undefined) return this.#guarded(event.index, event);
    if (event.type === "item.end") return this.#watch(event);
    const isNew = this.#enforces && this.#extent !== "texts";
    if (event.type === "native" && isNew) return this.#alone(event);
    if (event.type === "debug" && isNew) return this.#echo(event);
    this.#ready.push(event);
  }

  /** Nothing is changed, and nothing waits. */
  async #watch(event: Extract<TurnEvent, { readonly type: "item.end" }>): Promise<void> {
    await new GuardedItem(event.index, this.#looker).end(event.item);
    this.#ready.push(event);
  }

  async #end(event: TurnEvent): Promise<void> {
    await this.#looker.through(this.#channel.end());
    if (this.#channel.blocked) throw new Blocked();
    this.#pass();
    this.#ready.push(...(await this.#natives.cleaned()));
    this.#tell();
    this.#ready.push(event);
  }

  /** An event of no item. */
  async #alone(event: Extract<TurnEvent, { readonly type: "native" }>): Promise<void> {
    const passes = await this.#natives.take(event);
    if (passes) this.#ready.push(passes);
  }

  /** What the provider was told is no answer, so that the receipt says nothing of it: what must not be shown of it is left out, with all of it where that is no redaction. */
  async #echo(event: Extract<TurnEvent, { readonly type: "debug" }>): Promise<void> {
    const looker = new Looker(this.#looker.rules, new Report(), this.#scope.signal);
    const body: unknown = JSON.parse(event.bodyJson);
    const looked = await cleanedLeaves(body, looker).catch(() => undefined);
    if (looked === undefined) return;
    this.#ready.push(looked === body ? event : { ...event, bodyJson: JSON.stringify(looked) });
  }

  #guarded(index: number, event: TurnEvent): Promise<void> | void {
    const item = this.#items.get(index);
    if (!item) return this.#begin(index, event);
    const step = item.step(event);
    if (step) return step.then(() => this.#pass());
    this.#pass();
  }

  async #begin(index: number, event: TurnEvent): Promise<void> {
    // Before the item is known to the gate: what is settled here belongs to items before it.
    if ("item" in event && event.item.type !== "reasoning") await this.#settleThoughts();
    const item = this.#open(index, event);
    this.#items.set(index, item);
    await item.step(event);
    this.#pass();
  }

  /** Thoughts are joined as long as nothing else comes between them: a text behind them does not wait for what they end in. */
  async #settleThoughts(): Promise<void> {
    if (this.#looker.asks) {
      await this.#looker.through(this.#channel.rest(thoughts));
      await this.#channel.ask(true, thoughts);
    }
    await this.#looker.through(this.#channel.settle(thoughts));
    if (this.#channel.blocked) throw new Blocked();
    this.#pass();
  }

  #open(index: number, event: TurnEvent): Item {
    const isPassed = this.#extent === "texts" && "item" in event && !hasParts(event.item.type);
    if (isPassed) return new PassedItem();
    return new GuardedItem(index, this.#looker, this.#extent === "items" ? undefined : this.#channel);
  }

  /** Items begin in the order of their indices; one that shows nothing yet, or waits for its end, keeps those behind it waiting. */
  #pass(): void {
    while (this.#items.get(this.#begun)?.shown && !this.#items.get(this.#begun - 1)?.waits) this.#begun++;
    for (const [index, item] of this.#items) {
      if (index >= this.#begun) break;
      this.#ready.push(...item.take());
      if (item.ended) this.#items.delete(index);
    }
  }

  /** Ends what has begun, as it stands. */
  #cut(): void {
    for (const [index, item] of this.#items) {
      const whole = index < this.#begun ? item.cut() : undefined;
      if (whole) this.#ready.push({ type: "item.end", index, item: whole });
    }
    const { usage } = this.#scope.trace;
    const outcome = { status: "incomplete", reason: "content_filter", serviceTier: "default" } as const;
    this.#ready.push({ type: "end", outcome: { ...outcome, ...(usage && { usage }) } });
  }

  #refusal(): Fault {
    const patterns = this.#report.blocked;
    return new Fault(FaultReason.GUARDRAIL_BLOCKED, `Response blocked by content filter: ${patterns[0]}`, {
      origin: FaultOrigin.CLIENT,
      metadata: { patterns },
    });
  }

  /** In the receipt, before it is written. */
  #tell(): void {
    this.#scope.trace.stages.push(...this.#report.stages());
  }
}
