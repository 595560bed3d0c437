/** The items of a page as Markdown: lines from top to bottom, columns one after the other, headings, lists and tables as such. */
import type { TextItem } from "./pdfjs.ts";

/** A run of text, in the direction in which it is read: x along the line, y upwards. */
interface Run {
  readonly text: string;
  readonly x: number;
  readonly end: number;
  readonly y: number;
  readonly size: number;
}

/** Runs that stand close to each other. */
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

export function markdownOf(items: readonly TextItem[]): string {
  const turned = new Map<number, Run[]>();
  for (const item of items) {
    if (item.str.trim() === "") continue;
    const { quarter, run } = runOf(item);
    const runs = turned.get(quarter);
    if (runs) runs.push(run);
    else turned.set(quarter, [run]);
  }
  return [...turned.values()].map((runs) => textOf(linesOf(runs))).join("\n\n");
}

/** Text that is turned is read as if the page were. */
function runOf({ str, transform, width, height }: TextItem): { readonly quarter: number; readonly run: Run } {
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

/** Of the height, what two runs of one line may differ by. */
const sameLine = 0.5;
/** Of the height: from here on there is a space, and from here on another cell. */
const spaceGap = 0.15;
const cellGap = 1.2;

function linesOf(runs: readonly Run[]): readonly Line[] {
  const lines: Run[][] = [];
  for (const run of runs.toSorted((one, other) => other.y - one.y)) {
    const line = lines.at(-1);
    const first = line?.[0];
    if (line && first && first.y - run.y < sameLine * Math.min(first.size, run.size)) line.push(run);
    else lines.push([run]);
  }
  return lines.map((line) => ({
    cells: cellsOf(line.toSorted((one, other) => one.x - other.x)),
    y: line[0]?.y ?? 0,
    size: Math.max(...line.slice(0, mostCompared).map(({ size }) => size)),
  }));
}

/** Of a line, runs whose sizes are compared. */
const mostCompared = 1_000;

function cellsOf(runs: readonly Run[]): readonly Cell[] {
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

function textOf(lines: readonly Line[]): string {
  const body = commonSize(lines);
  const said: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const rows = rowsFrom(lines, at);
    if (rows >= tableLines) {
      said.push(tableOf(lines.slice(at, at + rows)));
      at += rows;
      continue;
    }
    const columns = columnsFrom(lines, at);
    if (columns) {
      said.push(...columns.sides.map((side) => side.map((line) => lineOf(line, body)).reduce(joined, "")));
      at += columns.lines;
      continue;
    }
    said.push(lineOf(lines[at] as Line, body));
    at++;
  }
  return said.reduce(joined, "");
}

function commonSize(lines: readonly Line[]): number {
  const lengths = new Map<number, number>();
  for (const { size, cells } of lines) {
    const rounded = Math.round(size * 2) / 2;
    lengths.set(rounded, (lengths.get(rounded) ?? 0) + cells.reduce((sum, { text }) => sum + text.length, 0));
  }
  return [...lengths].toSorted((one, other) => other[1] - one[1])[0]?.[0] ?? 0;
}

/** Of the height of most of the text. */
const headingSize = 1.2;
const longestHeading = 120;
const bullet = /^[\u2022\u2023\u25aa\u25cf\u25e6\u2043\u2219\u00b7]\s*/;

function lineOf({ cells, size }: Line, body: number): string {
  const text = cells.map((cell) => cell.text).join("  ");
  if (bullet.test(text)) return `- ${text.replace(bullet, "")}`;
  return size >= headingSize * body && text.length <= longestHeading ? `### ${text}` : text;
}

/** A word that is parted at the end of a line is one word. */
function joined(before: string, line: string): string {
  if (before === "") return line;
  return /\p{Ll}-$/u.test(before) && /^\p{Ll}/u.test(line) ? before.slice(0, -1) + line : `${before}\n${line}`;
}

const close = (one: number, other: number, size: number): boolean => Math.abs(one - other) <= size;

/** How many lines from here on have cells that begin where those of the first do. */
function rowsFrom(lines: readonly Line[], from: number): number {
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

function tableOf(lines: readonly Line[]): string {
  const rows = lines.map(({ cells }) => `| ${cells.map(({ text }) => text.replaceAll("|", "\\|")).join(" | ")} |`);
  const [head = ""] = rows;
  return [head, `|${" --- |".repeat(lines[0]?.cells.length ?? 0)}`, ...rows.slice(1)].join("\n");
}

const columnLines = 4;
/** Characters of a cell: what is shorter is rather a form or a list of figures. */
const columnCharacters = 15;

interface Columns {
  readonly sides: readonly (readonly Line[])[];
  readonly lines: number;
}

/** Two columns: lines in which nothing reaches over one gap. */
function columnsFrom(lines: readonly Line[], from: number): Columns | undefined {
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

/** What is left of a gap when cells stand beside it; undefined when one reaches over it. */
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
