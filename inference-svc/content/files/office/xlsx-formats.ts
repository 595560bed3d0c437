/** Distinguishes dates from numbers in a workbook: both are stored as numbers, and only the format of the cell shows the difference. */
import { parseXml } from "./xml.ts";

export type CellFormat = "plain" | "date" | "time" | "instant";

/** Predefined formats (ECMA-376 part 1, 18.8.30), including the formats of East Asian languages. */
function builtIn(id: number): CellFormat {
  if (id === 22) return "instant";
  if ((id >= 18 && id <= 21) || (id >= 45 && id <= 47)) return "time";
  return (id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? "date" : "plain";
}

/** @param part the archive's part `styles`, which a workbook may lack @returns formats by the style index of a cell */
export function readCellFormats(part: Uint8Array | undefined): readonly CellFormat[] {
  const own = new Map<number, CellFormat>();
  const formats: CellFormat[] = [];
  let inCells = false;
  if (part === undefined) return formats;
  parseXml(part, {
    open(name, { numFmtId = "0", formatCode = "" }) {
      const id = Number(numFmtId);
      if (name === "numFmt") own.set(id, classify(formatCode));
      else if (name === "cellXfs") inCells = true;
      else if (name === "xf" && inCells) formats.push(own.get(id) ?? builtIn(id));
    },
    close(name) {
      if (name === "cellXfs") inCells = false;
    },
  });
  return formats;
}

/** Classifies a format code. Letters in quotation marks, brackets, or after a backslash are not parts of a date. */
function classify(code: string): CellFormat {
  const [positive = ""] = code
    .replaceAll(/"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]/gi, "")
    .toLowerCase()
    .split(";");
  const hasDate = /[yd]/.test(positive) || (positive.includes("m") && !/[hs]/.test(positive));
  const hasTime = /[hs]/.test(positive);
  if (hasDate) return hasTime ? "instant" : "date";
  return hasTime ? "time" : "plain";
}

const dayMs = 86_400_000;
/** Day 0 of Excel's dates. It is one day early because Excel counts a 29 February 1900, a day that never existed. */
const epoch1900 = Date.UTC(1899, 11, 30);
const epoch1904 = Date.UTC(1904, 0, 1);
/** Day number of 31 December 9999, the last day in Excel. */
const maxDay = 2_958_466;

/** @param value the number as stored in the cell */
export function formatNumber(value: string, format: CellFormat, since1904: boolean): string {
  const days = Number(value);
  if (format === "plain" || !(days >= 0 && days < maxDay)) return value;
  const instant = new Date((since1904 ? epoch1904 : epoch1900) + Math.round(days * 86_400) * 1_000);
  const [date = "", time = ""] = instant.toISOString().slice(0, 19).split("T");
  if (format === "time" && days < 1) return time;
  return format === "date" || instant.getTime() % dayMs === 0 ? date : `${date} ${time}`;
}
