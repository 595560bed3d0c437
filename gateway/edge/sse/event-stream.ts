/** Writes a stream of server-sent events to a client, with one write per batch, backpressure, keep-alive comments and a single end. */
import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { SlotArray } from "@sluice/proto/lib/load/slot-array.js";

/**
 * A keep-alive comment, which clients ignore and proxies take as a sign of life. It ends in a single line feed, which makes it part of the next
 * event: a second one would end an event without data, and openai-go up to 3.41 ends the stream at such an event.
 */
const comment = ": PROCESSING\n";
/** Time in milliseconds without progress after which a client is disconnected, since its stream holds memory. */
const stuckMs = 60_000;

/** The source of a stream's events, which can be paused. */
export interface EventSource {
  /** Called when the client no longer reads: the source must pause until it reads again. */
  pause(): void;
  /** Called when the client reads again. */
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
  /** Time of the last write that the socket accepted, by performance.now() in milliseconds. */
  #movedAt = 0;

  constructor(response: ServerResponse, keepAlive: KeepAlive, source: EventSource) {
    this.#response = response;
    this.#keepAlive = keepAlive;
    this.#source = source;
  }

  /** Writes the headers and the first events. Later failures become events. */
  begin(text: string): void {
    this.begun = true;
    this.#place = this.#keepAlive.add(this);
    this.write(text, true);
  }

  /** Writes a batch of events. @param joins whether the text may be joined with other text of the same turn of the event loop */
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

  /** Stops the keep-alive comments of this stream. */
  forget(): void {
    if (this.#place !== undefined) this.#keepAlive.delete(this.#place);
    this.#place = undefined;
  }

  /**
   * Called at intervals. Writes a comment into a silent stream, and disconnects a stuck client. @param now performance.now() @param silenceMs maximum
   * silence in milliseconds
   */
  tick(now: number, silenceMs: number): void {
    const silentMs = now - this.#movedAt;
    if (this.#full) {
      if (silentMs > stuckMs) this.#response.destroy();
    } else if (silentMs >= silenceMs) this.write(comment);
  }

  /**
   * The socket itself, to write a chunk (RFC 9112, 7.1) in one piece instead of Node's four. The response, if Node must write: while an earlier
   * answer on the connection is not sent, and for HTTP/1.0, which has no chunks.
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

/** The encoding that Node writes fastest: a text with as many characters as bytes is ASCII, and can be copied. */
export const encodingOf = (text: string, bytes: number): "latin1" | "utf8" =>
  bytes === text.length ? "latin1" : "utf8";

/** Keep-alive comments for all streams with one timer, because ten thousand timers would cost more than the comments. */
export class KeepAlive extends SlotArray<EventStream> {
  #timer: NodeJS.Timeout | undefined;

  /** @param silenceMs maximum silence of a stream in milliseconds */
  constructor(silenceMs: number) {
    super();
    this.change(silenceMs);
  }

  /** Changes the maximum silence, also of open streams. */
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
