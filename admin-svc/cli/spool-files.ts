/** Reads the spool files of inference processes: files still to be delivered, and files kept after delivery. */
import { readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { endOfLine, readFrame } from "@sluice/proto/lib/ledger/frame.js";
import { RecordBatch } from "@sluice/proto/lib/ledger/record-batch.js";
import { type SpoolFileName, deliveredFolder, parseSpoolFileName } from "@sluice/proto/lib/ledger/spool-files.js";
import { callNameIn, lineKind } from "@sluice/proto/lib/ledger/spool-line.js";

/** Maximum number of records in a batch; a turn with more records makes a larger batch. */
const maxRecords = 500;

export interface SpoolFile extends SpoolFileName {
  readonly path: string;
  /** Whether the file had been fully delivered when it was found. */
  readonly isDelivered: boolean;
}

/**
 * Finds the spool files in a folder and its subfolders, in the order of writing. A running process may move a file to
 * the folder of delivered files meanwhile; that folder is searched last, so no file is missed.
 */
export function findSpoolFiles(directory: string): readonly SpoolFile[] {
  const files = new Map<string, SpoolFile>();
  for (const path of [...pathsIn(directory, false), ...pathsIn(directory, true)]) {
    const name = parseSpoolFileName(basename(path));
    const isDelivered = basename(dirname(path)) === deliveredFolder;
    if (name) files.set(basename(path), { ...name, path, isDelivered });
  }
  return [...files].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, file]) => file);
}

function pathsIn(directory: string, isDelivered: boolean): string[] {
  const isSought = (folder: string): boolean => (basename(folder) === deliveredFolder) === isDelivered;
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isSought(entry.parentPath))
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** The two lines of the spool that record one call. */
interface EndedCall {
  readonly start: string;
  readonly end: string;
}

/**
 * Reads all records of spool files in batches. The two lines of a call may be in different files. A turn's calls are in
 * the same batch as the turn's record, because the day of the turn decides whether they are stored. Calls without a
 * record of their turn come last.
 */
export class SpoolFiles {
  readonly #files: readonly SpoolFile[];
  readonly #batch = new RecordBatch(1024 * 1024);
  /** Start lines of calls without an end line so far, by the names of the calls. */
  readonly #starts = new Map<string, string>();
  /** Ended calls without a record of their turn so far, by the ids of the turns. */
  readonly #ended = new Map<string, EndedCall[]>();
  /** Boot ids of processes with a file that cannot be read to its end. */
  readonly #unreadable = new Set<string>();
  /** Number of calls left out because the file with their start line is gone. */
  withoutStart = 0;

  constructor(files: readonly SpoolFile[]) {
    this.#files = files;
  }

  /** Number of processes with a damaged file. The rest of a damaged file is left out. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  /**
   * Boot ids of ended processes with all of their spool files read; known once all batches are read. A call
   * of theirs without a record never began. Empty if calls were left out.
   */
  get wholeStarts(): readonly string[] {
    if (this.withoutStart > 0) return [];
    const ofStart = (id: string): readonly SpoolFile[] => this.#files.filter(({ bootId }) => bootId === id);
    const isWhole = (id: string): boolean =>
      !this.#unreadable.has(id) && ofStart(id).every((file, at) => file.isDelivered && file.number === at + 1);
    return [...new Set(this.#files.map(({ bootId }) => bootId))].filter(isWhole);
  }

  /** Yields batches; each is valid until the next is requested. */
  *batches(): Generator<RecordBatch> {
    for (const file of this.#files) yield* this.#batchesOf(file);
    for (const turn of this.#ended.keys()) yield* this.#addCalls(turn, 0);
    if (this.#batch.count > 0) yield this.#batch;
  }

  *#batchesOf(file: SpoolFile): Generator<RecordBatch> {
    const bytes = readEither(file);
    if (bytes === undefined) {
      this.#unreadable.add(file.bootId);
      return;
    }
    let frame = readFrame(bytes, 0);
    for (; typeof frame === "object"; frame = readFrame(bytes, frame.end))
      for (const [at, end] of linesOf(bytes, frame)) yield* this.#add(bytes, at, end);
    // A partial frame at the end of a file is no damage: it was never acknowledged.
    if (frame === "broken") this.#unreadable.add(file.bootId);
  }

  *#add(bytes: Buffer, at: number, end: number): Generator<RecordBatch> {
    const kind = lineKind(bytes, at);
    if (kind === "start") this.#starts.set(callNameIn(bytes, at), bytes.toString("latin1", at, end));
    else if (kind === "end") this.#end(bytes, at, end);
    else if (kind === "turn") {
      yield* this.#addCalls(turnOf(bytes.toString("latin1", at, end)), 1);
      this.#batch.addTurn(bytes, at, end);
    } else if (kind === "whole") {
      yield* this.#makeRoom(1);
      this.#batch.addWhole(bytes, at, end);
    }
  }

  #end(bytes: Buffer, at: number, end: number): void {
    const call = callNameIn(bytes, at);
    const start = this.#starts.get(call);
    this.#starts.delete(call);
    if (start === undefined) return void this.withoutStart++;
    const turn = turnOf(start);
    const calls = this.#ended.get(turn) ?? [];
    this.#ended.set(turn, calls);
    calls.push({ start, end: bytes.toString("latin1", at, end) });
  }

  /** @param others number of further records to keep in the same batch */
  *#addCalls(turn: string, others: number): Generator<RecordBatch> {
    const calls = this.#ended.get(turn) ?? [];
    this.#ended.delete(turn);
    yield* this.#makeRoom(calls.length + others);
    for (const call of calls) {
      const [start, end] = [Buffer.from(call.start, "latin1"), Buffer.from(call.end, "latin1")];
      this.#batch.addWithRecord(start, 0, start.length, end, 0, end.length);
    }
  }

  *#makeRoom(count: number): Generator<RecordBatch> {
    if (this.#batch.count === 0 || this.#batch.count + count <= maxRecords) return;
    yield this.#batch;
    this.#batch.clear();
  }
}

/** Extracts the turn's id from the line of a turn or of a call's start. No client text precedes it in the line. */
const turnOf = (line: string): string => /"generationId":"([^"]*)"/.exec(line)?.[1] ?? "";

function* linesOf(bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }) {
  for (let at = start; at < end; at = endOfLine(bytes, at, end) + 1) yield [at, endOfLine(bytes, at, end)] as const;
}

/** Reads a file that its process may have moved to the folder of delivered files; undefined when it is gone. */
function readEither({ path }: SpoolFile): Buffer | undefined {
  for (const place of [path, join(dirname(path), deliveredFolder, basename(path))]) {
    try {
      return readFileSync(place);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return undefined;
}
