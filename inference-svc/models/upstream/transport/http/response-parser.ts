/** Divides the bytes of a connection into responses as they arrive: only a head that is not complete is kept. */
import { ChunkedBody } from "./chunked-body.ts";
import { ConnectionError, invalidResponse } from "./connection-error.ts";
import { HeadScanner } from "./head-scanner.ts";
import { ResponseHead, noLength } from "./response-head.ts";

export interface ResponseSink {
  head(head: ResponseHead): void;
  /** @param bytes never empty; valid only during the call, because the next read overwrites them */
  data(bytes: Buffer): void;
  end(): void;
}

// States of the parser, by the part of a response that comes next.
const inHead = 0;
const inCountedBody = 1;
const inChunkedBody = 2;
const inTrailers = 3;
const inEndlessBody = 4;

const noContent = 204;
const notModified = 304;
const switching = 101;

export class ResponseParser {
  readonly #sink: ResponseSink;
  readonly #heads = new HeadScanner();
  readonly #chunks = new ChunkedBody();
  /** The part of a head that earlier reads have brought. */
  #headText = "";
  #part = inHead;
  #left = 0;
  #isStopped = false;
  /** Whether a request waits for its response; if not, any byte is an error. */
  isExpecting = false;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** Ignores all further bytes. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Whether the end of the connection is the end of the response. */
  get endsWithConnection(): boolean {
    return this.#part === inEndlessBody;
  }

  /**
   * Reads bytes. @param bytes of a chunked body are moved together within this buffer
   * @throws ConnectionError
   */
  feed(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.#isStopped) {
      switch (this.#part) {
        case inHead:
          at = this.#readHead(bytes, at);
          break;
        case inCountedBody:
          at = this.#readCounted(bytes, at);
          break;
        case inChunkedBody:
          at = this.#readChunked(bytes, at);
          break;
        case inTrailers:
          at = this.#readTrailers(bytes, at);
          break;
        default:
          this.#sink.data(bytes.subarray(at));
          return;
      }
    }
  }

  /**
   * Reads a head. Some servers send an empty line after a body; anything else outside of a response is an error,
   * because it could be taken for the answer to the next request.
   */
  #readHead(bytes: Buffer, from: number): number {
    const at = this.#heads.isAtStart ? this.#heads.skipEmptyLines(bytes, from) : from;
    if (at === bytes.length) return at;
    if (!this.isExpecting) throw new ConnectionError("ERR_INVALID_HTTP_RESPONSE", "bytes that no request asked for");
    const end = this.#heads.scan(bytes, at);
    this.#headText += bytes.toString("latin1", at, end === -1 ? bytes.length : end);
    if (end === -1) return bytes.length;
    const head = new ResponseHead(this.#headText);
    this.#headText = "";
    if (head.status < 200) this.#passInformational(head);
    else this.#begin(head);
    return end;
  }

  /**
   * Passes over an informational response. An upgrade is an error, since no request has asked for one, and so is a
   * closing connection, after which no final response comes.
   */
  #passInformational({ status, keepsAlive }: ResponseHead): void {
    if (status === switching || !keepsAlive) throw invalidResponse(`unexpected status ${status}`);
    this.#heads.restartAfterInformational();
  }

  #begin(head: ResponseHead): void {
    const { contentLength, isChunked } = head;
    const isEmpty = head.status === noContent || head.status === notModified;
    this.#left = isEmpty ? 0 : contentLength;
    this.#part = inCountedBody;
    if (isChunked && !isEmpty) {
      this.#part = inChunkedBody;
      this.#chunks.restart();
    } else if (this.#left === noLength) {
      this.#part = inEndlessBody;
      head.keepsAlive = false;
    }
    this.#sink.head(head);
    if (isEmpty && contentLength > 0) throw invalidResponse(`status ${head.status} with a body`);
    if (this.#part === inCountedBody && this.#left === 0) this.finish();
  }

  #readCounted(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#left);
    this.#left -= end - from;
    this.#sink.data(bytes.subarray(from, end));
    if (this.#left === 0) this.finish();
    return end;
  }

  #readChunked(bytes: Buffer, from: number): number {
    const chunks = this.#chunks;
    try {
      chunks.read(bytes, from);
    } finally {
      // The bytes in front of an error are part of the answer.
      if (chunks.to > from) this.#sink.data(bytes.subarray(from, chunks.to));
    }
    if (chunks.isOver) {
      this.#part = inTrailers;
      this.#heads.restartForTrailers();
    }
    return chunks.at;
  }

  /** Reads trailers, which are ignored: a length in them comes too late. */
  #readTrailers(bytes: Buffer, from: number): number {
    const end = this.#heads.scan(bytes, from);
    if (end === -1) return bytes.length;
    this.finish();
    return end;
  }

  /** Ends the response. For a body without a length, the connection calls this when it ends. */
  finish(): void {
    if (this.#isStopped) return;
    this.#part = inHead;
    this.#headText = "";
    this.#heads.restart();
    this.isExpecting = false;
    this.#sink.end();
  }
}
