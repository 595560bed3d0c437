/**
 * Third-party programs and clients, which run in a network namespace with only loopback. They reach one port of this machine through a Unix socket,
 * which works across network namespaces.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { type Server, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const bridge = fileURLToPath(new URL("namespace-bridge.js", import.meta.url));
const loopback = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"];

/** Command to enter a namespace, as root or as a user; undefined if the machine permits neither. */
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

/** A way from namespaces to one port of this machine, under the same number. */
export class NamespaceGate {
  readonly #folder = mkdtempSync(join(tmpdir(), "sluice-test-namespace-"));
  readonly #port: number;
  readonly #server: Server;

  private constructor(port: number) {
    this.#port = port;
    this.#server = createServer((socket) => {
      const out = connect(port, "127.0.0.1");
      socket.on("error", () => out.destroy());
      out.on("error", () => socket.destroy());
      socket.pipe(out).pipe(socket);
    });
  }

  static async open(port: number): Promise<NamespaceGate> {
    const gate = new NamespaceGate(port);
    await new Promise<void>((resolve) => gate.#server.listen(gate.#path, resolve));
    return gate;
  }

  get #path(): string {
    return join(this.#folder, "socket");
  }

  /** The command to run another command in a new namespace. */
  enter(command: readonly string[]): readonly string[] {
    return [...(isolation ?? []), process.execPath, bridge, this.#path, String(this.#port), ...command];
  }

  close(): void {
    this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface IsolatedResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. @param port port of this machine that the program can reach, under the same number */
export async function runIsolated(
  command: readonly string[],
  port: number,
  options: { readonly cwd: string; readonly environment: NodeJS.ProcessEnv; readonly limitMs: number },
): Promise<IsolatedResult> {
  const gate = await NamespaceGate.open(port);
  const [program = "", ...args] = gate.enter(command);
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
    gate.close();
  }
}
