/**
 * Writes lines to a file descriptor in batches. Lines that a full pipe refuses are kept, so a request never waits
 * for the reader of the log.
 */
import { writeSync } from "node:fs";

/** Size in bytes at which a batch is written at once; under load it contains dozens of lines. */
const batchBytes = 16_384;
const bufferBytes = 2 * batchBytes;
/** Maximum time in milliseconds for which a line that is not urgent waits for others. */
const lingerMs = 200;
/** Milliseconds until a full non-blocking pipe is tried again. */
const retryMs = 10;
/** Number of attempts while the process ends. */
const lastTrials = 100;

/** Maximum number of bytes in UTF-8 for one UTF-16 unit. */
const maxUnitBytes = 3;

/**
 * Memory in bytes for batches that could not be written. Beyond it, lines that are not urgent are dropped; beyond twice
 * as much, all lines.
 */
const maxHeldBytes = 8 * 2 ** 20;

/**
 * Writes lines in their order, however the process ends: with a background thread, the last lines could overtake a
 * batch.
 */
export class LineOutput {
  readonly #fd: number;
  readonly #describeLoss: (lines: number) => string;
  /** The batch being filled. */
  #buffer: Buffer = Buffer.alloc(0);
  /** Number of bytes used in the buffer. */
  #taken = 0;
  /** Batches that could not be written yet; of the first, a part may have been written. */
  readonly #held: Buffer[] = [];
  /** Size of the buffers of all held batches. */
  #heldBytes = 0;
  /** Number of lines lost since the last report of a loss. */
  #lost = 0;
  #timer: NodeJS.Timeout | undefined = undefined;
  readonly #onTimer = () => this.#endBatch();

  /**
   * Lines that remain when the process exits are written then.
   * @param fd file descriptor; non-blocking when it is a pipe, a socket or a terminal
   * @param describeLoss builds the line that reports the number of lost lines
   */
  constructor(fd: number, describeLoss: (lines: number) => string) {
    this.#fd = fd;
    this.#describeLoss = describeLoss;
    process.on("exit", () => this.#writeRest());
  }

  /**
   * Writes a line. @param isUrgent whether to write it as soon as the descriptor is free, so the log of a killed
   * process contains the reason
   */
  write(line: string, isUrgent: boolean): void {
    // After a loss, lines that are not urgent are dropped until everything before is written, so one line reports
    // the whole gap.
    const isFull = isUrgent ? this.#heldBytes >= 2 * maxHeldBytes : this.#lost > 0 || this.#heldBytes >= maxHeldBytes;
    if (isFull) {
      this.#lost++;
      return;
    }
    const bytes = line.length * maxUnitBytes;
    if (this.#taken + bytes > this.#buffer.length) {
      this.#endBatch();
      if (bytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(Math.max(bytes, bufferBytes));
    }
    this.#taken += this.#buffer.write(line, this.#taken);
    const isIdle = this.#held.length === 0;
    if (this.#taken >= batchBytes || (isUrgent && isIdle)) this.#endBatch();
    else this.#timer ??= setTimeout(this.#onTimer, lingerMs).unref();
  }

  #endBatch(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#buffer.subarray(0, this.#taken);
    this.#taken = 0;
    const rest = this.#held.length === 0 ? this.#send(batch) : batch;
    if (rest.length > 0) this.#hold(rest);
    else if (this.#buffer.length > bufferBytes) this.#buffer = Buffer.alloc(0);
  }

  /** Keeps a batch, which owns its buffer until it is written. */
  #hold(batch: Buffer): void {
    if (this.#held.length === 0) this.#retry();
    this.#held.push(batch);
    this.#heldBytes += this.#buffer.length;
    this.#buffer = Buffer.alloc(0);
  }

  /** Writes as much of a batch as possible. @returns the part that the descriptor did not take */
  #send(batch: Buffer): Buffer {
    let rest = batch;
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return rest;
      // Any other error loses the batch: the pipe has no reader any more, or the disk is full. The process continues.
      return rest.subarray(rest.length);
    }
    return rest;
  }

  #retry(): void {
    setTimeout(() => this.#sendHeld(), retryMs).unref();
  }

  #sendHeld(): void {
    for (let first = this.#held[0]; first !== undefined; first = this.#held[0]) {
      const rest = this.#send(first);
      if (rest.length > 0) {
        this.#held[0] = rest;
        return this.#retry();
      }
      this.#held.shift();
      this.#heldBytes -= first.buffer.byteLength;
    }
    this.#tellLoss();
    this.#endBatch();
  }

  #tellLoss(): void {
    if (this.#lost === 0) return;
    const line = this.#describeLoss(this.#lost);
    this.#lost = 0;
    this.write(line, true);
  }

  #writeRest(): void {
    const loss = Buffer.from(this.#lost > 0 ? this.#describeLoss(this.#lost) : "");
    const rest = [...this.#held, this.#buffer.subarray(0, this.#taken), loss];
    rest.every((batch) => writeAll(this.#fd, batch));
  }
}

/** @returns false when the descriptor is broken, or has taken nothing for a second */
function writeAll(fd: number, batch: Buffer): boolean {
  let trials = 0;
  for (let at = 0; at < batch.length; ) {
    try {
      at += writeSync(fd, batch, at);
      trials = 0;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || ++trials > lastTrials) return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
    }
  }
  return true;
}
