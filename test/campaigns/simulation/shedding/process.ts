/**
 * A simulated process with one processor. Its event loop has the phases of Node's loop: due timers, data that arrived at sockets, and callbacks
 * deferred to the end of the turn. Data that arrive during work wait.
 */
import { type VirtualLoop, type VirtualTime, settledInVirtualTime } from "../virtual-time.ts";

/** Milliseconds of processor time of an empty callback. */
const callbackMs = 0.002;

type Task = () => void;

export class SimulatedProcess implements VirtualLoop {
  readonly #time: VirtualTime;
  readonly #slowness: number;
  /** Callbacks that wait in each phase. */
  #phases: Task[][] = [[], [], []];
  #now: number;
  #isAwake = false;
  #isGone = false;
  /** Milliseconds of processor time used so far. */
  worked = 0;

  /** @param slowness factor for the duration of the process's work */
  constructor(time: VirtualTime, slowness = 1) {
    this.#time = time;
    this.#slowness = slowness;
    this.#now = time.now;
  }

  get now(): number {
    return this.#now;
  }

  get isIdle(): boolean {
    return !this.#isAwake;
  }

  /** Adds processor time to the running callback. @param ms milliseconds */
  work(ms: number): void {
    this.worked += ms * this.#slowness;
    this.#now += ms * this.#slowness;
  }

  timer(run: Task): void {
    this.#add(0, run);
  }

  /** Queues a callback for data that arrive at a socket. */
  receive(run: Task): void {
    this.#add(1, run);
  }

  immediate(run: Task): void {
    this.#add(2, run);
  }

  /** Ends the process at once, and loses all waiting work. */
  kill(): void {
    this.#isGone = true;
    this.#phases = [[], [], []];
  }

  #add(phase: number, run: Task): void {
    if (this.#isGone) return;
    this.#phases[phase]!.push(run);
    if (this.#isAwake) return;
    this.#isAwake = true;
    this.#time.after(0, () => this.#goOn(0));
  }

  /** Runs phases until one of them has used processor time. */
  async #goOn(from: number): Promise<void> {
    const began = (this.#now = this.#time.now);
    for (let phase = from; this.#phases.some((tasks) => tasks.length > 0); phase = (phase + 1) % 3) {
      await this.#run(phase);
      if (this.#now === began) continue;
      return this.#time.after(this.#now - began, () => this.#goOn((phase + 1) % 3));
    }
    this.#isAwake = false;
  }

  /** Runs a phase. Between two callbacks, all promises and ticks of the first one settle. */
  async #run(phase: number): Promise<void> {
    const tasks = this.#phases[phase]!;
    if (tasks.length === 0) return;
    this.#phases[phase] = [];
    this.#time.running = this;
    for (const task of tasks) {
      if (this.#isGone) break;
      this.work(callbackMs);
      task();
      await settledInVirtualTime();
    }
    this.#time.running = undefined;
  }
}
