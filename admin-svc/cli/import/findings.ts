/** Outcomes for the fields of an imported file: taken over, needless here, or left for a person. */
import { escapeUnprintable } from "@sluice/proto/lib/process/cli.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";

/** Keys and indices from the root of a file to a field. */
export type Path = readonly (string | number)[];

export type FieldOutcome = "taken" | "as it is" | "not taken";

/** The outcome for a field, without its place. */
export interface Remark {
  readonly outcome: FieldOutcome;
  readonly text: string;
  /** Page of the documentation. */
  readonly page?: string | undefined;
}

export interface Finding extends Remark {
  /** Place of the field, such as model_list[0].model_name. */
  readonly field: string;
}

/** Remark on a field whose meaning Sluice has without a setting. */
export const keptField = (text: string, page: string): Remark => ({ outcome: "as it is", text, page });
/** Remark on a field that needs a decision: what to do instead. */
export const untakenField = (text: string, page: string): Remark => ({ outcome: "not taken", text, page });

/** The same remark on several fields. @param names separated by spaces */
export const sameRemarkFor = (remark: Remark, ...names: readonly string[]): Readonly<Record<string, Remark>> =>
  Object.fromEntries(names.flatMap((line) => line.split(" ")).map((name) => [name, remark]));

const empty: Remark = { outcome: "as it is", text: "nothing is set" };

const identifier = /^[A-Za-z_][\w-]*$/;

/** A path as text; the value itself is never shown, since it may be a secret. */
export const pathText = (path: Path): string =>
  escapeUnprintable(
    path.reduce<string>((text, step) => {
      if (typeof step === "number") return `${text}[${step}]`;
      if (!identifier.test(step)) return `${text}[${JSON.stringify(step)}]`;
      return text === "" ? step : `${text}.${step}`;
    }, ""),
  );

interface Leaf {
  readonly path: Path;
  /** Whether nothing is set: null, or a list or section without parts. */
  readonly isEmpty: boolean;
}

/** All values without parts, including empty lists and sections. */
export function leavesOf(value: unknown, path: Path = []): Leaf[] {
  const parts: [string | number, unknown][] = Array.isArray(value)
    ? value.map((entry, index) => [index, entry])
    : isObject(value)
      ? Object.entries(value)
      : [];
  if (parts.length === 0) return [{ path, isEmpty: typeof value === "object" }];
  return parts.flatMap(([step, part]) => leavesOf(part, [...path, step]));
}

/** Remarks by path. A remark on a section holds for every field within it that has no remark of its own. */
export class Findings {
  readonly #remarks = new Map<string, Remark>();
  readonly #closed = new Map<string, Remark>();

  /** A later remark on the same path replaces an earlier one. */
  add(path: Path, remark: Remark): void {
    this.#remarks.set(JSON.stringify(path), remark);
  }

  /** Adds a remark on a section that replaces the remarks on its fields. */
  close(path: Path, remark: Remark): void {
    this.#closed.set(JSON.stringify(path), remark);
  }

  taken(path: Path, text: string, page?: string): void {
    this.add(path, { outcome: "taken", text, page });
  }

  /** Adds the remarks of a table to those fields of a section that are present. */
  addAll(path: Path, section: unknown, remarks: Readonly<Record<string, Remark>>): void {
    if (!isObject(section)) return;
    for (const name of Object.keys(section)) {
      const remark = Object.hasOwn(remarks, name) ? remarks[name] : undefined;
      if (remark !== undefined) this.add([...path, name], remark);
    }
  }

  /** A finding for every leaf of the file. @param unknown remark on fields without any */
  of(file: unknown, unknown: Remark): Finding[] {
    return leavesOf(file).map(({ path, isEmpty }) => ({
      field: pathText(path),
      ...(isEmpty ? empty : (this.#nearest(path) ?? unknown)),
    }));
  }

  #nearest(leaf: Path): Remark | undefined {
    const prefixes = [leaf, ...leaf.map((_, index) => leaf.slice(0, -1 - index))].map((path) => JSON.stringify(path));
    const known = (remarks: ReadonlyMap<string, Remark>) => prefixes.find((prefix) => remarks.has(prefix));
    const closed = known(this.#closed);
    if (closed !== undefined) return this.#closed.get(closed);
    return this.#remarks.get(known(this.#remarks) ?? "");
  }
}

export const findingLine = ({ outcome, field, text, page }: Finding): string =>
  `${outcome.padEnd(9)}  ${field}: ${text}${page === undefined ? "" : ` (${page})`}`;

/** The findings with one entry for fields of the same name in many records, such as keys[*].spend, and their number. */
export function groupFindings(findings: readonly Finding[]): Finding[] {
  const groups = new Map<string, { readonly finding: Finding; readonly count: number }>();
  for (const { field, ...remark } of findings) {
    const finding = { field: field.replaceAll(/\[\d+\]/g, "[*]"), ...remark };
    const form = JSON.stringify(finding);
    groups.set(form, { finding, count: (groups.get(form)?.count ?? 0) + 1 });
  }
  return [...groups.values()].map(({ finding, count }) => ({ ...finding, field: `${finding.field} (${count})` }));
}
