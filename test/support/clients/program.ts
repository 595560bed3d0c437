/**
 * A client in another language: a process that runs one feature at a time and reports the result. If the machine permits namespaces, it can reach
 * only the gateway.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Installation } from "../installation.ts";
import { bareEnvironment } from "../processes.ts";
import { NamespaceGate, isolation } from "../programs/namespace.ts";
import type { Toolchain } from "./languages.ts";

interface Outcome {
  readonly ready?: true;
  readonly passed?: boolean;
  readonly error?: string;
}

export class ClientProgram {
  readonly #process: ChildProcess;
  readonly #outcomes: AsyncIterator<string>;
  readonly #gate: NamespaceGate | undefined;
  #complaints = "";

  private constructor(process: ChildProcess, gate: NamespaceGate | undefined) {
    this.#process = process;
    this.#gate = gate;
    this.#outcomes = createInterface({ input: process.stdout! })[Symbol.asyncIterator]();
    process.stderr!.on(
      "data",
      (chunk: Buffer) => (this.#complaints = (this.#complaints + chunk.toString()).slice(-4_000)),
    );
  }

  /** @param folder folder of the installation @param program program of the set, for languages with several */
  static async start(
    set: Toolchain,
    folder: string,
    program: string,
    { baseUrl, apiKey, ports }: Installation,
  ): Promise<ClientProgram> {
    const gate = isolation && (await NamespaceGate.open(ports.gateway));
    const own = set.command(folder, program);
    const [command, ...args] = gate?.enter(own) ?? own;
    const environment = { SLUICE_BASE_URL: baseUrl, SLUICE_API_KEY: apiKey, OPENAI_API_KEY: "", NO_PROXY: "127.0.0.1" };
    const started = new ClientProgram(
      // The process is the leader of a group, so the program in the namespace is stopped with it.
      spawn(command as string, args, { env: { ...bareEnvironment(), ...environment }, stdio: "pipe", detached: true }),
      gate,
    );
    const { ready, error } = await started.#next();
    if (ready !== true) throw new Error(`${program} did not start: ${error}`);
    return started;
  }

  /** @throws with the client's own error message */
  async run(door: string, feature: string): Promise<void> {
    this.#process.stdin!.write(`${door} ${feature}\n`);
    const { passed, error } = await this.#next();
    if (passed !== true) throw new Error(error);
  }

  async stop(): Promise<void> {
    this.#gate?.close();
    const { exitCode, signalCode, pid } = this.#process;
    if (exitCode !== null || signalCode !== null || pid === undefined) return;
    const ended = once(this.#process, "exit");
    process.kill(-pid, "SIGKILL");
    await ended;
  }

  async #next(): Promise<Outcome> {
    const { value, done } = await this.#outcomes.next();
    if (done) return { passed: false, error: `the program ended: ${this.#complaints}` };
    return JSON.parse(value) as Outcome;
  }
}
