/** What can be given up of an input, the cheapest loss first. Each step stops as soon as enough is gone. */
import { createHash } from "node:crypto";
import type { Pauses } from "../../turn/breath.ts";
import { withoutMiddle } from "../../turn/cut.ts";
import type { State } from "./state.ts";
import { type Place, isOutput, textsOf, withText, withoutMedia } from "./texts.ts";
import type { Unit } from "./units.ts";

/** As far as the input has been taken in. */
export interface Reach {
  /** All that are still there; the last two are what is being talked about. */
  readonly taken: readonly Unit[];
  /** Of those, the ones that may go: neither the first question nor the last one, nor the last two. */
  readonly free: readonly Unit[];
  /** Whose texts may lose their middle. */
  readonly cuttable: readonly Unit[];
  /** Tokens that are enough. */
  readonly goal: number;
}

export type Step = (state: State, reach: Reach) => Pauses;

/** Of tools, that a model goes back to: masking older ones costs it nothing (arXiv 2508.21433). */
const latestOutputs = 10;
/** Below that what stands instead would not be shorter. */
const leastOutput = 200;
const leastDuplicate = 200;
const leastText = 400;

const indicesOf = (units: readonly Unit[]): readonly number[] => units.flatMap(({ indices }) => indices);

/** From the middle outwards: beginnings say what is wanted, ends what was done last. */
function middleFirst<Entry>(entries: readonly Entry[]): readonly Entry[] {
  const middle = (entries.length - 1) / 2;
  const distance = (index: number) => Math.abs(index - middle);
  const order = entries.map((_, index) => index).toSorted((a, b) => distance(a) - distance(b) || a - b);
  return order.map((index) => entries[index] as Entry);
}

const outputs: Step = function* (state, { taken, free, goal }) {
  const isThere = (index: number) => {
    const item = state.item(index);
    return item !== undefined && isOutput(item);
  };
  const latest = new Set(indicesOf(taken).filter(isThere).slice(-latestOutputs));
  const older = indicesOf(free).filter((index) => isThere(index) && !latest.has(index));
  for (const index of middleFirst(older)) {
    if (state.total <= goal) return;
    yield;
    for (const [place, text] of textsOf(state.item(index)!)) {
      if (text.length < leastOutput) continue;
      const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
      const stub = `[output of ${text.length} characters omitted, sha256 ${hash}]`;
      state.set(index, withText(state.item(index)!, place, stub), "tool_outputs");
    }
  }
};

const media: Step = function* (state, { free, goal }) {
  for (const index of indicesOf(free)) {
    if (state.total <= goal) return;
    yield;
    const item = state.item(index);
    const bare = item && withoutMedia(item);
    if (bare !== item) state.set(index, bare, "media");
  }
};

/** What is said again later needs to be said there only. */
const duplicates: Step = function* (state, { taken, free, goal }) {
  const last = new Map<string, number>();
  for (const index of indicesOf(taken)) {
    for (const [, text] of textsOrNone(state, index)) if (text.length >= leastDuplicate) last.set(text, index);
  }
  for (const index of indicesOf(free)) {
    if (state.total <= goal) return;
    yield;
    for (const [place, text] of textsOrNone(state, index)) {
      if ((last.get(text) ?? index) <= index) continue;
      state.set(index, withText(state.item(index)!, place, "[said again below]"), "duplicates");
    }
  }
};

function textsOrNone(state: State, index: number): ReturnType<typeof textsOf> {
  const item = state.item(index);
  return item === undefined ? [] : textsOf(item);
}

const reasoning: Step = function* (state, { taken, goal }) {
  for (const { indices } of taken.slice(0, -1)) {
    if (state.total <= goal) return;
    yield;
    const gone = new Set(
      indices.flatMap((index) => (state.item(index)?.type === "reasoning" ? [state.item(index)?.id] : [])),
    );
    if (gone.size === 0) continue;
    for (const index of indices) {
      const item = state.item(index);
      const refers = item?.type === "item_reference" && gone.has(item.id);
      if (item?.type === "reasoning" || refers) state.set(index, undefined, "reasoning");
    }
  }
};

const units: Step = function* (state, { free, goal }) {
  for (const unit of middleFirst(free.filter((each) => state.has(each)))) {
    if (state.total <= goal) return;
    yield;
    state.omit(unit);
  }
};

/** Of anybody's words, what is being talked about among them: the longest text first. */
const texts: Step = function* (state, { cuttable, goal }) {
  const long: { readonly index: number; readonly place: Place; readonly text: string }[] = [];
  for (const index of indicesOf(cuttable)) {
    for (const [place, text] of textsOrNone(state, index))
      if (text.length > leastText) long.push({ index, place, text });
  }
  for (const { index, place, text } of long.toSorted((a, b) => b.text.length - a.text.length)) {
    if (state.total <= goal) return;
    yield;
    const item = state.item(index)!;
    const before = state.total;
    state.set(index, withText(item, place, withoutMiddle(text, leastText)), "texts");
    const spare = goal - state.total;
    if (spare <= 0) continue;
    // What can be kept of it, by its own share of tokens.
    const kept = leastText + Math.floor((spare / Math.max(1, before - state.total)) * (text.length - leastText) * 0.98);
    state.set(index, withText(item, place, withoutMiddle(text, kept)), "texts");
  }
};

export const steps: readonly Step[] = [outputs, media, duplicates, reasoning, units, texts];
