/**
 * Finds the messages in the bytes of a gRPC stream. Each message has a prefix: one byte for compression, and four for
 * its length.
 */
import { Fault, FaultReason } from "../faults/fault.ts";

const prefixBytes = 5;

/** Receives a message. @param bytes contain the message from `start` to `end`; the listener may keep them */
export type MessageListener = (bytes: Buffer, start: number, end: number) => void;

export class MessageSplitter {
  readonly #maxBytes: number;
  readonly #take: MessageListener;
  /** Prefix of the next message, of which earlier chunks contained only a part. */
  readonly #prefix = Buffer.alloc(prefixBytes);
  #prefixLength = 0;
  /** Message of which earlier chunks contained only a part. */
  #message: Buffer | undefined = undefined;
  #filled = 0;

  constructor(maxBytes: number, take: MessageListener) {
    this.#maxBytes = maxBytes;
    this.#take = take;
  }

  /**
   * Reads a chunk. A message that lies within one chunk is not copied.
   * @throws Fault when a message is compressed or too large, and any error of the listener
   */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#message) at = this.#fill(this.#message, chunk, at);
      else if (this.#prefixLength > 0 || chunk.length - at < prefixBytes) at = this.#fillPrefix(chunk, at);
      else {
        const start = at + prefixBytes;
        const size = this.#sizeIn(chunk, at);
        at = start + size;
        if (at <= chunk.length) this.#take(chunk, start, at);
        else at = this.#begin(size, chunk, start);
      }
    }
  }

  #fillPrefix(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#prefix, this.#prefixLength, at, at + prefixBytes - this.#prefixLength);
    this.#prefixLength += copied;
    if (this.#prefixLength < prefixBytes) return at + copied;
    this.#prefixLength = 0;
    const size = this.#sizeIn(this.#prefix, 0);
    if (size === 0) this.#take(this.#prefix, 0, 0);
    return size === 0 ? at + copied : this.#begin(size, chunk, at + copied);
  }

  #begin(size: number, chunk: Buffer, at: number): number {
    this.#message = Buffer.allocUnsafeSlow(size);
    this.#filled = 0;
    return this.#fill(this.#message, chunk, at);
  }

  #fill(message: Buffer, chunk: Buffer, at: number): number {
    const copied = chunk.copy(message, this.#filled, at);
    this.#filled += copied;
    if (this.#filled === message.length) {
      this.#message = undefined;
      this.#take(message, 0, message.length);
    }
    return at + copied;
  }

  #sizeIn(bytes: Buffer, at: number): number {
    if (bytes[at] !== 0) throw new Fault(FaultReason.INTERNAL, "A message is compressed, without an agreed encoding");
    const size = bytes.readUInt32BE(at + 1);
    if (size > this.#maxBytes) {
      throw new Fault(FaultReason.PAYLOAD_TOO_LARGE, `Message too large: at most ${this.#maxBytes} bytes`);
    }
    return size;
  }
}
