/**
 * Third-party programs, run in a network namespace with only loopback. They reach one port of this machine through a
 * Unix socket, shared across network namespaces.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const bridge = fileURLToPath(new URL("namespace-bridge.js", import.meta.url));
const loopback = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"];

/** The command to enter a namespace, as root or as a user; undefined when the machine allows neither. */
export const isolation: readonly string[] | undefined = [
  ["unshare", "-n", "--", ...loopback],
  ["unshare", "-rn", "--", ...loopback],
].find(([command = "", ...args]) => {
  try {
    execFileSync(command, [...args, "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
});

export interface IsolatedResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. @param port reached in the namespace under the same number */
export async function runIsolated(
  command: readonly string[],
  port: number,
  options: { readonly cwd: string; readonly environment: NodeJS.ProcessEnv; readonly limitMs: number },
): Promise<IsolatedResult> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-namespace-"));
  const path = join(folder, "socket");
  const server = createServer((socket) => {
    const out = connect(port, "127.0.0.1");
    socket.on("error", () => out.destroy());
    out.on("error", () => socket.destroy());
    socket.pipe(out).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const [program = "", ...args] = [...(isolation ?? []), process.execPath, bridge, path, String(port), ...command];
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.environment,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: options.limitMs,
    killSignal: "SIGKILL",
  });
  try {
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { code, stdout, stderr };
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
