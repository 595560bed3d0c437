/** A row of the table: a measure, its figure for each gateway, and how those compare round by round. */
import { median } from "../measure/rounds.ts";
import type { LoadSubject } from "../subject.ts";

/** Groups of rows, selected by `--only`. */
export const peerParts = ["requests", "events", "delays", "memory", "cancel", "silence"] as const;
export type PeerPart = (typeof peerParts)[number];

/** A figure of one subject; less is better. Without a value it takes no part in the comparison. */
export interface Cell {
  readonly text: string;
  readonly value?: number;
  /** The figure in each round; the subjects take turns within a round. */
  readonly rounds?: readonly number[];
}

/** A comparable cell. */
export type ComparableCell = Cell & { readonly value: number };

export interface PeerRow {
  readonly measure: string;
  readonly cells: ReadonlyMap<LoadSubject, Cell>;
  /** Rounds were disturbed, so the figures decide nothing. */
  readonly inconclusive?: boolean;
}

/** A figure as a multiple of another one, by the ratios within single rounds, where disturbances affect both alike. */
export interface RelativeFigure {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** Medians of the first and of the second half of the rounds. */
  readonly halves: readonly [number, number];
}

/** @returns undefined without a round with both figures */
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

/** Two runs are to agree within this, and the halves of one are as two short runs. */
export const maxDifferenceOfHalves = 0.1;

export const isSettled = ({ halves: [first, second] }: RelativeFigure): boolean =>
  Math.abs(first - second) <= maxDifferenceOfHalves * Math.min(Math.abs(first), Math.abs(second));

/** Runs one after the other, so that a measurement is not disturbed by another subject's work. A failure is a figure like any other. */
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
