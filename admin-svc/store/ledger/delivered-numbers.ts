/**
 * Sequence numbers of the stored turn records of one start of a process. They are contiguous unless records are
 * missing.
 */

/** A range of sequence numbers; `to` is not included. */
type NumberRange = readonly [from: bigint, to: bigint];

export interface DeliveredNumbers {
  /** The highest stored sequence number. */
  readonly last: bigint;
  /** The longest ranges of missing numbers below `last`, ascending. Numbers in shorter ranges count as stored. */
  readonly missing: readonly NumberRange[];
}

const none: DeliveredNumbers = { last: 0n, missing: [] };

const rangePattern = /\[(\d+),(\d+)\)/g;

/** @param missing an int8multirange of Postgres as text */
export const parseDelivered = (last: string, missing: string): DeliveredNumbers => ({
  last: BigInt(last),
  missing: [...missing.matchAll(rangePattern)].map(([, from = "", to = ""]) => [BigInt(from), BigInt(to)]),
});

/** Formats the missing numbers as an int8multirange of Postgres. */
export const missingText = ({ missing }: DeliveredNumbers): string =>
  `{${missing.map(([from, to]) => `[${from},${to})`).join(",")}}`;

export const hasNumber = ({ last, missing }: DeliveredNumbers = none, number: bigint): boolean =>
  number <= last && !missing.some(([from, to]) => number >= from && number < to);

/** Adds newly stored numbers. @param numbers sequence numbers not stored yet */
export function withNumbers(known: DeliveredNumbers = none, numbers: Iterable<bigint>): DeliveredNumbers {
  let { last } = known;
  const missing = [...known.missing];
  for (const number of [...numbers].sort((one, other) => (one < other ? -1 : 1))) {
    if (number > last) {
      if (number > last + 1n) missing.push([last + 1n, number]);
      last = number;
    } else {
      const at = missing.findIndex(([from, to]) => number >= from && number < to);
      const [from, to] = missing[at] ?? [number, number];
      const rest: NumberRange[] = [
        [from, number],
        [number + 1n, to],
      ];
      if (at >= 0) missing.splice(at, 1, ...rest.filter((range) => range[0] < range[1]));
    }
  }
  return { last, missing: longest(missing) };
}

/**
 * Maximum number of remembered ranges. Each refused turn leaves a range of one number, and each batch writes all ranges
 * of its process: with 10,000 ranges that took 98 ms and wrote 84 KB of write-ahead log. Records that a restored
 * database lacks form one long range.
 */
const maxRanges = 64;

function longest(ranges: readonly NumberRange[]): readonly NumberRange[] {
  if (ranges.length <= maxRanges) return ranges;
  const sizes = ranges.map(([from, to]) => to - from).sort((one, other) => (one > other ? -1 : 1));
  const least = sizes[maxRanges - 1] ?? 0n;
  let left = maxRanges - sizes.filter((size) => size > least).length;
  return ranges.filter(([from, to]) => to - from > least || (to - from === least && left-- > 0));
}
