/** Reads the records of calls that are over out of the spool, in the order in which they were written, while it is being written. */
import { type FileHandle, open } from "node:fs/promises";
import { readFrames } from "./frame.ts";
import type { Segment, Spool } from "./spool.ts";

const readBytes = 1024 * 1024;
/** Of the line of an end. */
const closing = "c".charCodeAt(0);

/** Up to where the spool was read. */
export interface Position {
  readonly segment: Segment;
  readonly offset: number;
}

export interface Portion {
  /** JSON, each a call that is over. */
  readonly records: readonly Buffer[];
  /** Where the next portion begins, once this one is delivered. */
  readonly next: Position;
}

export class SpoolReader {
  readonly #spool: Spool;
  readonly #onBroken: (segment: Segment, offset: number) => void;
  #position: Position;
  #file: { readonly path: string; readonly handle: FileHandle } | undefined;

  /** @param onBroken a file goes on with what is no record: the rest of it cannot be read */
  constructor(spool: Spool, onBroken: (segment: Segment, offset: number) => void) {
    this.#spool = spool;
    this.#onBroken = onBroken;
    this.#position = { segment: spool.segments[0] as Segment, offset: 0 };
  }

  /** Undefined when everything that was written is read. @param most records */
  async read(most: number): Promise<Portion | undefined> {
    const records: Buffer[] = [];
    let at: Position | undefined = this.#position;
    let next = at;
    while (at && records.length < most) {
      const { lines, end } = await this.#lines(at, most - records.length);
      for (const line of lines) if (line[0] === closing) records.push(line.subarray(1));
      next = { segment: at.segment, offset: end };
      at = lines.length > 0 ? next : this.#after(at.segment);
      if (at) next = at;
    }
    if (next.segment === this.#position.segment && next.offset === this.#position.offset) return undefined;
    return { records, next };
  }

  /** What lies before it is delivered, and need not be kept. */
  advance(position: Position): void {
    this.#position = position;
    const at = this.#spool.segments.indexOf(position.segment);
    const delivered = new Set(this.#spool.segments.slice(0, at));
    this.#spool.trim((segment) => delivered.has(segment));
  }

  async close(): Promise<void> {
    await this.#file?.handle.close();
    this.#file = undefined;
  }

  async #lines({ segment, offset }: Position, most: number): Promise<{ lines: readonly Buffer[]; end: number }> {
    const handle = await this.#handleOf(segment);
    const buffer = Buffer.allocUnsafe(Math.min(readBytes, Math.max(0, segment.size - offset)));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
    const { records: lines, end, broken } = readFrames(buffer.subarray(0, bytesRead), most);
    if (!broken || !segment.sealed) return { lines, end: offset + end };
    this.#onBroken(segment, offset + end);
    return { lines, end: segment.size };
  }

  #after(segment: Segment): Position | undefined {
    const { segments } = this.#spool;
    const following = segment.sealed ? segments[segments.indexOf(segment) + 1] : undefined;
    return following && { segment: following, offset: 0 };
  }

  async #handleOf({ path }: Segment): Promise<FileHandle> {
    if (this.#file?.path !== path) {
      await this.close();
      this.#file = { path, handle: await open(path, "r") };
    }
    return this.#file.handle;
  }
}
