/**
 * Counts the memory of an answer while it is read: the bytes of an incomplete event, and everything that the translator
 * and the layers behind it keep of the events, until the turn ends. A long event, and all that follows it, waits until
 * the exchange has its turn for long work.
 */
import { countValues, maxValues, tooManyValues } from "@sluice/proto/lib/json/values.js";
import { longText } from "@sluice/proto/lib/load/fair-shares.js";
import { type Account, chunkOverheadBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { measureParsed, measureSmallEvent, maxSmallEventLength } from "../../estimate/memory.ts";
import type { Translator } from "../dialect.ts";
import { answerTooLarge } from "../failure.ts";
import type { BatchQueue } from "./queue.ts";

interface Step {
  readonly isLong: boolean;
  readonly run: () => void;
}

export class HeldAnswer implements Translator {
  readonly #translator: Translator;
  readonly #queue: BatchQueue;
  readonly #account: Account;
  /** A long event, and everything after it, in order. */
  #waiting: Step[] = [];
  /** Number of bytes since the last event. */
  #unread = 0;
  #kept = 0;
  #working = 0;
  #countedKept = 0;
  #countedWorking = 0;

  /** @param queue gets the events of the translator @param account memory account of the turn */
  constructor(translator: Translator, queue: BatchQueue, account: Account) {
    this.#translator = translator;
    this.#queue = queue;
    this.#account = account;
  }

  get finished(): boolean {
    return this.#translator.finished;
  }

  get done(): boolean {
    return this.#translator.done;
  }

  get usage(): Translator["usage"] {
    return this.#translator.usage;
  }

  /** Whether a long event waits for `readLong` to be called. */
  get waits(): boolean {
    return this.#waiting.length > 0;
  }

  event(name: string | undefined, data: string, values?: number): void {
    this.#unread = 0;
    const isSmall = data.length <= maxSmallEventLength;
    if (!isSmall) this.#kept += data.length;
    const isLong = data.length > longText;
    if (isLong || this.waits) {
      const run = () => (isSmall ? this.#smallEvent(name, data) : this.#largeEvent(name, data, values));
      this.#waiting.push({ isLong, run });
    } else if (isSmall) this.#smallEvent(name, data);
    else this.#largeEvent(name, data, values);
  }

  #smallEvent(name: string | undefined, data: string): void {
    const { textUnits, otherEvents } = this.#queue;
    this.#translator.event(name, data);
    const isText = this.#queue.otherEvents === otherEvents;
    this.#kept += measureSmallEvent(data, isText ? this.#queue.textUnits - textUnits : 0);
  }

  #largeEvent(name: string | undefined, data: string, values = countValues(data)): void {
    if (values > maxValues) throw answerTooLarge(tooManyValues);
    // The memory is counted before the text is parsed, because the objects of some texts take ten times as much as
    // their characters.
    this.#working += measureParsed(data, values) - data.length;
    this.count();
    this.#translator.event(name, data);
  }

  close(isWhole?: boolean): void {
    this.inOrder(() => this.#translator.close(isWhole));
  }

  cut(): void {
    this.#waiting = [];
    this.#translator.cut();
  }

  /** Runs a step in order: once all events before it were read. */
  inOrder(step: () => void): void {
    if (this.waits) this.#waiting.push({ isLong: false, run: step });
    else step();
  }

  /** Reads the waiting long event, and everything up to the next long one. */
  readLong(): void {
    do (this.#waiting.shift() as Step).run();
    while (!this.done && this.#waiting[0]?.isLong === false);
    if (this.done) this.#waiting = [];
  }

  /** Called with each chunk before it is read. */
  read(chunk: Buffer): void {
    this.#unread += chunk.length + chunkOverheadBytes;
  }

  /** Called when a chunk was read. @throws Fault PROVIDER_FAILED when the answer has failed for want of memory */
  count(): void {
    const kept = this.#kept + this.#unread - this.#countedKept;
    const working = this.#working - this.#countedWorking;
    this.#countedKept += kept;
    this.#countedWorking += working;
    this.#account.grow(kept, working);
  }

  /** Called when the answer has failed, to release the memory. */
  drop(): void {
    this.#waiting = [];
    this.#account.shrink(this.#countedKept, this.#countedWorking);
    this.#countedKept = 0;
    this.#countedWorking = 0;
  }
}
