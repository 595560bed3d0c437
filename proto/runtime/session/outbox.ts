/**
 * Collects the frames of a session: one message for all frames of one event loop turn.
 *
 * After a turn without frames, the first ones leave at the end of the callback that brings them, and not at the end of the turn: the socket
 * is then written in the same turn. Under load there is no such turn, and messages stay few.
 *
 * While the stream takes no more, frames wait by key, and the keys take turns when it does again: beside a thousand slow readers with their credit
 * of frames each, a frame of another key waited behind all of these for two seconds.
 */
import type { Open } from "../../gen/sluice/inference/v1/session_pb.ts";

/** A message is cut at this size, so that a small frame waits for one megabyte at most; a larger frame travels alone. */
export const maxSessionMessageBytes = 1024 * 1024;

/** Cost that one turn may have in flight, which bounds memory under slow readers. */
export const turnCredit = 128 * 1024;

/**
 * Cost of an event beside its texts, which is its size in the gateway and in its stream to a client: the memory of slow readers is bounded by its
 * size there, some ten times that on the wire.
 */
export const eventCost = 240;

/** Larger inputs travel on a second session, so that an image never delays small turns. */
export const largeInputBytes = 256 * 1024;

/** Approximate size of a turn's request in bytes. */
export const measureOpen = ({ request }: Open): number =>
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
  /** Frames by key that came while the stream was full, the key whose turn is next first. */
  readonly #waiting = new Map<string, WaitingFrame<Frame>[]>();
  /** Changes with every flush: a sender whose last frame has this generation may still add to that frame. */
  generation = 0;

  /** @param write sends one message; false asks for a pause until `drained()` */
  constructor(write: (frames: Frame[]) => boolean) {
    this.#write = write;
  }

  /** @param bytes approximate size of the frame @param key whose frame it is: those of one key keep their order */
  push(frame: Frame, bytes: number, key = ""): void {
    if (this.#full) return this.#keepWaiting(frame, bytes, key);
    if (this.#bytes + bytes > maxSessionMessageBytes) this.flush();
    this.#frames.push(frame);
    this.#bytes += bytes;
    if (this.#isBusy || this.#full) return;
    this.#isBusy = true;
    process.nextTick(this.#fire);
  }

  /** Counts bytes added to a frame that was pushed already. False when the message is full and a new frame is needed. */
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

  /** The stream accepts data again: frames that wait leave in messages, a frame of each key in turn. */
  drained(): void {
    this.#full = false;
    this.flush();
    while (!this.#full && this.#waiting.size > 0) {
      this.#collectWaiting();
      this.flush();
    }
  }

  /** Collects a message of frames that wait. */
  #collectWaiting(): void {
    for (const [key, waiting] of this.#waiting) {
      const { frame, bytes } = waiting.shift() as WaitingFrame<Frame>;
      this.#frames.push(frame);
      this.#bytes += bytes;
      this.#waiting.delete(key);
      // A Map is read in the order of its insertions, so this key comes after all others.
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
