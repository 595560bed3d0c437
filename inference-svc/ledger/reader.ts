/** Reads the records of calls that are over out of the spool, in the order in which they were written, while it is being written. */
import { type FileHandle, open } from "node:fs/promises";
import { readFrames } from "./frame.ts";
import type { Segment, Spool } from "./spool.ts";

/** Some hundred records, and more than the longest one. */
const readBytes = 256 * 1024;
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
  readonly #buffer = Buffer.allocUnsafeSlow(readBytes);
  #position: Position;
  #file: { readonly path: string; readonly handle: FileHandle } | undefined;

  /** @param onBroken a file goes on with what is no record: the rest of it cannot be read */
  constructor(spool: Spool, onBroken: (segment: Segment, offset: number) => void) {
    this.#spool = spool;
    this.#onBroken = onBroken;
    this.#position = { segment: spool.segments[0] as Segment, offset: 0 };
  }

  /**
   * Undefined when everything that was written is read. The records are those of the next read only until then.
   * @param most records
   */
  async read(most: number): Promise<Portion | undefined> {
    for (let at: Position | undefined = this.#position; at; at = this.#after(at.segment)) {
      const { lines, end } = await this.#lines(at, most);
      const next = { segment: at.segment, offset: end };
      if (end === at.offset) continue;
      return { records: lines.filter(([letter]) => letter === closing).map((line) => line.subarray(1)), next };
    }
    return undefined;
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
    const wanted = Math.min(this.#buffer.length, Math.max(0, segment.size - offset));
    if (wanted === 0) return { lines: [], end: offset };
    const { bytesRead } = await handle.read(this.#buffer, 0, wanted, offset);
    const { records: lines, end, broken } = readFrames(this.#buffer.subarray(0, bytesRead), most);
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
