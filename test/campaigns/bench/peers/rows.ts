/** Rows of the table: each has a measure, its figure for each gateway, and their comparison round by round. */
import { median } from "../measure/rounds.ts";
import type { LoadSubject } from "../subject.ts";

/** Groups of rows, which `--only` can select. */
export const peerParts = ["requests", "events", "delays", "memory", "cancel", "silence"] as const;
export type PeerPart = (typeof peerParts)[number];

/** A figure of one subject, of which less is better. A cell without a value takes no part in the comparison. */
export interface Cell {
  readonly text: string;
  readonly value?: number;
  /** The figure of each round; within a round, the subjects are measured in turn. */
  readonly rounds?: readonly number[];
}

/** A cell that takes part in the comparison. */
export type ComparableCell = Cell & { readonly value: number };

export interface PeerRow {
  readonly measure: string;
  readonly cells: ReadonlyMap<LoadSubject, Cell>;
  /** True if rounds were disturbed, so the figures prove nothing. */
  readonly inconclusive?: boolean;
}

/** A figure as a multiple of another one. The ratio is taken within each round, since disturbances affect both alike. */
export interface RelativeFigure {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** Medians of the first and of the second half of the rounds. */
  readonly halves: readonly [number, number];
}

/** @returns undefined if no round has both figures */
export function toRelativeFigure({ rounds = [] }: Cell, { rounds: base = [] }: Cell): RelativeFigure | undefined {
  const ratios = rounds.map((figure, round) => figure / (base[round] ?? Number.NaN));
  if (ratios.length < 2 || !ratios.every(Number.isFinite)) return undefined;
  const middle = Math.floor(ratios.length / 2);
  return {
    median: median(ratios),
    least: Math.min(...ratios),
    most: Math.max(...ratios),
    halves: [median(ratios.slice(0, middle)), median(ratios.slice(-middle))],
  };
}

/** Maximum relative difference between the halves of a run. The halves are like two short runs, and two runs should agree within it. */
export const maxDifferenceOfHalves = 0.1;

export const isSettled = ({ halves: [first, second] }: RelativeFigure): boolean =>
  Math.abs(first - second) <= maxDifferenceOfHalves * Math.min(Math.abs(first), Math.abs(second));

/** Measures the subjects one after the other, so none is disturbed by another's work. A failure becomes a cell like any figure. */
export async function measureCells(
  subjects: readonly LoadSubject[],
  measure: (subject: LoadSubject) => Promise<Cell>,
): Promise<Map<LoadSubject, Cell>> {
  const cells = new Map<LoadSubject, Cell>();
  for (const subject of subjects) {
    const cell = await measure(subject).catch((error: Error) => ({
      text: `failed: ${error.message.slice(0, 80)}`,
    }));
    cells.set(subject, cell);
  }
  return cells;
}
