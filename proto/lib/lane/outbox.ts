/**
 * Collects the frames of a session into messages: one message for all frames of one turn of the event loop.
 *
 * If the preceding turn of the event loop had no frames, the first frames are sent at the end of their callback instead
 * of at the end of the turn, so the socket is written in the same turn. Under load no turn is without frames, so
 * messages stay few.
 *
 * While the stream is full, frames wait in queues by key, and afterwards the keys take turns: otherwise a frame of one
 * key waited for two seconds behind the frames of a thousand slow readers of another key.
 */
import type { Open } from "../../gen/sluice/inference/v1/session_pb.ts";

/**
 * Maximum size of a message in bytes, so a small frame waits behind at most a megabyte; a larger frame gets its own
 * message.
 */
export const maxSessionMessageBytes = 1024 * 1024;

/** Maximum cost of events that one turn may have in transit, which limits the memory of slow readers. */
export const turnCredit = 128 * 1024;

/**
 * Cost of an event in addition to its texts, in bytes: its memory in the gateway and in the stream to its client, some
 * ten times its size on the wire.
 */
export const eventCost = 240;

/** Size in bytes from which an input is sent on a second session, so an image never delays small turns. */
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
  /** Whether frames are sent in this turn of the event loop, or were sent in the preceding one. */
  #isBusy = false;
  #full = false;
  /** Frames by key that wait for a full stream; the key at the beginning is served next. */
  readonly #waiting = new Map<string, WaitingFrame<Frame>[]>();
  /** Changes whenever frames are sent: a sender whose last frame has this generation may still extend that frame. */
  generation = 0;

  /** @param write sends one message; false requests a pause until `drained()` is called */
  constructor(write: (frames: Frame[]) => boolean) {
    this.#write = write;
  }

  /**
   * Adds a frame. @param bytes its approximate size @param key queue of the frame; frames of the same key keep their
   * order
   */
  push(frame: Frame, bytes: number, key = ""): void {
    if (this.#full) return this.#keepWaiting(frame, bytes, key);
    if (this.#bytes + bytes > maxSessionMessageBytes) this.flush();
    this.#frames.push(frame);
    this.#bytes += bytes;
    if (this.#isBusy || this.#full) return;
    this.#isBusy = true;
    process.nextTick(this.#fire);
  }

  /** Counts bytes added to the last frame. @returns false when the message is full, so a new frame is needed */
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

  /** Sends waiting frames when the stream accepts data again, a frame of each key in turn. */
  drained(): void {
    this.#full = false;
    this.flush();
    while (!this.#full && this.#waiting.size > 0) {
      this.#collectWaiting();
      this.flush();
    }
  }

  /** Collects one message of waiting frames. */
  #collectWaiting(): void {
    for (const [key, waiting] of this.#waiting) {
      const { frame, bytes } = waiting.shift() as WaitingFrame<Frame>;
      this.#frames.push(frame);
      this.#bytes += bytes;
      this.#waiting.delete(key);
      // A Map keeps the order of insertion, so the key is now behind all others.
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
