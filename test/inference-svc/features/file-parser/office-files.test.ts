/** Reading office files and books: what is read from them, and archives that attack the reader. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DocumentReaders } from "@sluice/inference-svc/content/files/documents/readers.js";
import { findFileKind } from "@sluice/inference-svc/content/files/part.js";
import { FileReader } from "@sluice/inference-svc/content/files/texts.js";
import type { FilePart } from "@sluice/inference-svc/turn/file-text.js";
import {
  buildDocx,
  buildEpub,
  buildPptx,
  buildXlsx,
  buildZip,
  docxParagraph,
  pptxShape,
  relationsPart,
  xmlPart,
} from "../../../support/documents/office.ts";
import { toDataUrl } from "../../../support/documents/pdf.ts";
import { newScope } from "../../asking.js";

let readers: DocumentReaders;
let reader: FileReader;

beforeAll(() => {
  // Hostile files may take a slow machine longer than the time limit of a caller.
  readers = new DocumentReaders({ baseMs: 600_000, pageMs: 20 });
  reader = new FileReader(readers);
});
afterAll(() => readers.close());

const partOf = (fields: object): FilePart => ({ path: "input.0.content.0", part: { type: "input_file", ...fields } });
const inArchive = (bytes: Buffer, filename = "") =>
  partOf({ file_data: toDataUrl(bytes, "application/octet-stream"), filename });
const read = async (bytes: Buffer, filename = "") =>
  (await reader.read(inArchive(bytes, filename), newScope().scope)).text;

const row = (...cells: readonly string[]) => `<row>${cells.join("")}</row>`;
const inline = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`;

describe("a Word document", () => {
  test("is read with its headings, lists, tables, links, notes, comments and changes", async () => {
    const styles = xmlPart(
      "word/styles.xml",
      '<w:styles><w:style w:styleId="Berschrift1"><w:name w:val="heading 1"/></w:style>' +
        '<w:style w:styleId="Mine"><w:basedOn w:val="Berschrift1"/></w:style></w:styles>',
    );
    const level = (format: string) => `<w:lvl w:ilvl="0"><w:numFmt w:val="${format}"/></w:lvl>`;
    const numbering = xmlPart(
      "word/numbering.xml",
      `<w:numbering><w:abstractNum w:abstractNumId="7">${level("decimal")}</w:abstractNum>` +
        `<w:abstractNum w:abstractNumId="8">${level("bullet")}</w:abstractNum>` +
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num></w:numbering>',
    );
    const item = (text: string, list: number) =>
      docxParagraph(text, `<w:numPr><w:ilvl w:val="0"/><w:numId w:val="${list}"/></w:numPr>`);
    const cell = (text: string) => `<w:tc>${docxParagraph(text)}</w:tc>`;
    const body = [
      docxParagraph("Report &amp; plan", '<w:pStyle w:val="Mine"/>'),
      '<w:p><w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink r:id="rId6"><w:r><w:t>the site</w:t></w:r></w:hyperlink>',
      '<w:r><w:footnoteReference w:id="2"/></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t> new</w:t></w:r></w:ins></w:p>',
      item("first", 1),
      item("second", 1),
      docxParagraph("between"),
      item("a point", 2),
      `<w:tbl><w:tr>${cell("Name")}${cell("Age")}</w:tr><w:tr>${cell("Ann|e")}${cell("31")}</w:tr></w:tbl>`,
      "<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:t>in a box</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>",
    ];
    const bytes = buildDocx(
      body.join(""),
      relationsPart(
        "word/_rels/document.xml.rels",
        ["styles", "styles.xml"],
        ["numbering", "numbering.xml"],
        ["footnotes", "footnotes.xml"],
        ["comments", "comments.xml"],
        ["header", "header1.xml"],
        ["hyperlink", "https://a.example/"],
      ),
      styles,
      numbering,
      xmlPart(
        "word/footnotes.xml",
        `<w:footnotes><w:footnote w:id="2">${docxParagraph("a note")}</w:footnote></w:footnotes>`,
      ),
      xmlPart(
        "word/comments.xml",
        `<w:comments><w:comment w:author="Bo">${docxParagraph("why?")}</w:comment></w:comments>`,
      ),
      xmlPart("word/header1.xml", `<w:hdr>${docxParagraph("Confidential")}</w:hdr>`),
    );
    expect((await read(bytes)).split("\n\n")).toEqual([
      "# Report & plan",
      "See [the site](https://a.example/)[^2] new",
      "1. first\n2. second",
      "between",
      "- a point",
      "| Name | Age |\n| --- | --- |\n| Ann\\|e | 31 |",
      "in a box",
      "[^2]: a note",
      "[comment of Bo]: why?",
      "Confidential",
    ]);
  });

  test("is cached for its key, and its text names the file", async () => {
    const part = inArchive(buildDocx(docxParagraph("to be remembered")));
    const { scope } = newScope({ keyHash: "a" });
    expect([await reader.read(part, scope), await reader.read(part, scope)]).toEqual(
      [false, true].map((cached) => ({ text: "to be remembered", kind: "docx", truncated: false, cached })),
    );
  });
});

test("a workbook is read sheet by sheet, with dates, shared strings and gaps", async () => {
  const strings = xmlPart(
    "xl/sharedStrings.xml",
    "<sst><si><t>Name</t></si><si><r><t>An</t></r><r><t>n</t></r><rPh><t>x</t></rPh></si></sst>",
  );
  const styles = xmlPart(
    "xl/styles.xml",
    '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[$-409]d&quot;st&quot; mmm yyyy hh:mm"/><numFmt numFmtId="165" formatCode="0.00 &quot;days&quot;"/></numFmts>' +
      '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs></styleSheet>',
  );
  const cells = [
    '<c r="A2" t="s"><v>1</v></c>',
    '<c r="C2" s="1"><v>45658</v></c>',
    '<c r="D2" s="2"><v>45658.5</v></c>',
    '<c r="E2" s="3"><f>1+1</f><v>1.5</v></c>',
    '<c r="F2" s="4"><v>0.75</v></c>',
    '<c r="G2" t="b"><v>1</v></c>',
    '<c r="H2" t="str"><f>A2</f><v>Ann</v></c>',
    '<c r="I2" t="e"><v>#DIV/0!</v></c>',
    '<c r="J2" s="1"/>',
  ];
  const sheets = {
    People: row('<c r="A1" t="s"><v>0</v></c>') + row() + row(...cells),
    Empty: "",
    Last: row(inline("a"), inline("b")) + row(inline("1"), "<c><v>2</v></c>"),
  };
  expect(await read(buildXlsx(sheets, strings, styles))).toBe(
    "## People\n\n| Name |\n" +
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n" +
      "| Ann |  | 2025-01-01 | 2025-01-01 12:00:00 | 1.5 | 18:00:00 | TRUE | Ann | #DIV/0! |\n\n" +
      "## Last\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
  );
});

test("a presentation is read slide by slide, in its order, with tables and notes", async () => {
  const table =
    "<p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:r><a:t>Q1</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>7</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:graphicFrame>";
  const bytes = buildPptx(
    { shapes: pptxShape("Plan", "ctrTitle") + pptxShape("12", "sldNum") + pptxShape("Growth"), notes: "Say hello." },
    { shapes: table },
  );
  expect(await read(bytes)).toBe(
    "## Slide 1\n\n### Plan\n\nGrowth\n\nNotes:\nSay hello.\n\n## Slide 2\n\n| Q1 | 7 |\n| --- | --- |",
  );
});

test("an e-book is read chapter by chapter", async () => {
  const bytes = buildEpub('<h1>One</h1><p>It <em>began</em>.</p><a id="x"/><p>On.</p>', "<ul><li>end</li></ul>");
  expect(await read(bytes)).toBe("# One\n\nIt began.\n\nOn.\n\n- end");
});

test.each<[string, Buffer, string, string | undefined]>([
  ["by its type", Buffer.from("x"), "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["by its parts, whatever it says to be", buildXlsx({}), "application/pdf-like", "xlsx"],
  ["not from any archive", buildZip([{ path: "a.txt", content: "a" }]), "application/zip", undefined],
])("an office file is recognized %s", (_, bytes, type, kind) => {
  expect(findFileKind(partOf({ file_data: toDataUrl(bytes, type) }))).toBe(kind);
});

describe("a malicious office file", () => {
  const main = (content: string | Buffer, declaredSize?: number) =>
    buildZip([
      relationsPart("_rels/.rels", ["officeDocument", "word/document.xml"]),
      { path: "word/document.xml", content, ...(declaredSize !== undefined && { declaredSize }) },
    ]);
  const space = (bytes: number) => Buffer.alloc(bytes, 0x20);
  const laughs = [
    '<!DOCTYPE x [<!ENTITY a0 "ha"><!ENTITY a1 "&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;"><!ENTITY f SYSTEM "file:///etc/passwd">]>',
    "<w:document><w:body><w:p><w:r><w:t>[&a1;&f;]</w:t></w:r></w:p></w:body></w:document>",
  ].join("");

  test.each<[string, () => Buffer, string]>([
    ["500 MB in half a megabyte", () => main(space(500_000_000)), "the DOCX file takes more memory than one file may"],
    [
      "many parts that are too much together",
      () =>
        buildDocx(
          "",
          ...Array.from({ length: 5 }, (_, n) => ({ path: `word/header${n}.xml`, content: space(40_000_000) })),
        ),
      "the DOCX file takes more memory than one file may",
    ],
    [
      "elements within elements without end",
      () => main("<w:p>".repeat(12_000_000)),
      "the DOCX file is damaged, or no DOCX",
    ],
    ["a size that is a lie", () => main(space(200_000_000), 100), "the DOCX file has no text"],
    [
      "no main part",
      () => buildZip([{ path: "word/document.xml", content: "" }]),
      "the DOCX file is damaged, or no DOCX",
    ],
    ["half of it", () => buildDocx(docxParagraph("a")).subarray(0, 200), "the DOCX file is damaged, or no DOCX"],
    [
      "an envelope of an encrypted file",
      () => Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), space(600)]),
      "the DOCX file is encrypted, or in a format older than Office 2007",
    ],
  ])(
    "of %s is refused in time",
    async (_, bytes, message) => {
      const outcome = await read(bytes(), "a.docx").catch((error: unknown) => String(error));
      expect(outcome === "" ? "the DOCX file has no text" : outcome).toContain(message);
      // The failure of one file does not affect the next.
      expect(await read(buildDocx(docxParagraph(`after ${message}`)))).toBe(`after ${message}`);
    },
    300_000,
  );

  test("expands no entity and loads no file", async () => {
    expect(await read(main(laughs), "a.docx")).toBe("[&a1;&f;]");
  });

  test("with a sheet of 600,000 rows is read", async () => {
    const { text } = await reader.read(
      inArchive(buildXlsx({ Long: row(inline("a"), inline("b")).repeat(600_000) })),
      newScope().scope,
    );
    expect([text.length > 5_900_000, text.slice(-20)]).toEqual([true, "\n| a | b |\n| a | b |".slice(-20)]);
  }, 300_000);

  test("with one cell in its last column costs no more than its columns", async () => {
    const wide = Array.from({ length: 2_000 }, (_, n) => row(`<c r="XFD${n + 1}"><v>1</v></c>`)).join("");
    const { text, truncated } = await reader.read(inArchive(buildXlsx({ Wide: wide })), newScope().scope);
    expect([text.length <= 10_485_760, truncated]).toEqual([true, true]);
  }, 300_000);

  test("is given up as soon as its turn is over, and others are read in the meantime", async () => {
    const busy = buildXlsx({ Busy: row(inline("a"), inline("b")).repeat(300_000) });
    const { scope, abort } = newScope();
    const endless = reader.read(inArchive(busy), scope).catch((error: unknown) => error);
    setImmediate(() => abort.abort(new Error("left")));
    expect(String(await endless)).toContain("The turn was ended");
    expect(await read(buildDocx(docxParagraph("beside it")))).toBe("beside it");
  }, 300_000);
});
