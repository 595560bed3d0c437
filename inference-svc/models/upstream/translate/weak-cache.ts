/**
 * Caches the translation of a repeated part of a request, with the fields dropped in it: an agent sends the same tools
 * with every step.
 */
import type { OnDropped } from "../dialect.ts";

interface Dropped {
  readonly path: string;
  readonly reason: string;
}

interface Made<Result> {
  readonly result: Result;
  readonly dropped: readonly Dropped[];
}

export class WeakCache<Source extends object, Result> {
  readonly #known = new WeakMap<Source, Made<Result>>();
  readonly #make: (source: Source, onDropped: OnDropped) => Result;

  /** @param make translates a part; its result may depend only on this part */
  constructor(make: (source: Source, onDropped: OnDropped) => Result) {
    this.#make = make;
  }

  of(source: Source, onDropped: OnDropped): Result {
    let made = this.#known.get(source);
    if (made === undefined) this.#known.set(source, (made = this.#makeNow(source)));
    for (const { path, reason } of made.dropped) onDropped(path, reason);
    return made.result;
  }

  #makeNow(source: Source): Made<Result> {
    const dropped: Dropped[] = [];
    const result = this.#make(source, (path, reason) => dropped.push({ path, reason }));
    return { result, dropped };
  }
}

/** Returns a function whose results are cached for as long as their argument lives. */
export function cacheByObject<Source extends object, Result>(
  make: (source: Source) => Result,
): (source: Source) => Result {
  const known = new WeakMap<Source, Result>();
  return (source) => {
    let made = known.get(source);
    if (made === undefined) known.set(source, (made = make(source)));
    return made;
  };
}
