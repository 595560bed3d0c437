/** Hand-made PDFs: as small as possible, or hostile. */
import { deflateSync } from "node:zlib";

/** A PDF of these objects, numbered from 1, with the table of their positions. The first object is the catalogue. */
export function buildPdf(objects: readonly (string | Buffer)[], trailer = ""): Buffer {
  const pieces: Buffer[] = [Buffer.from("%PDF-1.7\n")];
  const places: number[] = [];
  let length = (pieces[0] as Buffer).length;
  const add = (piece: string | Buffer) => {
    const bytes = Buffer.from(piece as string, "latin1");
    pieces.push(bytes);
    length += bytes.length;
  };
  for (const [index, body] of objects.entries()) {
    places.push(length);
    add(`${index + 1} 0 obj\n`);
    add(body);
    add("\nendobj\n");
  }
  const at = length;
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  add(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`);
  add(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${at}\n%%EOF\n`);
  return Buffer.concat(pieces);
}

export const pdfStream = (content: string | Buffer, settings = ""): Buffer => {
  const bytes = typeof content === "string" ? Buffer.from(content, "latin1") : content;
  return Buffer.concat([
    Buffer.from(`<< /Length ${bytes.length} ${settings} >>\nstream\n`),
    bytes,
    Buffer.from("\nendstream"),
  ]);
};

export const deflatedPdfStream = (content: Buffer): Buffer => pdfStream(deflateSync(content), "/Filter /FlateDecode");

const escaped = (text: string): string => text.replaceAll(/[\\()]/g, String.raw`\$&`);

/** Words at a position on the page, in points from its lower left corner. */
export const pdfText = (text: string, x: number, y: number, size = 12): string =>
  `BT /F1 ${size} Tf 1 0 0 1 ${x} ${y} Tm (${escaped(text)}) Tj ET\n`;

const font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

/**
 * @param contents drawing operators of each page
 * @param more further objects, numbered from 4 + 2 * the number of pages
 */
export function pdfPages(
  contents: readonly (string | Buffer)[],
  page = "",
  more: readonly (string | Buffer)[] = [],
): Buffer {
  const kids = contents.map((_, index) => `${4 + index * 2} 0 R`).join(" ");
  return buildPdf([
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${contents.length} >>`,
    font,
    ...contents.flatMap((content, index) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + index * 2} 0 R ${page} >>`,
      typeof content === "string" ? pdfStream(content) : content,
    ]),
    ...more,
  ]);
}

/** A PDF with these lines of text on each page, from the top. */
export const textPdf = (...lines: readonly (readonly string[])[]): Buffer =>
  pdfPages(lines.map((each) => each.map((line, index) => pdfText(line, 72, 720 - index * 14)).join("")));

export const toDataUrl = (bytes: Buffer, type = "application/pdf"): string =>
  `data:${type};base64,${bytes.toString("base64")}`;
