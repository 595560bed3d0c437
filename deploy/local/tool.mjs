/**
 * Runs the tools for preparing a checkout, each in a process of its own, so its memory is freed afterwards. It runs on plain Node without
 * dependencies.
 */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

const endSignals = ["SIGINT", "SIGTERM"];

/**
 * Environment variables to limit the memory of the tools. The compiler's garbage collector (Go) works harder from 400 MiB on. The bundler's
 * allocator returns memory at once, and uses no huge pages: with huge pages, the 2,000 small arenas of one program took 690 MiB instead of 520
 * (2026-11-28).
 */
export const lowMemoryEnvironment = { GOMEMLIMIT: "400MiB", MIMALLOC_ALLOW_THP: "0", MIMALLOC_PURGE_DELAY: "0" };

/** Runs a tool and returns its output, which is printed only if the tool fails. */
export async function runTool(command, args, title) {
  const env = { ...process.env, ...lowMemoryEnvironment };
  const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], env });
  const output = [];
  child.stdout.on("data", (chunk) => output.push(chunk));
  child.stderr.on("data", (chunk) => output.push(chunk));
  // A signal kills the tool: npm would continue for a while after Ctrl-C, and write where the next start installs. An unfinished installation has no
  // stamp, so it is repeated.
  let interrupted = false;
  const interrupt = () => {
    interrupted = true;
    child.kill("SIGKILL");
  };
  for (const signal of endSignals) process.on(signal, interrupt);
  const code = await new Promise((resolve, reject) => {
    child.on("error", (error) => reject(new Error(`${title} could not be started: ${error.message}`)));
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
  for (const signal of endSignals) process.off(signal, interrupt);
  if (interrupted) throw new Error(`${title} was interrupted; the next start repeats it.`);
  if (code === 0) return Buffer.concat(output).toString();
  process.stderr.write(Buffer.concat(output));
  throw new Error(`${title} failed (${code}).`);
}
