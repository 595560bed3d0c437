/** Reads the records of finished calls and turns from the spool, in the order in which they were written, while more are being written. */
import { type FileHandle, open } from "node:fs/promises";
import { RecordBatch } from "@sluice/proto/lib/ledger/record-batch.js";
import { type LineFrame, endOfLine, readFrame } from "@sluice/proto/lib/ledger/frame.js";
import { callNameIn, lineKind } from "@sluice/proto/lib/ledger/spool-line.js";
import type { Segment, Spool } from "./spool.ts";

/** Bytes of the read buffer, enough for all calls of one delivery, and for the longest frame. */
const readBytes = 1024 * 1024;

/** A position in the spool. */
export interface SpoolPosition {
  readonly segment: Segment;
  readonly offset: number;
}

/** Records and call starts between two positions of the spool. */
export class SpoolPortion {
  /**
   * The records; valid until the next portion is read, because all portions share a buffer: only full garbage
   * collections would free separate ones.
   */
  readonly records: RecordBatch;
  /** Lines of calls that start in the portion and do not end in it, by call name. */
  readonly opened = new Map<string, string>();
  /** Names of calls that end in the portion and started in an earlier one. */
  readonly ended: string[] = [];
  /** Position of the next portion, used once this one is delivered. */
  next: SpoolPosition;

  constructor(next: SpoolPosition, records: RecordBatch) {
    this.next = next;
    this.records = records;
  }
}

/** Where a line stands in the bytes read. */
interface Line {
  readonly at: number;
  readonly end: number;
}

/** The start of a call whose end is not yet delivered. */
interface Start {
  readonly segment: Segment;
  readonly line: string;
}

export class SpoolReader {
  readonly #spool: Spool;
  readonly #onBroken: (segment: Segment, offset: number) => void;
  readonly #buffer = Buffer.allocUnsafeSlow(readBytes);
  /** Buffer for the records of a portion. No record is longer than its lines. */
  readonly #records = new RecordBatch(readBytes);
  readonly #starts = new Map<string, Start>();
  /** Lines of the frame read last. */
  readonly #lines: Line[] = [];
  #position: SpoolPosition;
  #file: { readonly path: string; readonly handle: FileHandle } | undefined;

  /** @param onBroken called when damaged bytes follow in a file, so its rest cannot be read */
  constructor(spool: Spool, onBroken: (segment: Segment, offset: number) => void) {
    this.#spool = spool;
    this.#onBroken = onBroken;
    this.#position = { segment: spool.segments[0] as Segment, offset: 0 };
  }

