/** Results of an examination, and their form on a terminal. */

export interface Finding {
  /** The part of Sluice or of the machine that was examined. */
  readonly subject: string;
  /** Result; `note` means that Sluice runs, but perhaps not as intended. */
  readonly state: "good" | "note" | "failed";
  readonly text: string;
  /** The next step for the operator, as a sentence. */
  readonly remedy?: string;
}

export const goodFinding = (subject: string, text: string): Finding => ({ subject, state: "good", text });

export const noteFinding = (subject: string, text: string, remedy: string): Finding => ({
  subject,
  state: "note",
  text,
  remedy,
});

export const failedFinding = (subject: string, text: string, remedy: string): Finding => ({
  subject,
  state: "failed",
  text,
  remedy,
});

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const subjectWidth = 16;
const indent = " ".repeat("failed  ".length + subjectWidth);

export function toLines(findings: readonly Finding[]): string[] {
  const count = findings.filter(({ state }) => state === "failed").length;
  const lines = findings.flatMap(({ subject, state, text, remedy }) => [
    `${state.padEnd("failed  ".length)}${subject.padEnd(subjectWidth)}${text.replaceAll("\n", `\n${indent}`)}`,
    ...(remedy === undefined ? [] : [`${indent}${remedy}`]),
  ]);
  return [...lines, count === 0 ? "Nothing failed." : `${count} of ${findings.length} checks failed.`];
}
