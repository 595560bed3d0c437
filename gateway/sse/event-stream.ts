/** A server-sent event stream to one client: one write a batch, backpressure, comments in the silence, one end. */
import type { ServerResponse } from "node:http";

/** A comment: clients ignore it, proxies see that the connection lives. */
const comment = ": PROCESSING\n\n";
/** A client that accepts no byte for this long holds memory for nobody. */
const stuckMs = 60_000;

export class EventStream {
  readonly #response: ServerResponse;
  readonly #keepAlive: KeepAlive;
  readonly #drained: () => void;
  #begun = false;
  #full = false;
  /** performance.now() of the last write that the socket took. */
  #movedAt = performance.now();

  /** @param drained called when a client that did not read reads again */
  constructor(response: ServerResponse, keepAlive: KeepAlive, drained: () => void) {
    this.#response = response;
    this.#keepAlive = keepAlive;
    this.#drained = drained;
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** Status 200 and headers. From here on a failure is an event. */
  begin(headers: Readonly<Record<string, string>>): void {
    this.#begun = true;
    this.#response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      ...headers,
    });
    this.#keepAlive.add(this);
    this.#response.on("close", () => this.#keepAlive.remove(this));
    this.#response.on("drain", () => {
      this.#full = false;
      this.#movedAt = performance.now();
      this.#drained();
    });
  }

  /** False: the client does not read; write no more until `drained`. */
  write(text: string): boolean {
    this.#movedAt = performance.now();
    this.#full = !this.#response.write(text);
    return !this.#full;
  }

  end(text: string): void {
    this.#keepAlive.remove(this);
    this.#response.end(text);
  }

  /** Called every so often: breaks the silence, and the connection of a client that is stuck. */
  tick(now: number, silenceMs: number): void {
    const silentMs = now - this.#movedAt;
    if (this.#full) {
      if (silentMs > stuckMs) this.#response.destroy();
    } else if (silentMs >= silenceMs) this.write(comment);
  }
}

/** One timer for all streams: ten thousand timers would cost more than the comments. */
export class KeepAlive {
  readonly #streams = new Set<EventStream>();
  #timer: NodeJS.Timeout | undefined;

  /** @param silenceMs longest silence on a stream */
  constructor(silenceMs: number) {
    this.change(silenceMs);
  }

  /** Also of the streams that are open. */
  change(silenceMs: number): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(
      () => {
        const now = performance.now();
        for (const stream of this.#streams) stream.tick(now, silenceMs);
      },
      Math.min(1_000, Math.max(10, silenceMs / 4)),
    );
    this.#timer.unref();
  }

  add(stream: EventStream): void {
    this.#streams.add(stream);
  }

  remove(stream: EventStream): void {
    this.#streams.delete(stream);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
