/**
 * Counts the memory of an answer while it is read: bytes of an incomplete event, and everything the translator and the
 * layers behind it keep of the events, at most until the turn ends.
 */
import { type Account, chunkOverheadBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { measureParsed, measureSmallEvent, maxSmallEventLength } from "../../estimate/memory.ts";
import type { Translator } from "../dialect.ts";
import type { BatchQueue } from "./queue.ts";

export class HeldAnswer implements Translator {
  readonly #translator: Translator;
  readonly #queue: BatchQueue;
  readonly #account: Account;
  /** Bytes since the last event. */
  #unread = 0;
  #kept = 0;
  #working = 0;
  #countedKept = 0;
  #countedWorking = 0;

  /** @param queue takes the events of the translator @param account of the turn */
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

  event(name: string | undefined, data: string): void {
    this.#unread = 0;
    const { textUnits, otherEvents } = this.#queue;
    if (data.length > maxSmallEventLength) {
      // Before it is parsed, because the objects of some texts take ten times as much memory as their characters.
      this.#kept += data.length;
      this.#working += measureParsed(data) - data.length;
      this.count();
      return this.#translator.event(name, data);
    }
    this.#translator.event(name, data);
    const isText = this.#queue.otherEvents === otherEvents;
    this.#kept += measureSmallEvent(data, isText ? this.#queue.textUnits - textUnits : 0);
  }

  close(isWhole?: boolean): void {
    this.#translator.close(isWhole);
  }

  cut(): void {
    this.#translator.cut();
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

  /** Called when the answer has failed: nothing of it is kept. */
  drop(): void {
    this.#account.shrink(this.#countedKept, this.#countedWorking);
    this.#countedKept = 0;
    this.#countedWorking = 0;
  }
}
