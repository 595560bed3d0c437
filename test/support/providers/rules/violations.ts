/** Parts of the checks of request bodies. */
export type BodyPart = Readonly<Record<string, unknown>>;

export const isBodyPart = (value: unknown): value is BodyPart =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const list = (value: unknown): readonly BodyPart[] => (Array.isArray(value) ? value.filter(isBodyPart) : []);

/** @returns every violation that a check reports, as "path: what is wrong" */
export function violationsOf(check: (report: (path: string, problem: string) => void) => void): readonly string[] {
  const found: string[] = [];
  check((path, problem) => void found.push(`${path}: ${problem}`));
  return found;
}
