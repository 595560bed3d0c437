/** Deltas in whole characters: half of one is a text in JSON, and none in the UTF-8 in which deltas travel. */
import type { TurnEvent } from "../turn/turn.ts";
import type { Emit } from "./output.ts";

type Delta = Extract<TurnEvent, { readonly delta: string }>;

/** @returns takes the events of items, and gives the first half of a character with the second; without one, before what comes next of the item */
export function inWholeCharacters(emit: Emit): Emit {
  /** By item: the first half of a character. */
  const halves = new Map<number, Delta>();
  const leave = (index: number) => {
    const half = halves.get(index);
    halves.delete(index);
    if (half) emit(half);
  };
  return (event) => {
    if (!("delta" in event)) {
      if (event.type === "item.end") leave(event.index);
      return emit(event);
    }
    const half = halves.get(event.index);
    if (half && !isSame(half, event)) leave(event.index);
    const whole = halves.delete(event.index) && half ? joined(half, event) : event;
    if (!endsInHalf(whole.delta)) return emit(whole);
    if (whole.delta.length === 1) return void halves.set(whole.index, whole);
    emit({ ...whole, delta: whole.delta.slice(0, -1) });
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

/** With the tokens of both. */
function joined(half: Delta, event: Delta): Delta {
  const delta = half.delta + event.delta;
  const [before, after] = [tokensOf(half), tokensOf(event)];
  if (before === undefined || event.type === "arguments.delta") return { ...event, delta };
  return { ...event, delta, logprobsJson: after === undefined ? before : `${before.slice(0, -1)},${after.slice(1)}` };
}

const tokensOf = (event: Delta): string | undefined => ("logprobsJson" in event ? event.logprobsJson : undefined);
