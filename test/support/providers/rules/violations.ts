/** Parts that the checks of request bodies share. */
export type BodyPart = Readonly<Record<string, unknown>>;

export const isBodyPart = (value: unknown): value is BodyPart =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const bodyPartsOf = (value: unknown): readonly BodyPart[] =>
  Array.isArray(value) ? value.filter(isBodyPart) : [];

type Report = (path: string, problem: string) => void;

/** Checks that the names of declared tools have the required form and are unique, and that the chosen tool is declared. */
export function checkToolNames(names: readonly unknown[], form: RegExp, chosen: unknown, report: Report): void {
  for (const name of names) if (!form.test(String(name))) report("tools", `has the name ${String(name)}`);
  if (new Set(names).size < names.length) report("tools", "has a name twice");
  if (chosen !== undefined && !names.includes(chosen)) report("tool_choice", `names ${JSON.stringify(chosen)}`);
}

/** @returns every violation reported by a check, as "path: error" */
export function violationsOf(check: (report: Report) => void): readonly string[] {
  const found: string[] = [];
  check((path, problem) => void found.push(`${path}: ${problem}`));
  return found;
}
