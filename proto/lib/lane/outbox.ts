/**
 * Collects the frames of a session: one message for all frames of one event loop turn.
 *
 * After a turn without frames, the first frames leave at the end of their callback, not at the end of the turn: the socket is then written in the same
 * turn. Under load there is no such turn, and messages stay few.
 *
 * While the stream is full, frames wait by key, and afterwards the keys take turns: behind the frames of a thousand slow readers, each with its full
 * credit, a frame of another key waited for two seconds.
 */
import type { Open } from "../../gen/sluice/inference/v1/session_pb.ts";

/** Maximum message size, so a small frame waits for one megabyte at most; a larger frame gets a separate message. */
export const maxSessionMessageBytes = 1024 * 1024;

/** Cost of the events one turn may have in flight, which bounds memory under slow readers. */
export const turnCredit = 128 * 1024;

/**
 * Cost of an event in addition to its texts: its size in the gateway and in its stream to a client. Some ten times the size on the wire, it bounds the
 * memory of slow readers.
 */
export const eventCost = 240;

/** Larger inputs travel on a second session, so an image never delays small turns. */
export const largeInputBytes = 256 * 1024;

/** Approximate size of a turn's request in bytes. */
export const measureOpenMessage = ({ request }: Open): number =>
  256 + (request?.inputJson.length ?? 0) + (request?.toolsJson.length ?? 0);

interface WaitingFrame<Frame> {
  readonly frame: Frame;
  readonly bytes: number;
}

export class Outbox<Frame> {
  readonly #write: (frames: Frame[]) => boolean;
  #frames: Frame[] = [];
  #bytes = 0;
  /** Whether frames will be flushed in this turn of the event loop, or were in the last one. */
  #isBusy = false;
  #full = false;
  /** Frames by key, waiting for a full stream; the next key comes first. */
  readonly #waiting = new Map<string, WaitingFrame<Frame>[]>();
  /** Changes with every flush: a sender whose last frame has this generation may still add to it. */
  generation = 0;

  /** @param write sends one message; false requests a pause until `drained()` */
  constructor(write: (frames: Frame[]) => boolean) {
    this.#write = write;
  }

  /** @param bytes approximate size of the frame @param key of the frame: frames of the same key keep their order */
  push(frame: Frame, bytes: number, key = ""): void {
    if (this.#full) return this.#keepWaiting(frame, bytes, key);
    if (this.#bytes + bytes > maxSessionMessageBytes) this.flush();
    this.#frames.push(frame);
    this.#bytes += bytes;
    if (this.#isBusy || this.#full) return;
    this.#isBusy = true;
    process.nextTick(this.#fire);
  }

  /** Counts bytes added to a pushed frame. False when the message is full and a new frame is needed. */
  grow(bytes: number): boolean {
    if (this.#full || this.#bytes + bytes > maxSessionMessageBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  flush(): void {
    if (this.#frames.length === 0) return;
    const frames = this.#frames;
    this.#frames = [];
    this.#bytes = 0;
    this.generation++;
    this.#full = !this.#write(frames);
  }

  #keepWaiting(frame: Frame, bytes: number, key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting) waiting.push({ frame, bytes });
    else this.#waiting.set(key, [{ frame, bytes }]);
  }

  /** The stream accepts data again: waiting frames leave in messages, a frame of each key in turn. */
  drained(): void {
    this.#full = false;
    this.flush();
    while (!this.#full && this.#waiting.size > 0) {
      this.#collectWaiting();
      this.flush();
    }
  }

  /** Collects a message of waiting frames. */
  #collectWaiting(): void {
    for (const [key, waiting] of this.#waiting) {
      const { frame, bytes } = waiting.shift() as WaitingFrame<Frame>;
      this.#frames.push(frame);
      this.#bytes += bytes;
      this.#waiting.delete(key);
      // A Map keeps the order of insertion, so this key comes after all others.
      if (waiting.length > 0) this.#waiting.set(key, waiting);
      if (this.#bytes >= maxSessionMessageBytes) return;
    }
  }

  readonly #fire = (): void => {
    this.#isBusy = !this.#full && this.#frames.length > 0;
    if (!this.#isBusy) return;
    this.flush();
    setImmediate(this.#fire);
  };
}