  /** Number of unread bytes in the spool. */
  get unreadBytes(): number {
    const { segments } = this.#spool;
    let bytes = -this.#position.offset;
    for (let at = segments.indexOf(this.#position.segment); at < segments.length; at++) {
      bytes += (segments[at] as Segment).size;
    }
    return bytes;
  }

  /** Whether all files of earlier starts of the process are read. */
  get hasReadEarlier(): boolean {
    return this.#position.segment.isOwn || this.unreadBytes === 0;
  }

  /**
   * Reads the next records. The same portion is returned until it is marked as delivered.
   * @param maxRecords maximum number of records
   * @returns undefined when there are none
   */
  async read(maxRecords: number): Promise<SpoolPortion | undefined> {
    for (;;) {
      const at = this.#position;
      const { segment, offset } = at;
      const wasSealed = segment.sealed;
      const bytes = await this.#bytes(at);
      const portion = bytes ? this.#portion(at, bytes, maxRecords) : this.#skip(segment, offset);
      if (portion.next.offset > offset) return portion;
      // A mark that is not at the end of a frame does not count.
      if (offset < segment.delivered) segment.delivered = offset;
      // A file closed meanwhile may have got more records before.
      else if (!(wasSealed ? this.#leave(segment) : segment.sealed)) return undefined;
    }
  }

  /** Goes on to the file after one that is read to its end, even if it is still empty. @returns whether there is one */
  #leave(segment: Segment): boolean {
    const { segments } = this.#spool;
    const following = segments[segments.indexOf(segment) + 1];
    if (following === undefined) return false;
    this.#position = { segment: following, offset: 0 };
    this.#trim();
    return true;
  }

  /** Marks a portion and everything before it as delivered. */
  advance({ opened, ended, next }: SpoolPortion): void {
    const { segment } = next;
    for (const [call, line] of opened) this.#starts.set(call, { segment, line });
    segment.open += opened.size;
    for (const call of ended) {
      const start = this.#starts.get(call);
      if (start) start.segment.open--;
      this.#starts.delete(call);
    }
    this.#position = next;
    if (next.offset > segment.delivered) this.#spool.mark(segment, next.offset);
    this.#trim();
  }

  #trim(): void {
    const delivered = new Set(this.#spool.segments.slice(0, this.#spool.segments.indexOf(this.#position.segment)));
    this.#spool.trim((oldest) => delivered.has(oldest));
  }

  async close(): Promise<void> {
    await this.#file?.handle.close();
    this.#file = undefined;
  }

  /** Skips the rest of a file that cannot be read. */
  #skip(segment: Segment, offset: number): SpoolPortion {
    if (segment.size > offset) this.#onBroken(segment, offset);
    this.#records.clear();
    return new SpoolPortion({ segment, offset: segment.size }, this.#records);
  }

  /** Reads bytes at a position. @returns undefined when the file was removed from outside, and the process writes another one */
  async #bytes({ segment, offset }: SpoolPosition): Promise<Buffer | undefined> {
    const handle = await this.#handleOf(segment).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" && segment.sealed) return undefined;
      throw error;
    });
    if (!handle) return undefined;
    const until = offset < segment.delivered ? segment.delivered : segment.size;
    const wanted = Math.min(this.#buffer.length, Math.max(0, until - offset));
    if (wanted === 0) return this.#buffer.subarray(0, 0);
    const { bytesRead } = await handle.read(this.#buffer, 0, wanted, offset);
    return this.#buffer.subarray(0, bytesRead);
  }

  #portion({ segment, offset }: SpoolPosition, bytes: Buffer, maxRecords: number): SpoolPortion {
    this.#records.clear();
    const portion = new SpoolPortion({ segment, offset }, this.#records);
    const opened = new Map<string, Line>();
    let at = 0;
    for (;;) {
      const frame = readFrame(bytes, at);
      if (frame === "broken" && segment.sealed) {
        this.#onBroken(segment, offset + at);
        at = segment.size - offset;
        break;
      }
      if (typeof frame === "string" || !hasRoom(portion, this.#findLines(bytes, frame), maxRecords)) break;
      this.#take(bytes, portion, opened);
      at = frame.end;
    }
    portion.next = { segment, offset: offset + at };
    // An earlier start has delivered these records; only their calls without an end are needed.
    if (offset < segment.delivered) this.#records.clear();
    for (const [call, line] of opened) portion.opened.set(call, bytes.toString("latin1", line.at, line.end));
    return portion;
  }

  /** Finds the lines of a frame. @returns the number of records among them */
  #findLines(bytes: Buffer, frame: LineFrame): number {
    let count = 0;
    this.#lines.length = 0;
    for (let at = frame.start, end = 0; at < frame.end; at = end + 1) {
      end = endOfLine(bytes, at, frame.end);
      this.#lines.push({ at, end });
      const kind = lineKind(bytes, at);
      if (kind === "end" || kind === "whole" || kind === "turn") count++;
    }
    return count;
  }

  /** Adds the lines of the frame read last. @param opened call starts without an end so far */
  #take(bytes: Buffer, portion: SpoolPortion, opened: Map<string, Line>): void {
    for (const line of this.#lines) {
      const kind = lineKind(bytes, line.at);
      if (kind === "start") opened.set(callNameIn(bytes, line.at), line);
      else if (kind === "turn") portion.records.addTurn(bytes, line.at, line.end);
      else if (kind === "end" || kind === "whole") this.#end(bytes, line, portion, opened);
    }
  }

  #end(bytes: Buffer, line: Line, { records, ended }: SpoolPortion, opened: Map<string, Line>): void {
    const call = callNameIn(bytes, line.at);
    const start = opened.get(call);
    if (!opened.delete(call)) ended.push(call);
    if (lineKind(bytes, line.at) === "whole") records.addWhole(bytes, line.at, line.end);
    else if (start !== undefined) records.addWithRecord(bytes, start.at, start.end, bytes, line.at, line.end);
    else this.#endEarlier(call, bytes, line, records);
  }

  /**
   * Adds the record of a call whose start was in an earlier portion. An end without any start was delivered by an
   * earlier start of the process.
   */
  #endEarlier(call: string, bytes: Buffer, line: Line, records: RecordBatch): void {
    const earlier = this.#starts.get(call);
    if (earlier === undefined) return;
    const start = Buffer.from(earlier.line, "latin1");
    records.addWithRecord(start, 0, start.length, bytes, line.at, line.end);
  }

  async #handleOf({ path }: Segment): Promise<FileHandle> {
    if (this.#file?.path !== path) {
      await this.close();
      this.#file = { path, handle: await open(path, "r") };
    }
    return this.#file.handle;
  }
}

const hasRoom = ({ records }: SpoolPortion, added: number, maxRecords: number): boolean =>
  records.count === 0 || records.count + added <= maxRecords;
