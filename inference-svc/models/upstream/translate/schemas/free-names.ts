/** Finds unused names for the parts of a schema that must be renamed. */

const maxNameLength = 64;
/** Maximum characters of a name without its number. */
const maxBaseLength = maxNameLength - 4;

export class FreeNames {
  readonly #taken: Set<string>;
  /** The last number used for each base: counting from 1 for each name would take quadratic time. */
  readonly #counts = new Map<string, number>();

  /** @param taken names that are in use */
  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** @returns the wanted name with only letters, digits, `_`, `.` and `-`, shortened, and with a number if it is in use */
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
