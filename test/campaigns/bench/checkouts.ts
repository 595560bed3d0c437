/** The checkouts to measure: this one, or those named by `--checkout`. */
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { programIn, root, runProgram } from "../../support/processes.ts";

export interface Checkout {
  readonly path: string;
  /** Folder and commit, as shown in the tables. */
  readonly name: string;
}

/**
 * Opens a checkout with its programs as they are built: it may belong to another user, in the middle of a change.  @param say receives a warning if a
 * build is older than its sources  @throws for a folder without a built checkout
 */
export async function openCheckout(path: string | undefined, say: (line: string) => void): Promise<Checkout> {
  const folder = resolve(path ?? root);
  if (!existsSync(programIn(folder, "deploy/local")))
    throw new Error(`${folder} is no checkout that was built: run npm run build in it`);
  const compiler = join(folder, "node_modules/typescript/bin/tsc");
  const { stdout } = await runProgram(process.execPath, [compiler, "-b", "--dry"], { cwd: folder });
  if (stdout.includes("would build") || !(await isBundled(folder)))
    say(`${folder}: the build is older than its sources, and is measured as it is`);
  const commit = await runProgram("git", ["describe", "--always", "--dirty"], { cwd: folder });
  return { path: folder, name: [basename(folder), commit.stdout.trim()].join(" ").trim() };
}

/** Whether the bundles are up to date with the compiled modules. Revisions before 2026-11-27 have no bundles. */
async function isBundled(folder: string): Promise<boolean> {
  const bundling = join(folder, "deploy/local/bundle.mjs");
  if (!existsSync(bundling)) return true;
  const { areBundlesBuilt } = (await import(bundling)) as { areBundlesBuilt: () => boolean };
  return areBundlesBuilt();
}
