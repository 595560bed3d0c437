/** A process of a cluster. When it is killed and started again, it keeps its ports and files. */
import { join } from "node:path";
import { toReadableLines, lastLines, spawnChild } from "@sluice/local/child.js";
import { nodeFlags } from "@sluice/local/services.js";
import { isReady } from "../../support/balancer.ts";
import { bareEnvironment, eventually, programIn, root } from "../../support/processes.ts";

export interface ServiceProcessOptions {
  readonly name: string;
  readonly service: "gateway" | "inference-svc" | "admin-svc";
  readonly port: number;
  readonly healthPort: number;
  readonly environment: NodeJS.ProcessEnv;
  /** Path of the log file, to which each start appends. */
  readonly log: string;
}

export interface StartOptions {
  /** Milliseconds by which the clock of the process is ahead. */
  readonly clockShiftMs?: number;
  /** Checkout whose build is started; this one if undefined. */
  readonly checkout?: string | undefined;
}

const shiftedClock = join(root, "test/dist/support/shifted-clock.js");

export class ServiceProcess {
  readonly options: ServiceProcessOptions;
  #running: Awaited<ReturnType<typeof spawnChild>> | undefined;
  /** How the process ended unexpectedly; undefined otherwise. */
  #fall: string | undefined;
  /** Number of starts. */
  starts = 0;
  /** Path of the checkout whose build runs. */
  checkout = root;

  constructor(options: ServiceProcessOptions) {
    this.options = options;
  }

  get name(): string {
    return this.options.name;
  }

  get fall(): string | undefined {
    return this.#fall;
  }

  /** Starts the process; the promise resolves when it is ready. */
  async start({ clockShiftMs = 0, checkout = root }: StartOptions = {}): Promise<void> {
    const { service, environment, log, healthPort } = this.options;
    const script = programIn(checkout, service);
    this.checkout = checkout;
    this.starts++;
    const flags = [...nodeFlags, "--import", shiftedClock];
    const running = await spawnChild(process.execPath, [...flags, script], {
      log,
      environment: { ...bareEnvironment(), ...environment, CLOCK_SHIFT_MS: String(clockShiftMs) },
      whenOrphaned: "KILL",
    });
    this.#running = running;
    void running.exited.then((how) => {
      if (this.#running === running)
        this.#fall = `${this.name} ended with ${how}: ${toReadableLines(lastLines(log, 5))}`;
    });
    await eventually(() => this.#fall !== undefined || isReady(healthPort), 90_000);
  }

  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.child.kill("SIGKILL");
    await running?.exited;
  }

  pause(): void {
    this.#running?.child.kill("SIGSTOP");
  }

  resume(): void {
    this.#running?.child.kill("SIGCONT");
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.options.healthPort}/metrics`)).text();
  }
}
