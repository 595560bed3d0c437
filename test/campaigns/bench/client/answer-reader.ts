/** Reads HTTP/1.1 answers from a keep-alive socket: the status, then the body without its chunk framing. */

export interface AnswerEvents {
  status(code: number): void;
  body(bytes: Buffer): void;
  end(): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const lineEnd = Buffer.from("\r\n");
const empty: Buffer = Buffer.alloc(0);

type Phase = "head" | "sized" | "chunkSize" | "chunk" | "chunkEnd" | "trailer";

export class AnswerReader {
  readonly #events: AnswerEvents;
  #pending = empty;
  #phase: Phase = "head";
  /** Bytes left of the body, or of the current chunk. */
  #left = 0;

  constructor(events: AnswerEvents) {
    this.#events = events;
  }

  /** @throws for data that are not HTTP */
  feed(bytes: Buffer): void {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    while (this.#step());
  }

  /** @returns false when more bytes are needed */
  #step(): boolean {
    switch (this.#phase) {
      case "head":
        return this.#head();
      case "sized":
      case "chunk":
        return this.#content();
      case "chunkSize":
        return this.#chunkSize();
      case "chunkEnd":
        return this.#line(() => (this.#phase = "chunkSize"));
      case "trailer":
        return this.#line((line) => line === "" && this.#finish());
    }
  }

  #take(length: number): Buffer {
    const taken = this.#pending.subarray(0, length);
    this.#pending = this.#pending.length === length ? empty : this.#pending.subarray(length);
    return taken;
  }

  #head(): boolean {
    const end = this.#pending.indexOf(headEnd);
    if (end === -1) return false;
    const head = this.#take(end + headEnd.length).toString("latin1");
    const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1];
    if (status === undefined) throw new Error(`not an HTTP answer: ${head.slice(0, 80)}`);
    this.#events.status(Number(status));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) this.#phase = "chunkSize";
    else {
      this.#phase = "sized";
      this.#left = Number(length);
      if (this.#left === 0) this.#finish();
    }
    return true;
  }

  #content(): boolean {
    if (this.#pending.length === 0) return false;
    const bytes = this.#take(Math.min(this.#left, this.#pending.length));
    this.#left -= bytes.length;
    this.#events.body(bytes);
    if (this.#left > 0) return false;
    if (this.#phase === "chunk") this.#phase = "chunkEnd";
    else this.#finish();
    return true;
  }

  #chunkSize(): boolean {
    return this.#line((line) => {
      this.#left = Number.parseInt(line, 16);
      if (Number.isNaN(this.#left)) throw new Error(`not the size of a chunk: ${line.slice(0, 80)}`);
      this.#phase = this.#left === 0 ? "trailer" : "chunk";
    });
  }

  #line(use: (line: string) => void): boolean {
    const end = this.#pending.indexOf(lineEnd);
    if (end === -1) return false;
    use(this.#take(end + lineEnd.length).toString("latin1", 0, end));
    return true;
  }

  #finish(): void {
    this.#phase = "head";
    this.#events.end();
  }
}
