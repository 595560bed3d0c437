/** Numbers of the stored turn records of one start of a process. They are contiguous unless records are missing. */

/** Numbers from the first to before the second. */
type NumberRange = readonly [from: bigint, to: bigint];

export interface DeliveredNumbers {
  /** The highest stored number. */
  readonly last: bigint;
  /** Numbers below it that are not stored, ascending. */
  readonly missing: readonly NumberRange[];
}

const none: DeliveredNumbers = { last: 0n, missing: [] };

const rangePattern = /\[(\d+),(\d+)\)/g;

/** @param missing int8multirange of Postgres, as text */
export const parseDelivered = (last: string, missing: string): DeliveredNumbers => ({
  last: BigInt(last),
  missing: [...missing.matchAll(rangePattern)].map(([, from = "", to = ""]) => [BigInt(from), BigInt(to)]),
});

/** The missing numbers as int8multirange of Postgres. */
export const missingText = ({ missing }: DeliveredNumbers): string =>
  `{${missing.map(([from, to]) => `[${from},${to})`).join(",")}}`;

export const hasNumber = ({ last, missing }: DeliveredNumbers = none, number: bigint): boolean =>
  number <= last && !missing.some(([from, to]) => number >= from && number < to);

/** @param numbers not stored yet */
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
  return { last, missing };
}
