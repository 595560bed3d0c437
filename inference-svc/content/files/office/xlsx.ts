/** Reads a workbook (ECMA-376, SpreadsheetML): the values of its sheets as tables. Formulas are not run; their last values are read. */
import { documentLimits } from "../documents/limits.ts";
import { joinPipeRows, toPipeRow } from "../pipe-table.ts";
import type { Archive } from "./archive.ts";
import type { UnhandledParts } from "./rest.ts";
import { type CellFormat, formatNumber, readCellFormats } from "./xlsx-formats.ts";
import { parseXml } from "./xml.ts";

interface Workbook {
  readonly strings: readonly string[];
  /** Indices of the shared strings used by visible cells. */
  readonly used: Set<number>;
  readonly rest: UnhandledParts;
  readonly formats: readonly CellFormat[];
  /** Whether days count from 1904, as in workbooks of old Macintosh programs. */
  readonly since1904: boolean;
}

export function* readXlsx(archive: Archive, rest: UnhandledParts): Iterable<string> {
  const main = archive.mainPart();
  const relations = archive.relations(main);
  const shown = new Set<string>();
  const partOf = (type: string) => {
    const target = relations.find((relation) => relation.type === type)?.target;
    return target === undefined ? undefined : archive.find(target);
  };
  const { sheets, since1904 } = readSheets(archive.part(main));
  const strings = readStrings(partOf("sharedStrings"), rest);
  const used = new Set<number>();
  for (const { target } of relations.filter(({ type }) => type === "sharedStrings")) shown.add(target);
  const workbook = { strings, used, rest, formats: readCellFormats(partOf("styles")), since1904 };
  for (const { name, id } of sheets) {
    const path = relations.find((relation) => relation.id === id)?.target;
    const part = path === undefined ? undefined : archive.find(path);
    const table = part ? readTable(part, workbook) : "";
    if (path !== undefined) shown.add(path);
    if (table !== "") yield `## ${name}\n\n${table}`;
  }
  for (const [index, text] of strings.entries()) if (!used.has(index)) rest.add(text);
  rest.addParts(archive, shown);
}

function readSheets(part: Uint8Array) {
  const sheets: { readonly name: string; readonly id: string }[] = [];
  let since1904 = false;
  parseXml(part, {
    open(element, { name = "", "r:id": id = "", date1904 }) {
      if (element === "sheet") sheets.push({ name, id });
      else if (element === "workbookPr") since1904 = date1904 === "1" || date1904 === "true";
    },
  });
  return { sheets, since1904 };
}

/** @param part the archive's part `sharedStrings`, which a workbook may lack */
function readStrings(part: Uint8Array | undefined, rest: UnhandledParts): readonly string[] {
  const strings: string[] = [];
  let text = "";
  let isText = false;
  let phonetic = 0;
  if (part === undefined) return strings;
  parseXml(part, {
    open(name, attributes) {
      rest.open(name, attributes);
      if (name === "si") text = "";
      else if (name === "rPh") phonetic++;
      else if (name === "t") isText = phonetic === 0;
    },
    text(piece) {
      if (isText) text += piece;
      else rest.text(piece);
    },
    comment: rest.comment,
    close(name) {
      rest.close(name);
      if (name === "t") isText = false;
      else if (name === "rPh") phonetic--;
      else if (name === "si") strings.push(text);
    },
  });
  return strings;
}

/** A sheet's rows that have a value, without empty columns on the right. @returns an empty text for a sheet without values */
function readTable(part: Uint8Array, workbook: Workbook): string {
  // Rows are kept as text: a sheet with a million of them does not fit as lists.
  const rows: string[] = [];
  let columns = 0;
  let characters = 0;
  let row: string[] = [];
  let cell = { column: 0, type: "", style: 0, value: "" };
  let isValue = false;
  parseXml(part, {
    open(name, attributes) {
      const { r: place = "", t: type = "n", s: style = "0" } = attributes;
      if (name !== "c" && name !== "row") workbook.rest.open(name, attributes);
      if (name === "row") row = [];
      else if (name === "c") cell = { column: columnOf(place) ?? row.length, type, style: Number(style), value: "" };
      else if (name === "v" || name === "t") isValue = true;
    },
    text(text) {
      if (isValue) cell.value += text;
      else workbook.rest.text(text);
    },
    comment: workbook.rest.comment,
    close(name) {
      workbook.rest.close(name);
      if (name === "v" || name === "t") isValue = false;
      else if (name === "c" && cell.column >= maxColumns) workbook.rest.add(cell.value);
      else if (name === "c" && cell.value !== "") {
        while (row.length < cell.column) row.push("");
        row[cell.column] = show(cell, workbook);
      } else if (name === "row" && row.length > 0 && characters <= documentLimits.characters) {
        const line = toPipeRow(row);
        rows.push(line);
        columns = Math.max(columns, row.length);
        characters += line.length;
      }
    },
  });
  return rows.length === 0 ? "" : joinPipeRows(rows, columns);
}

/** Excel's limit of columns; a cell beyond it would only add empty columns. */
const maxColumns = 16_384;

/** Zero-based column of a cell reference such as AB12. */
function columnOf(place: string): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(place)?.[0];
  if (letters === undefined) return undefined;
  return Array.from(letters).reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

interface Cell {
  readonly type: string;
  readonly style: number;
  readonly value: string;
}

function show({ type, style, value }: Cell, { strings, used, formats, since1904 }: Workbook): string {
  if (type === "s") {
    used.add(Number(value));
    return strings[Number(value)] ?? "";
  }
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  return type === "n" ? formatNumber(value, formats[style] ?? "plain", since1904) : value;
}
