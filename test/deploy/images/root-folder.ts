/**
 * A root file system with programs of this machine, each with its linked libraries. It takes the place of an image that the machine lacks: nothing is
 * pulled.
 */
import { cpSync, mkdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { runProgram } from "../../support/processes.ts";

export class RootFolder {
  readonly path: string;

  /** @param path path of an empty folder, created if missing */
  constructor(path: string) {
    this.path = path;
    mkdirSync(path, { recursive: true });
  }

  /** Copies each program to its own path. @param libraryPath searched first for libraries; a library found there is not copied */
  async programs(files: readonly string[], libraryPath = ""): Promise<void> {
    for (const file of files) {
      this.copy(file, file);
      await this.librariesOf(file, libraryPath);
    }
  }

  async librariesOf(file: string, libraryPath = ""): Promise<void> {
    const { stdout } = await runProgram("ldd", [file], {
      environment: { ...process.env, LD_LIBRARY_PATH: libraryPath },
    });
    const libraries = [...stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map(([, library = ""]) => library);
    const own = libraryPath === "" ? undefined : realpathSync(libraryPath);
    for (const library of libraries) {
      if (own === undefined || !realpathSync(library).startsWith(`${own}/`)) this.copy(library, library);
    }
  }

  /** Copies a file, or a folder with its content. */
  copy(from: string, to: string): void {
    mkdirSync(join(this.path, dirname(to)), { recursive: true });
    cpSync(realpathSync(from), join(this.path, to), { recursive: true, verbatimSymlinks: true });
  }
}
