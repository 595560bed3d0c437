/** The result of a run of recorded exchanges: complaints by kind, and one line of figures. */
import { decisions, matchesKind, undecidedKinds } from "./decisions.ts";
import type { DoorResult } from "./replay.ts";

const undecided = (row: DoorResult) =>
  row.differences.filter(
    (difference) => ![...decisions, ...undecidedKinds].some((each) => matchesKind(each, row, difference)),
  );

/** Differences without a decision: one line with an example for each kind. */
export function undecidedComplaints(rows: readonly DoorResult[]): string[] {
  const byKind = new Map<string, { count: number; example: string }>();
  for (const row of rows) {
    const { id, format, vendor } = row.exchange;
    for (const { what, want, got } of undecided(row)) {
      const kind = `${format}, ${row.door}: ${what}${what === "refused" ? ` ${got.replaceAll(/[0-9a-f]{12}|\d+/g, "N")}` : ""}`;
      const { count, example } = byKind.get(kind) ?? { count: 0, example: `${id} of ${vendor}: ${want} => ${got}` };
      byKind.set(kind, { count: count + 1, example });
    }
  }
  return [...byKind]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([kind, { count, example }]) => `${count} x ${kind} (${example})`);
}

/** Whether each difference is a deliberate one; a difference that is still to be fixed is not. */
const isDecidedRow = (row: DoorResult): boolean =>
  row.differences.every((difference) => decisions.some((each) => matchesKind(each, row, difference)));

export function summaryOf(rows: readonly DoorResult[], ms: number): string {
  const ids = new Set(rows.map(({ exchange }) => exchange.id));
  const percent = (some: number) => `${((100 * some) / rows.length).toFixed(1)} %`;
  const equal = rows.filter(({ differences }) => differences.length === 0).length;
  const accepted = rows.filter(isDecidedRow).length;
  return `recorded: ${ids.size} exchanges, ${rows.length} answers at doors, ${percent(equal)} equal, ${percent(accepted)} but for decisions, ${(ms / 1000).toFixed(0)} s`;
}
