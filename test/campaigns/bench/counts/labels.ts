/** Labels of places where a program allocates or creates promises: the function itself, and the nearest calling function of Sluice. */

/** A function on a stack, with the URL or path of its file. */
export interface CodePosition {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}

const unnamed = "(anonymous)";

/** Whether a function belongs to Sluice, not to Node or a dependency. */
export const isSluice = ({ file }: CodePosition): boolean =>
  file.startsWith("file:") && !file.includes("/node_modules/");

const rooms = /.*\/(?=(?:proto|gateway|inference-svc|admin-svc|deploy|test)\/)/;

/** Path of a file relative to the checkout or the package. */
function shortened(file: string): string {
  const path = file.replace(/^file:\/\//, "");
  const module = path.lastIndexOf("/node_modules/");
  return module === -1 ? path.replace(rooms, "") : path.slice(module + "/node_modules/".length);
}

export const describePlace = ({ name, file, line }: CodePosition): string =>
  file === "" ? name || unnamed : `${name || unnamed} ${shortened(file)}:${line}`;

/** The label of a stack. @param stack functions, innermost first */
export function labelOf(stack: readonly CodePosition[]): string {
  const [inner] = stack;
  if (inner === undefined) return "(no JavaScript on the stack)";
  const asker = stack.find(isSluice);
  return asker === undefined || asker === inner
    ? describePlace(inner)
    : `${describePlace(inner)} < ${describePlace(asker)}`;
}

/** Amounts by label. */
export class AmountsByLabel {
  readonly #amounts = new Map<string, number>();

  add(label: string, amount: number): void {
    this.#amounts.set(label, (this.#amounts.get(label) ?? 0) + amount);
  }

  get size(): number {
    return this.#amounts.size;
  }

  /** The labels with the largest amounts, largest first. */
  top(count: number): readonly (readonly [label: string, amount: number])[] {
    return [...this.#amounts].sort(([, a], [, b]) => b - a).slice(0, count);
  }
}
