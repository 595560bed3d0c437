/** Programs too big for the lock file: installed from npm's registry when a test first needs them, and kept for the next run. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "../processes.ts";

/** Path of the binary, or the reason why it is missing. */
export type InstalledProgram = { readonly path: string } | { readonly missing: string };

export interface ProgramPackage {
  /** The program with its version, for readers and as the name of its folder. */
  readonly title: string;
  /** Package with its version. */
  readonly spec: string;
  /** Path of the binary in the package. */
  readonly binary: string;
}

export function installProgram({ title, spec, binary }: ProgramPackage): InstalledProgram {
  const folder = `${title.toLowerCase().replaceAll(" ", "-")}-${process.platform}-${process.arch}`;
  const kept = join(root, "node_modules/.cache/sluice-test", folder);
  const path = join(kept, "node_modules/program", binary);
  if (existsSync(path)) return { path };
  const unfinished = `${kept}.${process.pid}`;
  try {
    mkdirSync(unfinished, { recursive: true });
    const options = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--fetch-retries=1"];
    execFileSync("npm", ["install", ...options, "--prefix", unfinished, `program@npm:${spec}`], {
      stdio: "pipe",
      timeout: 240_000,
    });
    renameSync(unfinished, kept);
    return existsSync(path) ? { path } : { missing: `the package of ${title} has no ${binary}` };
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    return { missing: `npm's registry did not give ${title}: ${(error as Error).message.split("\n", 1)[0]}` };
  }
}
