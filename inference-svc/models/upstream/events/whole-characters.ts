/**
 * Joins surrogate pairs across deltas: JSON can carry half a pair, but deltas are sent in UTF-8, which cannot. A half
 * without the other one is replaced.
 */
import type { TurnEvent } from "../../../turn/turn.ts";
import type { Emit } from "./item-writer.ts";

type Delta = Extract<TurnEvent, { readonly delta: string }>;

/** @returns a function that holds back a first half until its second half arrives, or until the next event of the item */
export function joinSurrogates(emit: Emit): Emit {
  /** First halves of surrogate pairs at the ends of deltas, by item index; undefined in nearly all answers. */
  let halves: Map<number, Delta> | undefined;
  const emitWhole = (event: Delta) =>
    emit(event.delta.isWellFormed() ? event : { ...event, delta: event.delta.toWellFormed() });
  const leave = (index: number) => {
    const half = halves?.get(index);
    halves?.delete(index);
    if (half) emitWhole(half);
  };
  return (event) => {
    if (!("delta" in event)) {
      if (halves && event.type === "item.end") leave(event.index);
      return emit(event);
    }
    if (!halves && !endsInHalf(event.delta)) return emitWhole(event);
    halves ??= new Map();
    const half = halves.get(event.index);
    if (half && !isSame(half, event)) leave(event.index);
    const whole = halves.delete(event.index) && half ? joinDeltas(half, event) : event;
    if (!endsInHalf(whole.delta)) return emitWhole(whole);
    if (whole.delta.length === 1) return void halves.set(whole.index, whole);
    emitWhole({ ...whole, delta: whole.delta.slice(0, -1) });
    halves.set(whole.index, { ...bare(whole), delta: whole.delta.slice(-1) });
  };
}

const endsInHalf = (text: string): boolean => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800;

const partOf = (event: Delta): number => ("part" in event ? event.part : 0);
const isSame = (a: Delta, b: Delta): boolean => a.type === b.type && partOf(a) === partOf(b);

function bare(event: Delta): Delta {
  if (event.type === "arguments.delta") return event;
  const { logprobsJson: _, ...rest } = event;
  return rest;
}

/** Joins two deltas, with the log probabilities of both. */
function joinDeltas(half: Delta, event: Delta): Delta {
  const delta = half.delta + event.delta;
  const [before, after] = [tokensOf(half), tokensOf(event)];
  if (before === undefined || event.type === "arguments.delta") return { ...event, delta };
  return { ...event, delta, logprobsJson: after === undefined ? before : `${before.slice(0, -1)},${after.slice(1)}` };
}

const tokensOf = (event: Delta): string | undefined => ("logprobsJson" in event ? event.logprobsJson : undefined);
