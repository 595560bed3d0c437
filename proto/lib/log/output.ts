/** Writes lines to a file descriptor in batches. Lines refused by a full pipe are held, so a request never waits for a reader. */
import { writeSync } from "node:fs";

/** A batch of this size is written at once: under load one write takes dozens of lines. */
const batchBytes = 16_384;
const bufferBytes = 2 * batchBytes;
/** Maximum time for which a line without urgency waits for others. */
const lingerMs = 200;
/** Retry interval for a full non-blocking pipe. */
const retryMs = 10;
/** Number of retries while the process ends. */
const lastTrials = 100;

/** A UTF-16 unit has at most this many bytes in UTF-8. */
const maxUnitBytes = 3;

/** Memory for unread batches: beyond it, lines without urgency are dropped, and beyond twice as much all lines. */
const maxHeldBytes = 8 * 2 ** 20;

/** Lines are written in their order, however the process ends: a batch written by a background thread could be overtaken by the final lines. */
export class LineOutput {
  readonly #fd: number;
  readonly #describeLoss: (lines: number) => string;
  /** The batch under construction. */
  #buffer: Buffer = Buffer.alloc(0);
  /** Used bytes of the buffer. */
  #taken = 0;
  /** Unwritten batches; the first may be written in part. */
  readonly #held: Buffer[] = [];
  /** Size of the buffers of all held batches. */
  #heldBytes = 0;
  /** Lines lost since the last report of a loss. */
  #lost = 0;
  #timer: NodeJS.Timeout | undefined = undefined;
  readonly #onTimer = () => this.#endBatch();

  /**
   * Lines left at the exit of the process are written then.
   * @param fd a descriptor; non-blocking when it is a pipe, a socket or a terminal
   * @param describeLoss builds the line that reports the number of lost lines
   */
  constructor(fd: number, describeLoss: (lines: number) => string) {
    this.#fd = fd;
    this.#describeLoss = describeLoss;
    process.on("exit", () => this.#writeRest());
  }

  /** @param isUrgent writes the line as soon as the descriptor is free, so the log of a killed process contains the reason */
  write(line: string, isUrgent: boolean): void {
    // After a loss, lines without urgency wait until everything before them is written: one line then reports the whole gap.
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

  /** The batch owns its buffer until it is written. */
  #hold(batch: Buffer): void {
    if (this.#held.length === 0) this.#retry();
    this.#held.push(batch);
    this.#heldBytes += this.#buffer.length;
    this.#buffer = Buffer.alloc(0);
  }

  /** @returns the part not taken by the descriptor now */
  #send(batch: Buffer): Buffer {
    let rest = batch;
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return rest;
      // Another error loses the batch: nothing reads the pipe anymore, or the disk is full. The process continues.
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
