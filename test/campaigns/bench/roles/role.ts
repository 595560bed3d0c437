/** The parent's side of a role: a child process, pinned to a processor and controlled by commands. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { pinProcess } from "../../../support/machine.ts";
import type { RoleCall, Commands, RoleReply } from "./commands.ts";

type Argument<Command> = Command extends (argument: infer Value) => unknown ? Value : never;
type Result<Command> = Command extends (argument: never) => infer Value ? Awaited<Value> : never;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class Role<Served extends Commands> {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #calls = 0;

  /** @param file compiled module in this folder @param cpu number of the processor; if absent, the kernel places the process */
  constructor(file: `./${string}.js`, cpu?: number) {
    this.#child = fork(fileURLToPath(new URL(file, import.meta.url)), { serialization: "advanced" });
    this.pid = this.#child.pid as number;
    if (cpu !== undefined) pinProcess(this.pid, cpu);
    this.#child.on("message", (reply: RoleReply) => this.#settle(reply));
    this.#exited = new Promise((resolve) => {
      this.#child.once("exit", (code, signal) => {
        for (const waiting of this.#waiting.values()) waiting.reject(new Error(`${file} is gone (${signal ?? code})`));
        this.#waiting.clear();
        resolve();
      });
    });
  }

  call<Name extends keyof Served & string>(
    name: Name,
    argument?: Argument<Served[Name]>,
  ): Promise<Result<Served[Name]>> {
    const id = this.#calls++;
    const call: RoleCall = { id, name, argument };
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (value) => resolve(value as Result<Served[Name]>), reject });
      this.#child.send(call, (error) => {
        if (error) reject(error);
      });
    });
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #settle(reply: RoleReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ("error" in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.result);
  }
}
