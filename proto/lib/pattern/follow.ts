/** Finds the instructions that can be reached without reading a character, most preferred first. */
import type { Assertion } from "./context.ts";
import type { Program } from "./program.ts";

/** Means that the context after the position is not known yet. */
export const unknownContext = -1;

const match = 0;
const jump = 1;
const split = 2;
const accept = 3;
const assert = 4;
const opcodes = { match, jump, split, accept, assert };

/**
 * Follows instructions at one position of a text. The first thread that reaches an instruction keeps it, since all
 * threads continue alike from there.
 */
export class Follower {
  /** The instructions in typed arrays, because every thread reads them. */
  readonly #operations: Uint8Array;
  readonly #first: Int32Array;
  readonly #second: Int32Array;
  readonly #assertions: (Assertion | undefined)[];
  readonly #seen: Uint32Array;
  #round = 0;
  /** Instructions still to visit; each visited instruction adds two at most. */
  readonly #open: Int32Array;
  /** Whether a match ended in the last call of `follow`. */
  matched = false;

  constructor({ instructions }: Program) {
    const size = instructions.length;
    this.#operations = Uint8Array.from(instructions, ({ op }) => opcodes[op]);
    this.#first = Int32Array.from(instructions, (one) =>
      one.op === "split" ? one.first : one.op === "jump" ? one.to : -1,
    );
    this.#second = Int32Array.from(instructions, (one) => (one.op === "split" ? one.second : -1));
    this.#assertions = instructions.map((one) => (one.op === "assert" ? one.assertion : undefined));
    this.#seen = new Uint32Array(size);
    this.#open = new Int32Array(2 * size + 1);
  }

  /** Moves on to a new position, at which no instruction is reached yet. */
  startPosition(): void {
    this.#round++;
    if (this.#round < 2 ** 32) return;
    this.#seen.fill(0);
    this.#round = 1;
  }

  /** Whether this is the first visit to the instruction at this position. */
  visit(at: number): boolean {
    if (this.#seen[at] === this.#round) return false;
    this.#seen[at] = this.#round;
    return true;
  }

  /**
   * Adds to `reached` the instructions that accept a character, and assertions that cannot be tested yet. Sets
   * `matched` when a match ends here; less preferred instructions are then left out.
   * @param before context bits before the position; `after` has those after it
   * @param count number of entries in `reached` so far
   * @returns the number of entries afterwards
   */
  follow(from: number, before: number, after: number, reached: number[], count: number): number {
    const open = this.#open;
    let length = 1;
    let added = count;
    open[0] = from;
    this.matched = false;
    while (length > 0) {
      const at = open[--length] as number;
      if (!this.visit(at)) continue;
      switch (this.#operations[at]) {
        case match:
          this.matched = true;
          return added;
        case jump:
          open[length++] = this.#first[at] as number;
          break;
        case split:
          open[length++] = this.#second[at] as number;
          open[length++] = this.#first[at] as number;
          break;
        case accept:
          reached[added++] = at;
          break;
        default: {
          const assertion = this.#assertions[at] as Assertion;
          if (after === unknownContext && !assertion.backward) reached[added++] = at;
          else if (assertion.holds(before, after)) open[length++] = at + 1;
        }
      }
    }
    return added;
  }

  /**
   * Adds to `reached` all instructions that accept a character, in any context and with any preference.
   * @returns the number of visited instructions
   */
  reach(from: number, reached: number[]): number {
    const open = this.#open;
    let visits = 0;
    let length = 1;
    open[0] = from;
    while (length > 0) {
      const at = open[--length] as number;
      if (!this.visit(at)) continue;
      visits++;
      const operation = this.#operations[at];
      if (operation === accept) reached.push(at);
      else if (operation === jump || operation === split) open[length++] = this.#first[at] as number;
      else if (operation === assert) open[length++] = at + 1;
      if (operation === split) open[length++] = this.#second[at] as number;
    }
    return visits;
  }
}
