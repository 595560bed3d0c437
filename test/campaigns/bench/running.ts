/** A third-party server, from its start to its end. */
import { type ChildProcess, spawn } from "node:child_process";
import { connect } from "node:net";
import { endWithThisProcess } from "@sluice/local/processes.js";
import { eventually } from "../../support/processes.ts";

/** How a server is started. */
export interface ServerProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** All environment variables of the program; those of the bench if absent. */
  readonly environment?: Readonly<NodeJS.ProcessEnv>;
}

/** Milliseconds: a large program reads its own code for ten seconds, on a busy machine for more than a minute. */
const startLimitMs = 180_000;

export class BenchProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #output = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid as number;
    // SIGINT makes the master of nginx end its workers; SIGKILL would orphan them.
    const untie = endWithThisProcess(this.pid, "INT");
    this.#exited = new Promise((resolve) => child.once("close", () => resolve()));
    void this.#exited.then(untie);
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => (this.#output = (this.#output + text).slice(-2_000)));
  }

  /** @throws if the program does not exist */
  static start({ command, args, environment }: ServerProgram): Promise<BenchProcess> {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      ...(environment && { env: environment }),
    });
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("spawn", () => resolve(new BenchProcess(child)));
    });
  }

  async listens(port: number): Promise<void> {
    const answers = () => {
      if (this.#child.exitCode !== null) throw new Error(`it ended: ${this.#output}`);
      return new Promise<boolean>((resolve) => {
        const socket = connect({ port, host: "127.0.0.1" });
        socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
        socket.once("connect", () => socket.destroy());
      });
    };
    await eventually(answers, startLimitMs).catch((error: Error) => {
      throw this.#child.exitCode === null ? new Error(`it did not listen in ${startLimitMs / 1_000} s`) : error;
    });
  }

  readonly stop = async (): Promise<void> => {
    this.#child.kill("SIGTERM");
    const force = setTimeout(() => this.#child.kill("SIGKILL"), 5_000);
    await this.#exited;
    clearTimeout(force);
  };
}
