/** Scans the events of one answer with guardrail rules, and holds back events a match may include. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Scope } from "../../../turn/scope.ts";
import { type Waiting, awaitSettled } from "../../../turn/time-slice.ts";
import type { Batch, TurnEvent } from "../../../turn/turn.ts";
import { guardrailUnavailable } from "../not-applicable.ts";
import { GuardedItem } from "./guarded-item.ts";
import { GuardedTexts } from "./guarded-texts.ts";
import { hasTextParts } from "../../../turn/item-texts.ts";
import { NativeEvents } from "./native-events.ts";
import { redactFault } from "./redact-fault.ts";
import { redactValue } from "./redact-value.ts";
import type { OutputRules } from "./rules/output-rules.ts";
import { Report } from "./rules/report.ts";
import { BlockRuleMatched, TextScanner } from "./rules/text-scanner.ts";
import { ScannedItem } from "./scanned-item.ts";

/**
 * Text scanned together: the whole answer, with texts joined as clients join them; each item by itself; or only the
 * joined texts, for an answer whose items are already scanned.
 */
export type ScanExtent = "answer" | "items" | "texts";

type Item = GuardedItem | ScannedItem;

/** Types of deltas that only reasoning items have. */
const reasoningKinds = ["reasoning.delta", "summary.delta"] as const;

export class AnswerScan {
  readonly #scope: Scope;
  readonly #report: Report;
  readonly #scanner: TextScanner;
  /** Whether a rule may change or block the answer. */
  readonly enforces: boolean;
  /** Open items by output index. */
  readonly #items = new Map<number, Item>();
  /** Scans the joined texts of all items. */
  readonly #texts: GuardedTexts;
  readonly #extent: ScanExtent;
  /** Native events outside of any item, held until the answer is complete; absent before the first one. */
  #nativeEvents: NativeEvents | undefined;
  /** Number of items whose delivery has begun. */
  #begun = 0;
  /** Number of leading items delivered to their end. */
  #ended = 0;
  #ready: TurnEvent[] = [];

  constructor(rules: OutputRules, scope: Scope, report: Report, extent: ScanExtent) {
    this.#scope = scope;
    this.#report = report;
    this.enforces = rules.enforced.length > 0;
    this.#scanner = new TextScanner(rules, report, scope.signal);
    this.#texts = new GuardedTexts(rules.enforced, report);
    this.#extent = extent;
  }

  /** The events ready for delivery. */
  get ready(): Batch {
    return this.#ready;
  }

  take(): Batch {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** Starts a new time slice, for a caller returning from a wait. */
  restartSlice(): void {
    this.#scanner.restartSlice();
  }

  /**
   * Scans the next event. An event whose scan failed is not delivered, unless all rules only report.
   * @returns undefined when the scan is complete, else a promise after it had to pause for other turns
   * @throws BlockRuleMatched; Fault UNAVAILABLE when a rule fails
   */
  read(event: TurnEvent): Promise<void> | undefined {
    try {
      const work = this.#route(event);
      const wait = work && this.#scanner.runSliced(work);
      if (wait) return wait.catch((error: unknown) => this.#handleFailure(event, error));
    } catch (error) {
      this.#handleFailure(event, error);
    }
    return this.#scanner.pauseIfDue() ?? undefined;
  }

  /** Redacts the texts of a fault with which the answer failed. */
  redact(fault: Fault): Promise<Fault> {
    return redactFault(fault, this.#scanner);
  }

  /** Ends a blocked answer, with only the part already delivered. */
  cut(): void {
    this.#releaseInOrder();
    this.#endAsIncomplete();
  }

  /** Throws the error of a scan, unless the rules only report. @throws BlockRuleMatched or Fault */
  #handleFailure(event: TurnEvent, error: unknown): void {
    if (error instanceof BlockRuleMatched || error instanceof Fault) throw error;
    this.#scanner.reportFailure();
    if (this.enforces) throw guardrailUnavailable(error);
    this.#ready.push(event);
  }

  /** @returns the rest of the work, if there is any */
  #route(event: TurnEvent): Waiting | undefined {
    if (event.type === "end") return this.#end(event);
    if (this.enforces && "index" in event && event.index !== undefined) return this.#guardItem(event.index, event);
    if (event.type === "item.end") return this.#reportOnItem(event);
    const isNew = this.enforces && this.#extent !== "texts";
    if (event.type === "native" && isNew) return this.#scanNative(event);
    if (event.type === "debug" && isNew) return this.#scanDebugEcho(event);
    this.#ready.push(event);
    return undefined;
  }

  /** Scans a finished item with the report-only rules; the event is delivered unchanged. */
  *#reportOnItem(event: Extract<TurnEvent, { readonly type: "item.end" }>): Waiting {
    yield* new GuardedItem(event.index, this.#scanner).end(event.item);
    this.#ready.push(event);
  }

  *#end(event: TurnEvent): Waiting {
    yield* this.#texts.end();
    if (this.#texts.blocked) throw new BlockRuleMatched();
    this.#releaseInOrder();
    if (this.#nativeEvents) this.#ready.push(...(yield* awaitSettled(this.#nativeEvents.flush())));
    this.pushStages();
    this.#ready.push(event);
  }

  /** Guards a native event that belongs to no item. */
  *#scanNative(event: Extract<TurnEvent, { readonly type: "native" }>): Waiting {
    this.#nativeEvents ??= new NativeEvents(this.#scanner);
    const passes = yield* awaitSettled(this.#nativeEvents.take(event));
    if (passes) this.#ready.push(passes);
  }

  /**
   * Guards the debug echo. It shows the request Sluice sent, not the answer, so its matches are left out of the
   * receipt. A redact rule changes it, and a block rule drops it.
   */
  *#scanDebugEcho(event: Extract<TurnEvent, { readonly type: "debug" }>): Waiting {
    const scanner = new TextScanner(this.#scanner.rules, new Report(), this.#scope.signal);
    const body: unknown = JSON.parse(event.bodyJson);
    let redacted: unknown;
    try {
      redacted = yield* awaitSettled(redactValue(body, scanner));
    } catch {
      return;
    }
    this.#ready.push(redacted === body ? event : { ...event, bodyJson: JSON.stringify(redacted) });
  }

  #guardItem(index: number, event: TurnEvent): Waiting | undefined {
    const item = this.#items.get(index);
    if (item) return this.#stepItem(item, event);
    // Reasoning must end before this item is added, so everything released here belongs to earlier items.
    const endsReasoning =
      "item" in event && event.item.type !== "reasoning" && this.#texts.hasJoinedText(reasoningKinds);
    return endsReasoning ? this.#beginItemAfterReasoning(index, event) : this.#beginItem(index, event);
  }

  /** @returns the rest of the work, if there is any */
  #stepItem(item: Item, event: TurnEvent): Waiting | undefined {
    const rest = item.step(event);
    if (rest) return this.#releaseAfter(rest);
    this.#releaseInOrder();
    return undefined;
  }

