/** Runs other programs to their end. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** The checkout: this file is test/dist/support/processes.js in it. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The program of a service, or of the supervisor that `npm start` runs, in a built checkout. Revisions before 2026-11-27 have no bundles. */
export function programIn(checkout: string, room: string): string {
  const program = join(checkout, room, "bundle/main.js");
  return existsSync(program) ? program : join(checkout, room, "dist/main.js");
}

export interface FinishedProcess {
  /** Exit code, or the signal that ended the program. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly environment?: NodeJS.ProcessEnv;
}

/** Runs a program without input. An exit code other than 0 is a result, not an error. */
export function runProgram(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<FinishedProcess> {
  const child = spawn(command, args, {
    cwd: options.cwd ?? root,
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.environment && { env: options.environment }),
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code: code ?? (signal as NodeJS.Signals), stdout, stderr }));
  });
}

/** Environment variables that any program needs, without a developer's personal ones. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, LANG } = process.env;
  return Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR, LANG }).filter(([, value]) => value !== undefined));
}

/**
 * Polls a condition, for changes in another process that cause no event here. The limit, for what hangs, leaves a test time to name the missed
 * condition before its own limit of 120 s.  @throws if the condition does not hold within the limit
 */
export async function eventually(holds: () => boolean | Promise<boolean>, limitMs = 100_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`did not come true in ${limitMs} ms: ${holds.toString()}`);
    await delay(20);
  }
}
