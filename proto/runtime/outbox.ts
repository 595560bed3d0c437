/** Collects the frames of a session: one message for all that became ready in one turn of the event loop. */

/** A message is cut here, so that a small frame waits for one megabyte at most; one larger frame still travels alone. */
export const maxSessionMessageBytes = 1024 * 1024;

/** Cost that one turn may have in flight: what bounds memory under slow readers. */
export const turnCredit = 128 * 1024;

/** Inputs above this travel on a second session, so that an image never queues before small turns. */
export const largeInputBytes = 256 * 1024;

export class Outbox<Frame> {
  readonly #write: (frames: Frame[]) => boolean;
  #frames: Frame[] = [];
  #bytes = 0;
  #armed = false;
  #full = false;
  /** Changes with every flush: a sender whose last frame is of this generation may still add to that frame. */
  generation = 0;

  /** @param write sends one message; false asks for a pause until `drained()` */
  constructor(write: (frames: Frame[]) => boolean) {
    this.#write = write;
  }

  /** @param bytes about the size of the frame */
  push(frame: Frame, bytes: number): void {
    if (this.#bytes + bytes > maxSessionMessageBytes) this.flush();
    this.#frames.push(frame);
    this.#bytes += bytes;
    if (this.#armed || this.#full) return;
    this.#armed = true;
    setImmediate(this.#fire);
  }

  /** Accounts for bytes added to a frame that was pushed already. False: the message is full, push a new frame. */
  grow(bytes: number): boolean {
    if (this.#bytes + bytes > maxSessionMessageBytes) return false;
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

  /** The stream takes more; what gathered meanwhile leaves as one message. */
  drained(): void {
    this.#full = false;
    this.flush();
  }

  readonly #fire = (): void => {
    this.#armed = false;
    if (!this.#full) this.flush();
  };
}
