/**
 * Writes the lines of the ledger: all lines of one turn of the event loop together, as one frame. A caller that needs a
 * line on disk waits for its group, or writes it at once with `flush`. A failed write fails the start of every call in
 * its group; ends of calls are kept in memory until there is room on the disk.
 */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { FrameBuilder } from "@sluice/proto/lib/ledger/frame.js";
import { Group, type UnwrittenCall, ledgerUnavailable } from "./group.ts";
import type { Spool } from "./spool.ts";

/** Milliseconds between tries while the disk is full. */
const retryMs = 250;

export class RecordWriter {
  readonly #spool: Spool;
  readonly #log: Pick<Logger, "error" | "warn">;
  readonly #frame = new FrameBuilder();
  #group = new Group();
  #isArmed = false;
  /** Lines of ends that wait for room on the disk, in order. */
  #waiting: string[] = [];
  #retry: NodeJS.Timeout | undefined;

  constructor(spool: Spool, log: Pick<Logger, "error" | "warn">) {
    this.#spool = spool;
    this.#log = log;
  }

  /**
   * Writes the start of a call; the group reports the outcome to the call.
   * @throws Fault UNAVAILABLE when it is already certain that the line cannot be written
   */
  start(line: string, call: UnwrittenCall): Group {
    if (!this.#writeWaiting() || !this.#add(line))
      throw ledgerUnavailable(new Error("ends of other calls wait for room on the disk"));
    this.#group.starts.push(call);
    return this.#group;
  }

  /** Writes what a running call costs so far. On a full disk the line is dropped, and the charge before it stays valid. */
  charge(line: string, start: Group): void {
    if (this.#waiting.length > 0 || !this.#add(line)) return;
    // A charge in the same group as the start of its call fails with it, so it is not counted.
    if (this.#group !== start) this.#group.charges++;
  }

  /** Writes the end of a call or of a turn. On a full disk, the line waits in memory, and the client does not wait for it. */
  end(line: string): void {
    if (this.#waiting.length === 0 && this.#add(line)) return void this.#group.ends.push(line);
    this.#waiting.push(line);
    this.#writeWaiting();
  }

  /** Whether lines of ends wait for room on the disk. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Writes the collected lines. Called before anything is sent to a client, so the client learns only what is already on disk. */
  flush(): void {
    if (this.#frame.isEmpty) return;
    const group = this.#group;
    this.#group = new Group();
    try {
      this.#spool.append(this.#frame.finish());
      group.settle(undefined);
    } catch (error) {
      group.settle(ledgerUnavailable(error));
      this.#failed(group, error);
    }
  }

  /** Writes the collected lines, and the ends that wait for room. @returns whether all of it is written */
  close(): boolean {
    this.flush();
    const isWritten = this.#writeWaiting();
    clearTimeout(this.#retry);
    return isWritten;
  }

  /**
   * Adds the line to the group. There is no group while ends wait for room, so lines are written in order.
   * @returns false while ends wait for room
   * @throws Fault UNAVAILABLE for a line longer than the maximum frame
   */
  #add(line: string): boolean {
    if (!this.#frame.add(line)) {
      this.flush();
      if (this.#waiting.length > 0) return false;
      if (!this.#frame.add(line)) throw ledgerUnavailable(new Error(`a line has ${line.length} characters`));
    }
    if (!this.#isArmed) setImmediate(this.#fire);
    this.#isArmed = true;
    return true;
  }

  readonly #fire = (): void => {
    this.#isArmed = false;
    this.flush();
  };

  #failed({ charges, ends }: Group, error: unknown): void {
    if (charges > 0)
      this.#log.warn({ err: error, calls: charges }, "the charge of a running call cannot be written to the disk");
    if (ends.length === 0) return;
    this.#log.error({ err: error, calls: ends.length }, "the end of a call waits for room on the disk");
    this.#waiting = ends;
    this.#retryLater();
  }

  /** Writes the ends that wait for room, one by one and in order. @returns whether all are written */
  #writeWaiting(): boolean {
    let written = 0;
    try {
      for (const line of this.#waiting) {
        this.#frame.add(line);
        this.#spool.append(this.#frame.finish());
        written++;
      }
    } catch {
      this.#retryLater();
    }
    if (written > 0) this.#waiting = this.#waiting.slice(written);
    return this.#waiting.length === 0;
  }

  #retryLater(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#writeWaiting(), retryMs).unref();
  }
}
