/**
 * The files that records wait in until they are in the database. What `append` has returned from survives the end of this process, however it
 * ends; what is older than the sync interval survives that of the machine too.
 *
 * Files are numbered and only ever removed from the oldest on, and only once each call that was begun in them is over and delivered: so
 * the beginning of a call is never gone before its end is safe.
 */
import { closeSync, fdatasync, ftruncateSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "@sluice/proto/runtime/config.js";
import { makePrivateFolder } from "@sluice/proto/runtime/private-folder.js";
import { frameOf } from "./frame.ts";

/** Some twenty thousand records. */
const segmentBytes = 16 * 1024 * 1024;
/** How much a machine that loses its power can take along. */
const syncIntervalMs = 100;

/** One file. */
export interface Segment {
  readonly path: string;
  /** Bytes. */
  size: number;
  /** Nothing more is written to it. */
  sealed: boolean;
  /** Calls that were begun in it and are not over. */
  open: number;
}

const fileName = /^usage-\d{13}-[0-9a-f-]{36}-\d{6}\.log$/;

export interface SpoolOptions {
  /** Of this process alone. */
  readonly directory: string;
  readonly bootId: string;
  readonly startedAtMs: number;
  /** A failure to write through to the disk, which nothing waits for. */
  readonly onSyncFailure: (error: Error) => void;
}

export class Spool {
  readonly #options: SpoolOptions;
  /** Oldest first; the last is written to. */
  readonly segments: Segment[];
  readonly #openedIn = new Map<string, Segment>();
  #file = -1;
  #number = 0;
  #syncing = false;
  #unsynced = false;
  #timer: NodeJS.Timeout | undefined;
  #removing: Promise<void> = Promise.resolve();

  /** @throws when the directory cannot be written to */
  constructor(options: SpoolOptions) {
    this.#options = options;
    try {
      makePrivateFolder(options.directory);
      this.segments = leftIn(options.directory);
      this.#roll();
    } catch (error) {
      throw new ConfigError("environment", [`SLUICE_SPOOL_DIR: cannot be written to: ${(error as Error).message}`]);
    }
  }

  /** Bytes of all files. */
  get size(): number {
    return this.segments.reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * @param call that the line is about
   * @throws when the disk takes nothing: then the line is not written
   */
  append(call: string, line: string): void {
    const frame = frameOf(line);
    if (this.#current.size + frame.length > segmentBytes && this.#current.size > 0) this.#roll();
    const segment = this.#current;
    try {
      writeWhole(this.#file, frame);
    } catch (error) {
      // Half a record would end what is read of the file, and with it everything that is written behind it.
      ftruncateSync(this.#file, segment.size);
      throw error;
    }
    segment.size += frame.length;
    this.#count(call, line, segment);
    this.#syncSoon();
  }

  /** Removes what is delivered. @param delivered whether all of a file is */
  trim(delivered: (segment: Segment) => boolean): void {
    for (;;) {
      const [oldest] = this.segments;
      if (!oldest?.sealed || oldest.open > 0 || !delivered(oldest)) return;
      this.segments.shift();
      // Beside the process: to give back sixteen megabytes takes long. One after the other: an end must not go before its beginning. What stays for
      // want of it is delivered again, and stored once.
      this.#removing = this.#removing.then(() => unlink(oldest.path)).catch(() => {});
    }
  }

  /** @param delivered whether nothing is left that a next start would have to read */
  close(delivered: boolean): void {
    clearTimeout(this.#timer);
    closeSync(this.#file);
    if (delivered) for (const { path } of this.segments) rmSync(path, { force: true });
  }

  get #current(): Segment {
    return this.segments.at(-1) as Segment;
  }

  #count(call: string, line: string, segment: Segment): void {
    if (line.startsWith("o")) {
      segment.open++;
      this.#openedIn.set(call, segment);
      return;
    }
    if (!line.startsWith("c")) return;
    const opened = this.#openedIn.get(call);
    if (opened) opened.open--;
    this.#openedIn.delete(call);
  }

  #roll(): void {
    const before = this.segments.at(-1);
    const old = this.#file;
    const { directory, bootId, startedAtMs } = this.#options;
    const number = String(++this.#number).padStart(6, "0");
    const path = join(directory, `usage-${String(startedAtMs).padStart(13, "0")}-${bootId}-${number}.log`);
    this.#file = openSync(path, "ax", 0o600);
    if (before) before.sealed = true;
    this.segments.push({ path, size: 0, sealed: false, open: 0 });
    if (old === -1) return;
    this.#unsynced = false;
    fdatasync(old, (error) => {
      if (error) this.#options.onSyncFailure(error);
      closeSync(old);
    });
  }

  #syncSoon(): void {
    this.#unsynced = true;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#sync();
    }, syncIntervalMs).unref();
  }

  #sync(): void {
    if (this.#syncing || !this.#unsynced) return;
    this.#syncing = true;
    this.#unsynced = false;
    const file = this.#file;
    fdatasync(file, (error) => {
      this.#syncing = false;
      // A file that was followed by another one meanwhile is synced as it is sealed.
      if (error && file === this.#file) this.#options.onSyncFailure(error);
      if (this.#unsynced) this.#syncSoon();
    });
  }
}

/** What earlier starts have left. */
function leftIn(directory: string): Segment[] {
  return readdirSync(directory)
    .filter((name) => fileName.test(name))
    .sort()
    .map((name) => join(directory, name))
    .map((path) => ({ path, size: statSync(path).size, sealed: true, open: 0 }));
}

function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}
