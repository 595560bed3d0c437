/** Steps for shortening an input, ordered by how little is lost. Each stops as soon as enough is removed. */
import { createHash } from "node:crypto";
import type { Yielding } from "../../turn/time-slice.ts";
import { truncateMiddle } from "../../turn/truncate.ts";
import type { State } from "./state.ts";
import { type ItemTextPosition, isOutput, textsOf, replaceText, withoutMedia } from "./texts.ts";
import type { Unit } from "./units.ts";

/** The parts of the input a step may change. */
export interface CompressionReach {
  /** All units left; the last two are the current topic. */
  readonly taken: readonly Unit[];
  /** Removable units: all but the first question, the last question and the last two units. */
  readonly free: readonly Unit[];
  /** Units whose texts may be cut in the middle. */
  readonly cuttable: readonly Unit[];
  /** Number of tokens at which a step stops. */
  readonly goal: number;
}

export type Step = (state: State, reach: CompressionReach) => Yielding;

/** Number of the latest tool outputs kept: masking older outputs costs no quality (arXiv 2508.21433). */
const latestOutputs = 10;
/** Minimum UTF-16 units of an output to mask: a shorter output would not get shorter by its placeholder. */
const minOutput = 200;
const minDuplicate = 200;
const minText = 400;

const indicesOf = (units: readonly Unit[]): readonly number[] => units.flatMap(({ indices }) => indices);

/** Entries ordered from the middle outwards, in order of removal: the beginning states the task, the end holds the latest work. */
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
      if (text.length < minOutput) continue;
      const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
      const stub = `[output of ${text.length} characters omitted, sha256 ${hash}]`;
      state.set(index, replaceText(state.item(index)!, place, stub), "tool_outputs");
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

/** Removes texts that occur again later. */
const duplicates: Step = function* (state, { taken, free, goal }) {
  const last = new Map<string, number>();
  for (const index of indicesOf(taken)) {
    for (const [, text] of textsOrNone(state, index)) if (text.length >= minDuplicate) last.set(text, index);
  }
  for (const index of indicesOf(free)) {
    if (state.total <= goal) return;
    yield;
    for (const [place, text] of textsOrNone(state, index)) {
      if ((last.get(text) ?? index) <= index) continue;
      state.set(index, replaceText(state.item(index)!, place, "[said again below]"), "duplicates");
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

/** Shortens the longest texts first, the current turn included. */
const texts: Step = function* (state, { cuttable, goal }) {
  const long: { readonly index: number; readonly place: ItemTextPosition; readonly text: string }[] = [];
  for (const index of indicesOf(cuttable)) {
    for (const [place, text] of textsOrNone(state, index)) if (text.length > minText) long.push({ index, place, text });
  }
  for (const { index, place, text } of long.toSorted((a, b) => b.text.length - a.text.length)) {
    if (state.total <= goal) return;
    yield;
    const item = state.item(index)!;
    const before = state.total;
    state.set(index, replaceText(item, place, truncateMiddle(text, minText)), "texts");
    const spare = goal - state.total;
    if (spare <= 0) continue;
    // Length a text keeps, computed from its actual characters per token.
    const kept = minText + Math.floor((spare / Math.max(1, before - state.total)) * (text.length - minText) * 0.98);
    state.set(index, replaceText(item, place, truncateMiddle(text, kept)), "texts");
  }
};

export const steps: readonly Step[] = [outputs, media, duplicates, reasoning, units, texts];
