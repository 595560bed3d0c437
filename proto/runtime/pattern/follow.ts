/** Which instructions can be reached from another without a further character, in the order in which they are preferred. */
import type { Assertion } from "./context.ts";
import type { Program } from "./program.ts";

/** What stands after the position is not known yet. */
export const unknown = -1;

const match = 0;
const jump = 1;
const split = 2;
const accept = 3;
const assert = 4;
const numbers = { match, jump, split, accept, assert };

/** For one position of a text; who comes first to an instruction keeps it, since from there on all go the same way. */
export class Follower {
  /** The instructions in columns: they are gone through for every thread. */
  readonly #operations: Uint8Array;
  readonly #first: Int32Array;
  readonly #second: Int32Array;
  readonly #assertions: (Assertion | undefined)[];
  readonly #seen: Uint32Array;
  #round = 0;
  readonly #open: number[] = [];

  constructor({ instructions }: Program) {
    const size = instructions.length;
    this.#operations = Uint8Array.from(instructions, ({ op }) => numbers[op]);
    this.#first = Int32Array.from(instructions, (one) =>
      one.op === "split" ? one.first : one.op === "jump" ? one.to : -1,
    );
    this.#second = Int32Array.from(instructions, (one) => (one.op === "split" ? one.second : -1));
    this.#assertions = instructions.map((one) => (one.op === "assert" ? one.assertion : undefined));
    this.#seen = new Uint32Array(size);
  }

  /** For another position. */
  begin(): void {
    this.#round++;
    if (this.#round < 2 ** 32) return;
    this.#seen.fill(0);
    this.#round = 1;
  }

  /** Whether it is the first to come to an instruction at this position. */
  first(at: number): boolean {
    if (this.#seen[at] === this.#round) return false;
    this.#seen[at] = this.#round;
    return true;
  }

  /**
   * Adds to `reached` those that accept a character, and assertions that cannot be answered yet.
   * @param before context, as `after`
   * @returns whether a match ends here: what would come after it is preferred less, and left out
   */
  follow(from: number, before: number, after: number, reached: number[]): boolean {
    const open = this.#open;
    open.length = 0;
    open.push(from);
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (!this.first(at)) continue;
      switch (this.#operations[at]) {
        case match:
          return true;
        case jump:
          open.push(this.#first[at] as number);
          break;
        case split:
          open.push(this.#second[at] as number, this.#first[at] as number);
          break;
        case accept:
          reached.push(at);
          break;
        default: {
          const assertion = this.#assertions[at] as Assertion;
          if (after === unknown && !assertion.backward) reached.push(at);
          else if (assertion.holds(before, after)) open.push(at + 1);
        }
      }
    }
    return false;
  }
}
