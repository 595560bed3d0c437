/**
 * Files with the records that are on their way to the database. A frame written by `append` survives any end of this
 * process; a frame older than the sync interval also survives a crash of the machine.
 *
 * Files are numbered. Only the oldest is ever taken away, once the end of every call that starts in it is delivered: an
 * end is of no use without its start. Files taken away are removed, or kept for a time.
 */
import { closeSync, fdatasync, ftruncateSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { stat, unlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { deliveredFolder, parseDeliveryMark, parseSpoolFileName } from "@sluice/proto/lib/ledger/spool-files.js";
import { ConfigError } from "@sluice/proto/lib/process/environment.js";
import { makePrivateFolder } from "@sluice/proto/lib/process/private-folder.js";
import { DeliveredFiles, type KeepDelivered } from "./delivered-files.ts";
import { DeliveryMark, readDeliveryMark, removeDeliveryMark } from "./delivery-mark.ts";

/** Maximum bytes of a file, for some sixteen thousand calls. */
const segmentBytes = 16 * 1024 * 1024;
/**
 * Milliseconds after which a file gets no more records: without this limit, its time as a delivered file would not
 * begin while there are no other records.
 */
const segmentMs = 3_600_000;
/** Milliseconds between syncs of the file with the disk: the records of this time are lost when the machine loses its power. */
const syncIntervalMs = 100;

/** A file of the spool. */
export interface Segment {
  readonly path: string;
  /** Size in bytes. */
  size: number;
  /** Whether the file is closed, so it gets no more records. */
  sealed: boolean;
  /** Id of the start of the process that wrote the file. */
  readonly bootId: string;
  /** Whether the current start of the process writes the file. */
  readonly isOwn: boolean;
  /** Number of calls that start in the part of this file already read, and whose ends are not delivered. */
  open: number;
  /** Number of bytes from the beginning that an earlier start has delivered. */
  delivered: number;
}

export interface SpoolOptions {
  /** Folder that only this process uses. */
  readonly directory: string;
  readonly bootId: string;
  /** Time of the process start in milliseconds, by the clock of this process, which may have been set back since an earlier start. */
  readonly startedAtMs: number;
  /** Called when a sync of the file with the disk fails; no call waits for a sync. */
  readonly onSyncFailure: (error: Error) => void;
  /** Called when a frame cannot be written. */
  readonly onWriteFailure?: (error: Error) => void;
  /** How long delivered files are kept; when absent, they are removed. */
  readonly keep?: KeepDelivered | undefined;
  /** Called when a delivered file cannot be kept. */
  readonly onKeepFailure?: (error: Error) => void;
  /** Maximum milliseconds for which records are added to a file; an hour by default. */
  readonly segmentMs?: number | undefined;
  /** Called when the current file was closed because of its age. */
  readonly onAged?: () => void;
}

/** Contents of a test write, larger than the frames of a busy turn of the event loop. */
const trial = Buffer.alloc(64 * 1024);

export class Spool {
  readonly #options: SpoolOptions;
  /** Files, the oldest first; the last one is being written. */
  readonly segments: Segment[];
  /** First part of the names of new files, by which they are sorted after the files of earlier starts. */
  readonly #stamp: string;
  readonly #delivered: DeliveredFiles | undefined = undefined;
  readonly #mark = new DeliveryMark();
  readonly #ageing: NodeJS.Timeout;
  #file = -1;
  #number = 0;
  #syncing = false;
  #unsynced = false;
  #timer: NodeJS.Timeout | undefined;
  #removing: Promise<void> = Promise.resolve();

  /** Opens the folder and a new file. @throws Error when the folder cannot be written to */
  constructor(options: SpoolOptions) {
    this.#options = options;
    try {
      makePrivateFolder(options.directory);
      this.segments = findSegments(options.directory);
      const { directory, keep, onKeepFailure = () => {} } = options;
      if (keep) this.#delivered = new DeliveredFiles({ directory, keep, onFailure: onKeepFailure });
      // Nothing else would remove the files an earlier start kept.
      else rmSync(join(directory, deliveredFolder), { recursive: true, force: true });
      this.#stamp = String(Math.max(options.startedAtMs, latestStart(this.segments) + 1)).padStart(13, "0");
      this.#ageing = setInterval(() => this.#age(), options.segmentMs ?? segmentMs).unref();
      this.#roll();
    } catch (error) {
      throw new ConfigError("environment", [`SLUICE_SPOOL_DIR: cannot be written to: ${(error as Error).message}`]);
    }
  }

  /** Bytes of all files. */
  get size(): number {
    let size = 0;
    for (const segment of this.segments) size += segment.size;
    return size;
  }

  /** Bytes of the delivered files kept. */
  get deliveredSize(): number {
    return this.#delivered?.size ?? 0;
  }

  /**
   * Writes a frame to the current file.
   * @throws Error when the disk is full; nothing of the frame is then written
   */
  append(frame: Buffer): void {
    try {
      const { size } = this.#current;
      if (size > 0 && size + frame.length > segmentBytes) this.#roll();
      this.#write(frame);
    } catch (error) {
      this.#options.onWriteFailure?.(error as Error);
      // A kept old file is removed, because new records are more important.
      if (this.#delivered && isFull(error)) this.#after(async () => void (await this.#delivered?.giveWay()));
      throw error;
    }
    this.#syncSoon();
  }

  #write(frame: Buffer): void {
    const segment = this.#current;
    try {
      for (let at = 0; at < frame.length; ) at += writeSync(this.#file, frame, at);
    } catch (error) {
      // A frame that is not written to its end would hide everything written after it.
      ftruncateSync(this.#file, segment.size);
      throw error;
    }
    segment.size += frame.length;
  }

  /**
   * Checks whether frames can be written and read back, with a test file in the same folder. If a file of frames was
   * removed from outside, a new file follows once there is a folder for it.
   * @returns the failure, or undefined
   */
  async try(): Promise<Error | undefined> {
    const path = join(this.#options.directory, "trial");
    try {
      await this.#writeTrial(path);
      const isThere = await stat(this.#current.path).then(
        () => true,
        (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
      );
      if (!isThere) this.#roll();
      return undefined;
    } catch (error) {
      return error as Error;
    } finally {
      await unlink(path).catch(() => {});
    }
  }

  /**
   * Writes the test file. Delivered files are removed if the disk is full: without turns, nothing else would free it
   * before their time is over.
   */
  async #writeTrial(path: string): Promise<void> {
    for (;;) {
      try {
        return await writeFile(path, trial, { mode: 0o600 });
      } catch (error) {
        if (!isFull(error) || !(await this.#delivered?.giveWay())) throw error;
      }
    }
  }

  /** Notes, for the next start, how many bytes of a file are delivered. */
  mark(segment: Segment, bytes: number): void {
    this.#mark.note(segment.path, bytes);
  }

  /** Takes away files that are no longer needed. @param delivered whether all of a file is read and delivered */
  trim(delivered: (segment: Segment) => boolean): void {
    for (;;) {
      const [oldest] = this.segments;
      if (!oldest?.sealed || oldest.open > 0 || !delivered(oldest)) return;
      this.segments.shift();
      // Files are taken away in the background, because freeing sixteen megabytes takes long, and one after the other,
      // because an end must not stay without its start. A file whose removal fails is delivered again, and its records
      // are stored once.
      this.#takeAway(oldest);
    }
  }

  /** @param delivered whether everything is delivered, so the next start has nothing to read */
  async close(delivered: boolean): Promise<void> {
    clearTimeout(this.#timer);
    clearInterval(this.#ageing);
    closeSync(this.#file);
    this.#mark.close();
    if (delivered) for (const segment of this.segments) this.#takeAway(segment);
    await this.#removing;
    this.#delivered?.close();
  }

  #takeAway({ path, size }: Segment): void {
    this.#after(async () => {
      await (this.#delivered ? this.#delivered.take(path, size) : unlink(path));
      await removeDeliveryMark(path);
    });
  }

  #after(work: () => Promise<void> | undefined): void {
    this.#removing = this.#removing.then(work).catch(() => {});
  }

  get #current(): Segment {
    return this.segments.at(-1) as Segment;
  }

  /** Closes the current file, unless it is empty. */
  #age(): void {
    if (this.#current.size === 0) return;
    try {
      this.#roll();
    } catch (error) {
      return this.#options.onWriteFailure?.(error as Error);
    }
    this.#options.onAged?.();
  }

  #roll(): void {
    const before = this.segments.at(-1);
    const old = this.#file;
    const { directory, bootId } = this.#options;
    const number = String(++this.#number).padStart(6, "0");
    const path = join(directory, `usage-${this.#stamp}-${bootId}-${number}.v2.log`);
    this.#file = openSync(path, "ax", 0o600);
    this.#ageing.refresh();
    if (before) before.sealed = true;
    this.segments.push({ path, size: 0, sealed: false, bootId, isOwn: true, open: 0, delivered: 0 });
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
      // A file that another one has replaced meanwhile was synced when it was closed.
      if (error && file === this.#file) this.#options.onSyncFailure(error);
      if (this.#unsynced) this.#syncSoon();
    });
  }
}

const isFull = (error: unknown): boolean => ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "");

/** Files that earlier starts of the process have left. */
function findSegments(directory: string): Segment[] {
  const names = readdirSync(directory);
  for (const name of names) {
    const about = parseDeliveryMark(name);
    if (about !== undefined && !names.includes(about)) rmSync(join(directory, name), { force: true });
  }
  return names
    .filter((name) => parseSpoolFileName(name) !== undefined)
    .sort()
    .map((name) => join(directory, name))
    .map((path) => ({
      path,
      size: statSync(path).size,
      sealed: true,
      bootId: parseSpoolFileName(basename(path))?.bootId ?? "",
      isOwn: false,
      open: 0,
      delivered: readDeliveryMark(path),
    }));
}

const latestStart = (segments: readonly Segment[]): number =>
  Math.max(0, ...segments.map(({ path }) => parseSpoolFileName(basename(path))?.startedAtMs ?? 0));
