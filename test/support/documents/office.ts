/** Minimal hand-made office files and books, and hostile ZIP archives. */
import { crc32, deflateRawSync } from "node:zlib";

export interface ZipPart {
  readonly path: string;
  readonly content: string | Buffer;
  /** Size that the archive declares in place of the true one. */
  readonly declaredSize?: number;
}

export function buildZip(parts: readonly ZipPart[]): Buffer {
  const files: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const { path, content, declaredSize } of parts) {
    const bytes = Buffer.from(content as string);
    const packed = deflateRawSync(bytes);
    const name = Buffer.from(path);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(declaredSize ?? bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const file = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    entries.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), common, place, name]));
    files.push(file);
    offset += file.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, directory, end]);
}

export const xmlPart = (path: string, content: string): ZipPart => ({
  path,
  content: `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${content}`,
});

/** @param targets paths of targets with their types; the ids are rId1 and so on, and a URL is an external target */
export function relationsPart(path: string, ...targets: readonly (readonly [type: string, target: string])[]): ZipPart {
  const relations = targets.map(([type, target], index) => {
    const mode = target.startsWith("http") ? ' TargetMode="External"' : "";
    return `<Relationship Id="rId${index + 1}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"${mode}/>`;
  });
  return xmlPart(path, `<Relationships>${relations.join("")}</Relationships>`);
}

/** @param body XML of the paragraphs @param more further parts */
export const buildDocx = (body: string, ...more: readonly ZipPart[]): Buffer =>
  buildZip([
    relationsPart("_rels/.rels", ["officeDocument", "word/document.xml"]),
    xmlPart("word/document.xml", `<w:document><w:body>${body}</w:body></w:document>`),
    ...more,
  ]);

export const docxParagraph = (text: string, properties = ""): string =>
  `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;

/** @param sheets XML of the rows, by sheet @param more further parts, with relation ids from rId(number of sheets + 1) on */
export function buildXlsx(sheets: Readonly<Record<string, string>>, ...more: readonly ZipPart[]): Buffer {
  const names = Object.keys(sheets);
  const list = names.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`);
  return buildZip([
    relationsPart("_rels/.rels", ["officeDocument", "xl/workbook.xml"]),
    relationsPart(
      "xl/_rels/workbook.xml.rels",
      ...names.map((_, index) => ["worksheet", `worksheets/sheet${index + 1}.xml`] as const),
      ["sharedStrings", "sharedStrings.xml"],
      ["styles", "/xl/styles.xml"],
    ),
    xmlPart("xl/workbook.xml", `<workbook><sheets>${list.join("")}</sheets></workbook>`),
    ...names.map((name, index) =>
      xmlPart(`xl/worksheets/sheet${index + 1}.xml`, `<worksheet><sheetData>${sheets[name]}</sheetData></worksheet>`),
    ),
    ...more,
  ]);
}

export interface Slide {
  /** XML of the slide's shapes. */
  readonly shapes: string;
  readonly notes?: string;
}

export const pptxShape = (text: string, placeholder = "body"): string =>
  `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${placeholder}"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;

export function buildPptx(...slides: readonly Slide[]): Buffer {
  const ids = slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="rId${index + 1}"/>`);
  return buildZip([
    relationsPart("_rels/.rels", ["officeDocument", "ppt/presentation.xml"]),
    relationsPart(
      "ppt/_rels/presentation.xml.rels",
      ...slides.map((_, index) => ["slide", `slides/slide${index + 1}.xml`] as const),
    ),
    xmlPart("ppt/presentation.xml", `<p:presentation><p:sldIdLst>${ids.join("")}</p:sldIdLst></p:presentation>`),
    ...slides.flatMap(({ shapes, notes }, index) => [
      xmlPart(`ppt/slides/slide${index + 1}.xml`, `<p:sld><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`),
      ...(notes === undefined
        ? []
        : [
            relationsPart(`ppt/slides/_rels/slide${index + 1}.xml.rels`, [
              "notesSlide",
              `../notesSlides/notesSlide${index + 1}.xml`,
            ]),
            xmlPart(`ppt/notesSlides/notesSlide${index + 1}.xml`, `<p:notes>${pptxShape(notes)}</p:notes>`),
          ]),
    ]),
  ]);
}

/** @param chapters XHTML bodies of the chapters */
export const buildEpub = (...chapters: readonly string[]): Buffer =>
  buildZip([
    { path: "mimetype", content: "application/epub+zip" },
    xmlPart(
      "META-INF/container.xml",
      '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
    ),
    xmlPart(
      "OEBPS/book.opf",
      `<package><manifest>${chapters.map((_, index) => `<item id="c${index}" href="text/c${index}.xhtml"/>`).join("")}</manifest>` +
        `<spine>${chapters.map((_, index) => `<itemref idref="c${index}"/>`).join("")}</spine></package>`,
    ),
    ...chapters.map((body, index) =>
      xmlPart(`OEBPS/text/c${index}.xhtml`, `<html><head><title>Book</title></head><body>${body}</body></html>`),
    ),
  ]);
