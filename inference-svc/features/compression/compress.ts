/**
 * Shortens an input until it fits. It replays the conversation unit by unit; whenever the total exceeds the target, it removes enough for several more
 * turns. Removed text stays removed: consecutive turns then share a prefix, which a provider's prompt cache can reuse.
 */
import type { Yielding } from "../../turn/time-slice.ts";
import type { InputItem } from "../../turn/request.ts";
import { State, type StepName, stepNames } from "./state.ts";
import { steps } from "./steps.ts";
import type { Unit } from "./units.ts";

export interface CompressionTarget {
  /** Tokens of instructions, tools and the answer format. */
  readonly fixedTokens: number;
  /** Maximum tokens after compression, including `fixedTokens`. */
  readonly target: number;
  readonly tokensOf: (item: InputItem) => number;
}

export interface Compressed {
  readonly input: readonly InputItem[];
  readonly steps: readonly StepName[];
  readonly before: number;
  /** Above the target when nothing more could be removed. */
  readonly after: number;
}

/** Share of the target kept after the input has exceeded it. */
const leftShare = 0.8;

/** @returns undefined when the input fits into the target, and so needs no compression */
export function* compress(input: readonly InputItem[], measure: CompressionTarget): Yielding<Compressed | undefined> {
  const { fixedTokens, target, tokensOf } = measure;
  const sum = (items: readonly InputItem[]) => items.reduce((tokens, item) => tokens + tokensOf(item), fixedTokens);
  const before = sum(input);
  if (before <= target) return undefined;
  const state = new State(input, fixedTokens, tokensOf);
  const { units } = state.grouped;
  const first = units.find(({ isUserRequest }) => isUserRequest);
  // Removed items are not read again: a window holds few of a million items.
  let taken: Unit[] = [];
  for (const [index, unit] of units.entries()) {
    state.take(unit);
    taken.push(unit);
    if (state.total <= target) continue;
    // An agent takes many turns over one question, and they make no sense without it.
    const lastUserRequest = taken.findLast(({ isUserRequest }) => isUserRequest);
    const free = taken.slice(0, -2).filter((each) => each !== first && each !== lastUserRequest);
    // A single unit has no later turns to share a prefix with.
    const goal = index === 0 ? target : Math.floor(target * leftShare);
    // Earlier turns can be removed whole; the questions that stay cannot, and are cut.
    const cuttable =
      index === units.length - 1 ? taken : taken.filter((each) => each === first || each === lastUserRequest);
    for (const step of steps) if (state.total > goal) yield* step(state, { taken, free, cuttable, goal });
    taken = taken.filter((each) => state.has(each));
    yield;
  }
  const written = state.written();
  return { input: written, steps: stepNames.filter((name) => state.steps.has(name)), before, after: sum(written) };
}
