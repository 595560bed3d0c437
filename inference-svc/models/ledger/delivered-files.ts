/**
 * Keeps delivered files of the spool for a time: after a restore of the database, `ledger replay` stores their records
 * again. No running process reads them. The oldest are removed when their time is over, when all files have too many
 * bytes, and when the disk is full.
 */
import { readdirSync, statSync } from "node:fs";
import { rename, unlink, utimes } from "node:fs/promises";
import { basename, join } from "node:path";
import { deliveredFolder, parseSpoolFileName } from "@sluice/proto/lib/ledger/spool-files.js";
import { makePrivateFolder } from "@sluice/proto/lib/process/private-folder.js";

export interface KeepDelivered {
  /** Milliseconds for which a file is kept after its delivery. */
  readonly ms: number;
  /** Maximum bytes of all files. */
  readonly bytes: number;
}

export interface DeliveredFilesOptions {
  /** Folder of the spool. */
  readonly directory: string;
  readonly keep: KeepDelivered;
  /** Called when a file cannot be kept; it is removed. */
  readonly onFailure: (error: Error) => void;
}

interface DeliveredFile {
  readonly path: string;
  readonly bytes: number;
  /** Time of the delivery in milliseconds since 1970. */
  readonly at: number;
}

/** Milliseconds between removals while nothing is delivered. */
const removeMs = 10 * 60_000;

export class DeliveredFiles {
  readonly #options: DeliveredFilesOptions;
  readonly #folder: string;
  /** Kept files, the oldest first. */
  readonly #files: DeliveredFile[];
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;

  /** Finds the files kept already. @throws Error when the folder cannot be made or read */
  constructor(options: DeliveredFilesOptions) {
    this.#options = options;
    this.#folder = join(options.directory, deliveredFolder);
    makePrivateFolder(this.#folder);
    this.#files = findFiles(this.#folder);
    for (const { bytes } of this.#files) this.#bytes += bytes;
    this.#timer = setInterval(() => void this.#removeOld(), removeMs).unref();
    void this.#removeOld();
  }

  /** Bytes of all files. */
  get size(): number {
    return this.#bytes;
  }

  /** Adds a delivered file. Its modification time becomes the time of its delivery. Never rejects. */
  async take(path: string, bytes: number): Promise<void> {
    if (bytes === 0) return remove(path);
    try {
      const kept = join(this.#folder, basename(path));
      const now = new Date();
      await utimes(path, now, now);
      await this.#move(path, kept);
      this.#files.push({ path: kept, bytes, at: now.getTime() });
      this.#bytes += bytes;
    } catch (error) {
      this.#options.onFailure(error as Error);
      // The file is removed instead: a disk full of files that cannot be moved would prevent all calls.
      await remove(path);
    }
    await this.#removeOld();
  }

  /** Removes the oldest file, because the disk is full. Never rejects. @returns whether there was one */
  async giveWay(): Promise<boolean> {
    const isKept = this.#files.length > 0;
    await this.#removeOldest();
    return isKept;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Moves a file, and makes the folder again if it was removed from outside. */
  async #move(path: string, kept: string): Promise<void> {
    try {
      await rename(path, kept);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      makePrivateFolder(this.#folder);
      await rename(path, kept);
    }
  }

  async #removeOld(): Promise<void> {
    const { ms, bytes } = this.#options.keep;
    for (;;) {
      const [oldest] = this.#files;
      if (oldest === undefined || (oldest.at > Date.now() - ms && this.#bytes <= bytes)) return;
      await this.#removeOldest();
    }
  }

  async #removeOldest(): Promise<void> {
    const oldest = this.#files.shift();
    if (oldest === undefined) return;
    this.#bytes -= oldest.bytes;
    await remove(oldest.path);
  }
}

const findFiles = (folder: string): DeliveredFile[] =>
  readdirSync(folder)
    .filter((name) => parseSpoolFileName(name) !== undefined)
    .sort()
    .map((name) => join(folder, name))
    .map((path) => ({ path, ...sizeAndTime(path) }));

function sizeAndTime(path: string): Omit<DeliveredFile, "path"> {
  const { size: bytes, mtimeMs: at } = statSync(path);
  return { bytes, at };
}

/** Removes a file. If this fails, the file is found again at the next start. */
const remove = (path: string): Promise<void> => unlink(path).catch(() => {});