  *#releaseAfter(rest: Waiting): Waiting {
    yield* rest;
    this.#releaseInOrder();
  }

  *#beginItemAfterReasoning(index: number, event: TurnEvent): Waiting {
    yield* this.#endReasoning();
    const rest = this.#beginItem(index, event);
    if (rest) yield* rest;
  }

  #beginItem(index: number, event: TurnEvent): Waiting | undefined {
    const item = this.#createItem(index, event);
    this.#items.set(index, item);
    // The event came after the end of its item, which opens the item again.
    if (index < this.#ended) this.#ended = index;
    return this.#stepItem(item, event);
  }

  /** Ends the scan of joined reasoning texts. Clients join them only until another item comes, so later text need not wait for them. */
  *#endReasoning(): Waiting {
    if (this.#scanner.usesService) {
      yield* this.#texts.flushHeldForms(reasoningKinds);
      yield* awaitSettled(this.#texts.scanByServices(true, reasoningKinds));
    }
    yield* this.#texts.endJoinedTexts(reasoningKinds);
    if (this.#texts.blocked) throw new BlockRuleMatched();
    this.#releaseInOrder();
  }

  #createItem(index: number, event: TurnEvent): Item {
    const isPassed = this.#extent === "texts" && "item" in event && !hasTextParts(event.item.type);
    if (isPassed) return new ScannedItem();
    return new GuardedItem(index, this.#scanner, this.#extent === "items" ? undefined : this.#texts);
  }

  /** Releases items in the order of their index. The next item waits for an item that has nothing to show yet, or that waits for its end. */
  #releaseInOrder(): void {
    while (this.#items.get(this.#begun)?.canBegin && !this.#items.get(this.#begun - 1)?.isWaiting) this.#begun++;
    for (let index = this.#ended; index < this.#begun; index++) {
      const item = this.#items.get(index);
      item?.moveTo(this.#ready);
      if (item?.hasEnded === false) continue;
      this.#items.delete(index);
      if (index === this.#ended) this.#ended++;
    }
  }

  /** Closes each item whose delivery has begun, with only the text already delivered. */
  #endAsIncomplete(): void {
    for (const [index, item] of this.#items) {
      const cutItem = index < this.#begun ? item.cut() : undefined;
      if (cutItem) this.#ready.push({ type: "item.end", index, item: cutItem });
    }
    const { usage } = this.#scope.trace;
    const outcome = { status: "incomplete", reason: "content_filter", serviceTier: "default", usage } as const;
    this.#ready.push({ type: "end", outcome });
  }

  /** Adds the rules' stages to the receipt, before the final event carries it. */
  pushStages(): void {
    this.#scope.trace.stages.push(...this.#report.stages());
  }
}
