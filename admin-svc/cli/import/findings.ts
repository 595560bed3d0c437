/** Outcomes for the fields of an imported file: imported, unnecessary in Sluice, or left for the user to decide. */
import { escapeUnprintable } from "@sluice/proto/lib/process/cli.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";

/** Keys and indices from the root of a file to a field. */
export type Path = readonly (string | number)[];

export type FieldOutcome = "taken" | "as it is" | "not taken";

/** The outcome for a field, without the field's path. */
export interface Remark {
  readonly outcome: FieldOutcome;
  readonly text: string;
  /** Page of the documentation that explains the outcome. */
  readonly page?: string | undefined;
}

export interface Finding extends Remark {
  /** Path of the field, such as model_list[0].model_name. */
  readonly field: string;
}

/** Remark on a field that needs no setting because Sluice behaves that way anyway. */
export const keptField = (text: string, page: string): Remark => ({ outcome: "as it is", text, page });
/** Remark on a field that was not imported: what the user can do instead. */
export const untakenField = (text: string, page: string): Remark => ({ outcome: "not taken", text, page });

/** A table with the same remark for several fields. @param names of the fields, separated by spaces */
export const sameRemarkFor = (remark: Remark, ...names: readonly string[]): Readonly<Record<string, Remark>> =>
  Object.fromEntries(names.flatMap((line) => line.split(" ")).map((name) => [name, remark]));

const empty: Remark = { outcome: "as it is", text: "nothing is set" };

const identifier = /^[A-Za-z_][\w-]*$/;

/** Formats a path as text. The field's value is never shown, since it may be a secret. */
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
  /** Whether the field sets nothing: null, or a list or section without entries. */
  readonly isEmpty: boolean;
}

/** Lists all values without nested values, including empty lists and sections. */
export function leavesOf(value: unknown, path: Path = []): Leaf[] {
  const parts: [string | number, unknown][] = Array.isArray(value)
    ? value.map((entry, index) => [index, entry])
    : isObject(value)
      ? Object.entries(value)
      : [];
  if (parts.length === 0) return [{ path, isEmpty: typeof value === "object" }];
  return parts.flatMap(([step, part]) => leavesOf(part, [...path, step]));
}

/** Remarks by path. A remark on a section holds for every field in it without a remark of its own. */
export class Findings {
  readonly #remarks = new Map<string, Remark>();
  readonly #closed = new Map<string, Remark>();

  /** A later remark on the same path replaces an earlier one. */
  add(path: Path, remark: Remark): void {
    this.#remarks.set(JSON.stringify(path), remark);
  }

  /** Adds a remark on a section that overrides all remarks on fields in it. */
  close(path: Path, remark: Remark): void {
    this.#closed.set(JSON.stringify(path), remark);
  }

  taken(path: Path, text: string, page?: string): void {
    this.add(path, { outcome: "taken", text, page });
  }

  /** Adds remarks by field name to the fields that a section has. @param remarks by field name */
  addAll(path: Path, section: unknown, remarks: Readonly<Record<string, Remark>>): void {
    if (!isObject(section)) return;
    for (const name of Object.keys(section)) {
      const remark = Object.hasOwn(remarks, name) ? remarks[name] : undefined;
      if (remark !== undefined) this.add([...path, name], remark);
    }
  }

  /** Returns a finding for every leaf of the file. @param unknown remark on fields without a remark */
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

/** Merges equal findings on fields of many records into one, such as keys[*].spend, with their number. */
export function groupFindings(findings: readonly Finding[]): Finding[] {
  const groups = new Map<string, { readonly finding: Finding; readonly count: number }>();
  for (const { field, ...remark } of findings) {
    const finding = { field: field.replaceAll(/\[\d+\]/g, "[*]"), ...remark };
    const form = JSON.stringify(finding);
    groups.set(form, { finding, count: (groups.get(form)?.count ?? 0) + 1 });
  }
  return [...groups.values()].map(({ finding, count }) => ({ ...finding, field: `${finding.field} (${count})` }));
}
