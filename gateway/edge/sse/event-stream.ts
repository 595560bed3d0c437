/** Writes a server-sent event stream to a client: one write per batch, backpressure, keep-alive comments, one end. */
import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { SlotArray } from "@sluice/proto/lib/load/slot-array.js";

/**
 * A keep-alive comment: clients ignore it, and proxies see a live connection. Its single line feed makes it part of the next event: a second would end an
 * event without data, at which openai-go up to 3.41 ends the stream.
 */
const comment = ": PROCESSING\n";
/** Time without progress after which a client is disconnected, because its stream holds memory. */
const stuckMs = 60_000;

/** Makes the events of a stream. */
export interface EventSource {
  /** Called when the client has stopped reading: no more events may be made until it reads again. */
  pause(): void;
  /** The client reads again. */
  resume(): void;
}

export class EventStream {
  readonly #response: ServerResponse;
  readonly #keepAlive: KeepAlive;
  readonly #source: EventSource;
  /** Whether the first events were written. */
  begun = false;
  /** Index of the stream in the list for keep-alive comments; undefined before the beginning and after the end. */
  #place: number | undefined;
  #full = false;
  /** performance.now() of the last write accepted by the socket. */
  #movedAt = 0;

  constructor(response: ServerResponse, keepAlive: KeepAlive, source: EventSource) {
    this.#response = response;
    this.#keepAlive = keepAlive;
    this.#source = source;
  }

  /** Writes the first events after the headers. Later failures are events. */
  begin(text: string): void {
    this.begun = true;
    this.#place = this.#keepAlive.add(this);
    this.write(text, true);
  }

  /** @param joins whether the text is joined with text written before or after it in the same turn of the event loop */
  write(text: string, joins = false): void {
    this.#movedAt = performance.now();
    const bytes = Buffer.byteLength(text);
    const encoding = encodingOf(text, bytes);
    const taker = joins ? this.#response : this.#taker;
    const written = taker === this.#response ? text : `${bytes.toString(16)}\r\n${text}\r\n`;
    const taken = taker.write(written, encoding);
    if (taken || this.#full) return;
    this.#full = true;
    taker.once("drain", () => this.#drained());
    this.#source.pause();
  }

  end(text: string): void {
    this.forget();
    this.#response.end(text);
  }

  /** Writes no more comments. */
  forget(): void {
    if (this.#place !== undefined) this.#keepAlive.delete(this.#place);
    this.#place = undefined;
  }

  /** Called at intervals: writes a comment into a silent stream, and disconnects a stuck client. */
  tick(now: number, silenceMs: number): void {
    const silentMs = now - this.#movedAt;
    if (this.#full) {
      if (silentMs > stuckMs) this.#response.destroy();
    } else if (silentMs >= silenceMs) this.write(comment);
  }

  /**
   * The connection itself, for writing a chunk (RFC 9112, 7.1) in one piece instead of Node's four. The response when Node must write: while an earlier
   * answer of the connection is not out, and for HTTP/1.0, which has no chunks.
   */
  get #taker(): Writable {
    const { socket, req: request } = this.#response;
    return socket !== null && socket.writable && request.httpVersion === "1.1" ? socket : this.#response;
  }

  #drained(): void {
    this.#full = false;
    this.#movedAt = performance.now();
    this.#source.resume();
  }
}

/** The encoding fastest for Node: a text with as many characters as bytes is ASCII, and can be copied. */
export const encodingOf = (text: string, bytes: number): "latin1" | "utf8" =>
  bytes === text.length ? "latin1" : "utf8";

/** Serves all streams with one timer, because ten thousand timers would cost more than the comments. */
export class KeepAlive extends SlotArray<EventStream> {
  #timer: NodeJS.Timeout | undefined;

  /** @param silenceMs maximum silence on a stream */
  constructor(silenceMs: number) {
    super();
    this.change(silenceMs);
  }

  /** Changes the interval, for open streams as well. */
  change(silenceMs: number): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(
      () => {
        const now = performance.now();
        for (const stream of this.values()) stream.tick(now, silenceMs);
      },
      Math.min(1_000, Math.max(10, silenceMs / 4)),
    );
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
