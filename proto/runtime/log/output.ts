/** Lines on their way to a file descriptor, written in batches. What a full pipe does not take is held, so that a request never waits for a reader. */
import { writeSync } from "node:fs";

/** A batch is written at once when it has this size: under load one write takes dozens of lines. */
const batchBytes = 16_384;
const bufferBytes = 2 * batchBytes;
/** Longest time for which a line that is not urgent waits for others. */
const lingerMs = 200;
/** A pipe that is full and does not block is tried again after this time. */
const retryMs = 10;
/** Number of such trials while the process ends. */
const lastTrials = 100;

/** A UTF-16 unit has at most this many bytes in UTF-8. */
const maxUnitBytes = 3;

/** Memory for batches that nothing has read yet: beyond it, lines that are not urgent are lost, and beyond twice as much all lines. */
const maxHeldBytes = 8 * 2 ** 20;

/**
 * Lines leave in the order in which they came, however the process ends: a batch that a background thread wrote could
 * be overtaken by the lines of the end.
 */
export class LineOutput {
  readonly #fd: number;
  readonly #describeLoss: (lines: number) => string;
  /** The batch that takes lines. */
  #buffer: Buffer = Buffer.alloc(0);
  /** Bytes of the buffer that are taken. */
  #taken = 0;
  /** Batches that the descriptor has not taken yet, the first of them perhaps in part. */
  readonly #held: Buffer[] = [];
  /** Size of the buffers of all held batches. */
  #heldBytes = 0;
  /** Lines that were lost since the output last told of it. */
  #lost = 0;
  #timer: NodeJS.Timeout | undefined = undefined;
  readonly #onTimer = () => this.#endBatch();

  /**
   * Lines that are left when the process exits are written then.
   * @param fd a descriptor that does not block where it is a pipe, a socket or a terminal
   * @param describeLoss the line that tells how many lines were lost
   */
  constructor(fd: number, describeLoss: (lines: number) => string) {
    this.#fd = fd;
    this.#describeLoss = describeLoss;
    process.on("exit", () => this.#writeRest());
  }

  /** @param isUrgent The line is written as soon as the descriptor is free, so that a process that is killed has said why. */
  write(line: string, isUrgent: boolean): void {
    if (this.#isFull(isUrgent)) {
      this.#lost++;
      return;
    }
    this.#add(line);
    const isIdle = this.#held.length === 0;
    if (this.#taken >= batchBytes || (isUrgent && isIdle)) this.#endBatch();
    else this.#timer ??= setTimeout(this.#onTimer, lingerMs).unref();
  }

  /** After a loss, lines that are not urgent wait until everything before them is written: one line then tells of the whole gap. */
  #isFull(isUrgent: boolean): boolean {
    if (isUrgent) return this.#heldBytes >= 2 * maxHeldBytes;
    return this.#lost > 0 || this.#heldBytes >= maxHeldBytes;
  }

  #add(line: string): void {
    const bytes = line.length * maxUnitBytes;
    if (this.#taken + bytes > this.#buffer.length) {
      this.#endBatch();
      if (bytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(Math.max(bytes, bufferBytes));
    }
    this.#taken += this.#buffer.write(line, this.#taken);
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

  /** The batch keeps its buffer until it is written. */
  #hold(batch: Buffer): void {
    if (this.#held.length === 0) this.#retry();
    this.#held.push(batch);
    this.#heldBytes += this.#buffer.length;
    this.#buffer = Buffer.alloc(0);
  }

  /** @returns what the descriptor does not take now */
  #send(batch: Buffer): Buffer {
    let rest = batch;
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return rest;
      // Another error loses the batch: nothing reads the pipe any more, or the disk is full. The process goes on.
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
