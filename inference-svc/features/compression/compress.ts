/**
 * Shortens an input until it fits. The units of the conversation are added one by one; whenever the total exceeds the
 * target, enough is removed for several more turns. Removed text stays removed: consecutive turns then share a prefix,
 * which a provider's prompt cache can reuse.
 */
import type { Yielding } from "../../turn/time-slice.ts";
import type { InputItem } from "../../turn/request.ts";
import { State, type StepName, stepNames } from "./state.ts";
import { steps } from "./steps.ts";
import type { Unit } from "./units.ts";

export interface CompressionTarget {
  /** Tokens of instructions, tools and the answer format. */
  readonly fixedTokens: number;
  /** Maximum tokens of the compressed request, including `fixedTokens`. */
  readonly target: number;
  readonly tokensOf: (item: InputItem) => number;
}

export interface Compressed {
  readonly input: readonly InputItem[];
  readonly steps: readonly StepName[];
  readonly before: number;
  /** Tokens of the compressed request; above the target when nothing more could be removed. */
  readonly after: number;
}

/** Share of the target kept when the input has exceeded it. */
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
  // Removed items are not read again: of a million items, few fit a window.
  let taken: Unit[] = [];
  for (const [index, unit] of units.entries()) {
    state.take(unit);
    taken.push(unit);
    if (state.total <= target) continue;
    // The last request of the user is kept: an agent's turns make no sense without it.
    const lastUserRequest = taken.findLast(({ isUserRequest }) => isUserRequest);
    const free = taken.slice(0, -2).filter((each) => each !== first && each !== lastUserRequest);
    // An input of one unit has no later turns to share a prefix with, so it may fill the target.
    const goal = index === 0 ? target : Math.floor(target * leftShare);
    // Earlier turns can be removed whole. The user's questions that stay cannot, so their texts are cut.
    const cuttable =
      index === units.length - 1 ? taken : taken.filter((each) => each === first || each === lastUserRequest);
    for (const step of steps) if (state.total > goal) yield* step(state, { taken, free, cuttable, goal });
    taken = taken.filter((each) => state.has(each));
    yield;
  }
  const written = state.written();
  return { input: written, steps: stepNames.filter((name) => state.steps.has(name)), before, after: sum(written) };
}
