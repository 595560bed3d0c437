/** A row of the table: a measure, and its figure for each gateway. */
import type { LoadSubject } from "../subject.ts";

/** A figure of one subject; less is better. Without a value it takes no part in the comparison. */
export interface Cell {
  readonly text: string;
  readonly value?: number;
}

export interface PeerRow {
  readonly measure: string;
  readonly cells: ReadonlyMap<LoadSubject, Cell>;
  /** Rounds were disturbed, so that the figures decide nothing. */
  readonly inconclusive?: boolean;
}

/** One after the other, so that none is measured while another works. A failure is a figure like any other. */
export async function eachCell(
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
