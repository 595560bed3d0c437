/** Gives the parts of a schema that get another name one that no other part has. */

const maxNameLength = 64;
/** The rest is left for a number. */
const maxBaseLength = maxNameLength - 4;

export class FreeNames {
  readonly #taken: Set<string>;
  /** The last number behind each base: to count from the beginning for each name took time that grows with the square of their count. */
  readonly #counts = new Map<string, number>();

  /** @param taken names that stay */
  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** @returns the wanted name of letters, digits, `_`, `.` and `-`, cut, and with a number if it is taken */
  take(wanted: string): string {
    const base = wanted.slice(0, maxBaseLength).replaceAll(/[^a-zA-Z0-9_.-]/g, "_") || "_";
    let count = this.#counts.get(base) ?? 1;
    let free = count === 1 ? base : `${base}_${count}`;
    while (this.#taken.has(free)) free = `${base}_${++count}`;
    this.#counts.set(base, count);
    this.#taken.add(free);
    return free;
  }
}
