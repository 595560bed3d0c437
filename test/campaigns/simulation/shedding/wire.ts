/** A connection between two simulated processes, which delivers messages late and in order. */
import type { Random } from "../../../support/random.ts";
import type { VirtualTime } from "../virtual-time.ts";

const leastMs = 0.1;
const furtherMs = 0.2;

export class SimulatedConnection {
  readonly #time: VirtualTime;
  readonly #random: Random;
  #arrivedAt = 0;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  send(arrive: () => void): void {
    const { now } = this.#time;
    this.#arrivedAt = Math.max(this.#arrivedAt, now + leastMs + this.#random.exponential(furtherMs));
    this.#time.after(this.#arrivedAt - now, arrive);
  }
}
