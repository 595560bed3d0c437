/** Converts the text items of a PDF page to Markdown: lines from top to bottom, columns one after the other, headings, lists and tables. */
import { toPipeTable } from "../pipe-table.ts";
import type { TextItem } from "./pdfjs.ts";

/** A piece of text in reading direction, with x along the line and y upwards. */
interface Run {
  readonly text: string;
  readonly x: number;
  readonly end: number;
  readonly y: number;
  readonly size: number;
}

/** Adjacent runs of a line, joined to one text. */
interface Cell {
  readonly text: string;
  readonly x: number;
  readonly end: number;
}

interface Line {
  readonly cells: readonly Cell[];
  readonly y: number;
  readonly size: number;
}

export function layOutPage(items: readonly TextItem[]): string {
  const turned = new Map<number, Run[]>();
  for (const item of items) {
    if (item.str.trim() === "") continue;
    const { quarter, run } = toRun(item);
    const runs = turned.get(quarter);
    if (runs) runs.push(run);
    else turned.set(quarter, [run]);
  }
  return [...turned.values()].map((runs) => writeText(groupLines(runs))).join("\n\n");
}

/** Converts an item of pdfjs to a run. Rotated text is read as if the page were rotated. */
function toRun({ str, transform, width, height }: TextItem): { readonly quarter: number; readonly run: Run } {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = transform;
  const size = Math.hypot(c, d) || height || 1;
  const quarter = ((Math.round(Math.atan2(b, a) / (Math.PI / 2)) % 4) + 4) % 4;
  const [x, y] = (
    [
      [e, f],
      [f, -e],
      [-e, -f],
      [-f, e],
    ] as const
  )[quarter] as readonly [number, number];
  return { quarter, run: { text: str, x, end: x + width, y, size } };
}

/** Maximum vertical distance of two runs of one line, as a share of their height. */
const sameLine = 0.5;
/** Minimum gaps between runs for a space and for a new cell, as shares of the text height. */
const spaceGap = 0.15;
const cellGap = 1.2;

function groupLines(runs: readonly Run[]): readonly Line[] {
  const lines: Run[][] = [];
  for (const run of runs.toSorted((one, other) => other.y - one.y)) {
    const line = lines.at(-1);
    const first = line?.[0];
    if (line && first && first.y - run.y < sameLine * Math.min(first.size, run.size)) line.push(run);
    else lines.push([run]);
  }
  return lines.map((line) => ({
    cells: groupCells(line.toSorted((one, other) => one.x - other.x)),
    y: line[0]?.y ?? 0,
    size: Math.max(...line.slice(0, maxComparedRuns).map(({ size }) => size)),
  }));
}

/** Maximum number of runs of a line whose sizes are compared. */
const maxComparedRuns = 1_000;

function groupCells(runs: readonly Run[]): readonly Cell[] {
  const cells: { pieces: string[]; x: number; end: number }[] = [];
  for (const { text, x, end, size } of runs) {
    const cell = cells.at(-1);
    if (cell === undefined || x - cell.end > cellGap * size) cells.push({ pieces: [text], x, end });
    else {
      cell.pieces.push(x - cell.end > spaceGap * size ? " " : "", text);
      cell.end = Math.max(cell.end, end);
    }
  }
  return cells.map(({ pieces, x, end }) => ({ text: pieces.join("").replaceAll(/\s+/g, " ").trim(), x, end }));
}

const tableLines = 3;
const tableCells = 3;

function writeText(lines: readonly Line[]): string {
  const body = commonSize(lines);
  const blocks: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const rows = countTableRows(lines, at);
    if (rows >= tableLines) {
      blocks.push(writeTable(lines.slice(at, at + rows)));
      at += rows;
      continue;
    }
    const columns = findColumns(lines, at);
    if (columns) {
      blocks.push(...columns.sides.map((side) => side.map((line) => writeLine(line, body)).reduce(joinLines, "")));
      at += columns.lines;
      continue;
    }
    blocks.push(writeLine(lines[at] as Line, body));
    at++;
  }
  return blocks.reduce(joinLines, "");
}

