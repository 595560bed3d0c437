/** The result of `--peers` as Markdown: the figures, the best gateway of each row, notes on each gateway, and the absent ones. */
import type { LoadSubject } from "../subject.ts";
import { markdownRow, inconclusiveNote } from "../report.ts";
import {
  type ComparableCell,
  type RelativeFigure,
  type PeerRow,
  maxDifferenceOfHalves,
  isSettled,
  toRelativeFigure,
} from "./rows.ts";
import { type GatewayDescription, type FeatureId, featureNames } from "./peer.ts";

export interface Column {
  readonly title: string;
  readonly subject: LoadSubject;
  /** Kind of subject; `sluice` is one of its formats, and the pipe is no gateway to compare with. */
  readonly kind: "sluice" | "peer" | "pipe";
}

export interface PeerReport {
  /** Command, versions, date and machine. */
  readonly head: string;
  readonly columns: readonly Column[];
  readonly rows: readonly PeerRow[];
  readonly described: readonly GatewayDescription[];
  /** Reason for each gateway that is not in the table, by its name. */
  readonly absent: ReadonlyMap<string, string>;
}

export function peerReport({ head, columns, rows, described, absent }: PeerReport): string {
  return [
    head,
    "",
    ...figures(columns, rows),
    "",
    ...(rows.some(({ inconclusive }) => inconclusive) ? [inconclusiveNote, ""] : []),
    ...settlement(columns, rows),
    "",
    ...rows.flatMap((row) => lead(columns, row)),
    "",
    ...features(described),
    "",
    ...described.map(({ name, version, setting }) => `- ${name} ${version}: ${setting}.`),
    ...[...absent].map(([name, why]) => `- ${name} is absent: ${why}.`),
    "",
  ].join("\n");
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  [head, head.map(() => "---"), ...rows].map(markdownRow);

function figures(columns: readonly Column[], rows: readonly PeerRow[]): string[] {
  const cells = rows.map(({ measure, cells, inconclusive }) => [
    measure + (inconclusive ? " (inconclusive)" : ""),
    ...columns.map(({ subject }) => figure(columns, cells, subject)),
  ]);
  return table(["measure", ...columns.map(({ title }) => title)], cells);
}

type Cells = PeerRow["cells"];

const figure = (columns: readonly Column[], cells: Cells, subject: LoadSubject): string =>
  [cells.get(subject)?.text ?? "", multipleText(multiple(columns, cells, subject))].filter(Boolean).join(", ");

const multipleText = (found: RelativeFigure | undefined): string =>
  found === undefined ? "" : `${times(found.median)} (${times(found.least)} to ${times(found.most)})`;

const times = (ratio: number): string => `${ratio.toFixed(2)}x`;

/** The figure as a multiple of that in the first column. */
function multiple([base]: readonly Column[], cells: Cells, subject: LoadSubject): RelativeFigure | undefined {
  const [own, first] = [cells.get(subject), base && cells.get(base.subject)];
  return own === undefined || first === undefined || own === first ? undefined : toRelativeFigure(own, first);
}

/** Lists the comparisons that a second run might not confirm, judged by the two halves of this run. */
function settlement(columns: readonly Column[], rows: readonly PeerRow[]): string[] {
  const percent = `${maxDifferenceOfHalves * 100} %`;
  const lines = rows.flatMap(({ measure, cells }) =>
    columns.flatMap(({ title, subject }) => {
      const found = multiple(columns, cells, subject);
      if (found === undefined || isSettled(found)) return [];
      return [`- Not settled: ${title} in "${measure}", ${found.halves.map(times).join(" and ")}.`];
    }),
  );
  const compared = "between the first and the second half of its rounds";
  if (lines.length === 0) return [`Settled: no multiple differs by more than ${percent} ${compared}.`];
  return [`A multiple is settled when it differs by ${percent} at most ${compared}:`, "", ...lines];
}

interface Placed {
  readonly column: Column;
  readonly cell: ComparableCell;
}

function lowest(columns: readonly Column[], { cells }: PeerRow, kind: Column["kind"]): Placed | undefined {
  const placed = columns.flatMap((column) => {
    const cell = cells.get(column.subject);
    return column.kind === kind && cell?.value !== undefined ? [{ column, cell: { ...cell, value: cell.value } }] : [];
  });
  return placed.toSorted((a, b) => a.cell.value - b.cell.value)[0];
}

/** The line with the best gateway of a row, if its figures can be compared. */
function lead(columns: readonly Column[], row: PeerRow): string[] {
  const own = lowest(columns, row, "sluice");
  const other = lowest(columns, row, "peer");
  if (own === undefined || other === undefined || row.inconclusive) return [];
  const [first, second] = own.cell.value <= other.cell.value ? [own, other] : [other, own];
  const texts = `${first.cell.text} against ${second.cell.text} of ${second.column.title}`;
  return [`- ${first.column.title} is ahead in "${row.measure}": ${texts}.`];
}

function features(described: readonly GatewayDescription[]): string[] {
  const rows = Object.entries(featureNames).map(([id, feature]) => [
    feature,
    ...described.map((each) => each.features[id as FeatureId]),
  ]);
  return table(["what it does on each request", ...described.map(({ name }) => name)], rows);
}