function commonSize(lines: readonly Line[]): number {
  const lengths = new Map<number, number>();
  for (const { size, cells } of lines) {
    const rounded = Math.round(size * 2) / 2;
    lengths.set(rounded, (lengths.get(rounded) ?? 0) + cells.reduce((sum, { text }) => sum + text.length, 0));
  }
  return [...lengths].toSorted((one, other) => other[1] - one[1])[0]?.[0] ?? 0;
}

/** Minimum text size of a heading, relative to the most common size of the page. */
const headingSize = 1.2;
const maxHeadingLength = 120;
const bullet = /^[\u2022\u2023\u25aa\u25cf\u25e6\u2043\u2219\u00b7]\s*/;

function writeLine({ cells, size }: Line, body: number): string {
  const text = cells.map((cell) => cell.text).join("  ");
  if (bullet.test(text)) return `- ${text.replace(bullet, "")}`;
  return size >= headingSize * body && text.length <= maxHeadingLength ? `### ${text}` : text;
}

/** Joins two lines, and the halves of a word hyphenated between them. */
function joinLines(before: string, line: string): string {
  if (before === "") return line;
  return /\p{Ll}-$/u.test(before) && /^\p{Ll}/u.test(line) ? before.slice(0, -1) + line : `${before}\n${line}`;
}

const close = (one: number, other: number, size: number): boolean => Math.abs(one - other) <= size;

/** Counts the lines, starting at index `from`, with cells that begin or end at the same places as in the first of them. */
function countTableRows(lines: readonly Line[], from: number): number {
  const first = lines[from] as Line;
  if (first.cells.length < tableCells) return 0;
  let rows = 0;
  for (const { cells, size } of lines.slice(from)) {
    const shared = cells.filter(({ x, end }) =>
      first.cells.some((cell) => close(cell.x, x, size) || close(cell.end, end, size)),
    );
    if (shared.length < tableCells || cells.length !== first.cells.length) break;
    rows++;
  }
  return rows;
}

const writeTable = (lines: readonly Line[]): string =>
  toPipeTable(lines.map(({ cells }) => cells.map(({ text }) => text)));

const columnLines = 4;
/** Minimum average characters per cell in columns of text; shorter cells rather belong to a form or a list of figures. */
const columnCharacters = 15;

interface Columns {
  readonly sides: readonly (readonly Line[])[];
  readonly lines: number;
}

/** Finds two columns of text: lines that all leave the same vertical gap free. */
function findColumns(lines: readonly Line[], from: number): Columns | undefined {
  const [left, right] = (lines[from] as Line).cells;
  if (left === undefined || right === undefined) return undefined;
  let gap = { start: left.end, end: right.x };
  let until = from;
  let both = 0;
  let characters = 0;
  for (; until < lines.length; until++) {
    const { cells } = lines[until] as Line;
    const narrowed = narrow(gap, cells);
    if (narrowed === undefined || cells.length > 2) break;
    gap = narrowed;
    if (cells.length === 2) both++;
    for (const { text } of cells) characters += text.length;
  }
  if (both < columnLines || characters < columnCharacters * (both + until - from)) return undefined;
  const side = (isOn: (cell: Cell) => boolean) =>
    lines.slice(from, until).flatMap((line) => {
      const cells = line.cells.filter(isOn);
      return cells.length === 0 ? [] : [{ ...line, cells }];
    });
  return { sides: [side(({ x }) => x < gap.end), side(({ x }) => x >= gap.end)], lines: until - from };
}

/** Narrows a gap to the part not covered by the cells. @returns undefined when a cell crosses the gap */
function narrow(
  { start, end }: { start: number; end: number },
  cells: readonly Cell[],
): { start: number; end: number } | undefined {
  for (const cell of cells) {
    if (cell.end <= end && cell.x < start) start = Math.max(start, cell.end);
    else if (cell.x >= start) end = Math.min(end, cell.x);
    else return undefined;
  }
  return end > start ? { start, end } : undefined;
}
