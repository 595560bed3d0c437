/** Reading files: texts in any encoding, and hostile PDFs. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DocumentReaders } from "@sluice/inference-svc/content/files/documents/readers.js";
import { findFiles, findFileKind } from "@sluice/inference-svc/content/files/part.js";
import { FileReader } from "@sluice/inference-svc/content/files/texts.js";
import type { FilePart } from "@sluice/inference-svc/turn/file-text.js";
import {
  toDataUrl,
  deflatedPdfStream,
  pdfPages,
  buildPdf,
  pdfStream,
  textPdf,
  pdfText,
} from "../../../support/documents/pdf.ts";
import { findMinCpuMs, measureLongestBlockMs } from "../../../support/clock.js";
import { newScope } from "../../asking.js";

const partOf = (fields: object): FilePart => ({
  path: "input.0.content.0",
  part: { type: "input_file", ...fields },
});
const base64 = (text: string | Buffer, encoding: BufferEncoding = "utf8") =>
  Buffer.from(text as string, encoding).toString("base64");

let readers: DocumentReaders;
let reader: FileReader;

beforeAll(() => {
  // A thousand pages may take a slow machine longer than the time limit of a caller.
  readers = new DocumentReaders({ baseMs: 600_000, pageMs: 20 });
  reader = new FileReader(readers);
});
afterAll(() => readers.close());

const read = (fields: object, caller = {}) => reader.read(partOf(fields), newScope(caller).scope);
const readPdf = (bytes: Buffer) => read({ file_data: toDataUrl(bytes) });

test("files are found in messages and in tool results, by their places", () => {
  const file = { type: "input_file", file_id: "f" };
  const input = [
    { type: "message", role: "user", content: "a" },
    { type: "message", role: "user", content: [{ type: "input_text", text: "a" }, file] },
    { type: "function_call_output", call_id: "c", output: [file, null] },
  ];
  expect([...findFiles(input)].map(({ path }) => path)).toEqual(["input.1.content.1", "input.2.output.0"]);
});

describe("a text file", () => {
  const text = "Grüße, 世界 \u{1f600}\n";
  test.each<[string, object]>([
    ["in a data URL", { file_data: `data:text/plain;base64,${base64(text)}` }],
    ["with its charset", { file_data: `data:text/csv;charset=UTF-16LE;base64,${base64(text, "utf16le")}` }],
    ["with a mark of its order", { file_data: `data:text/csv;base64,${base64(`\ufeff${text}`, "utf16le")}` }],
    [
      "with a mark that says otherwise",
      { file_data: `data:text/csv;charset=latin1;base64,${base64(`\ufeff${text}`)}` },
    ],
    ["in percent escapes", { file_data: `data:text/markdown,${encodeURIComponent(text)}` }],
    ["in base64 alone, by its name", { file_data: base64(text), filename: "a.md" }],
    ["in base64 alone, by what it looks like", { file_data: base64(text) }],
    ["of no known type", { file_data: `data:application/octet-stream;base64,${base64(text)}` }],
    ["in lines of base64", { file_data: `data:text/plain;base64,${base64(text).replaceAll(/(.{5})/g, "$1\r\n")}` }],
    ["without padding", { file_data: `DATA:Text/Plain;base64,${base64(text).replaceAll("=", "")}` }],
  ])("is read: %s", async (_, fields) => {
    expect(await read(fields)).toMatchObject({ text, kind: "text", truncated: false, cached: false });
  });

  test("of ASCII in UTF-16 without a byte order mark is recognized", async () => {
    expect((await read({ file_data: `data:text/plain;base64,${base64("plain words", "utf16le")}` })).text).toBe(
      "plain words",
    );
  });

  test("of megabytes read in pieces gives the whole text, wherever it is cut", async () => {
    const long = `${"é".repeat(400_000)}${"%41 \u{1f600}".repeat(300_000)}`;
    expect((await read({ file_data: `data:text/plain;base64,${base64(long)}` })).text === long).toBe(true);
    expect((await read({ file_data: `data:text/plain,${encodeURIComponent(long)}` })).text === long).toBe(true);
  });

  test.each<[string, string]>([
    ["data:text/plain;base64,a*b=", "its file_data is not base64"],
    ["data:text/plain;base64,QUJD=QUJD", "its file_data is not base64"],
    ["data:text/plain;charset=klingon;base64,QUJD", "its charset klingon is not known"],
    ["data:application/zip;base64,UEsDBA==", "this file has no readable text"],
  ])("with %s is refused: %s", async (data, message) => {
    await expect(read({ file_data: data })).rejects.toThrow(message);
  });

  test.each<[string, object, string | undefined]>([
    ["an image", { file_data: "data:image/png;base64,iVBORw0KGgo=" }, undefined],
    ["a text that says to be an image", { file_data: `data:image/png;base64,${base64("plutonium")}` }, "text"],
    ["a PDF that says to be a sound", { file_data: toDataUrl(textPdf(["a"]), "audio/mp3") }, "pdf"],
    ["what is no base64", { file_data: "plutonium, as it is" }, "text"],
    ["a drawing", { file_data: "data:image/svg+xml;base64,QUJD" }, "text"],
    ["a PDF that says to be a text", { file_data: toDataUrl(textPdf(["a"]), "text/plain") }, "pdf"],
    ["a PDF without a type", { file_data: textPdf(["a"]).toString("base64") }, "pdf"],
    ["bytes", { file_data: base64(Buffer.from([0, 1, 2, 3, 4, 5, 200])) }, undefined],
    ["an address", { file_url: "https://a.example/b.txt" }, undefined],
  ])("is distinguished from %s", (_, fields, kind) => {
    expect(findFileKind(partOf(fields))).toBe(kind);
  });

  test("of 20 MB blocks the event loop for at most 50 ms", async () => {
    const fields = { file_data: `data:text/plain;base64,${base64("some words, ü. ".repeat(1_250_000))}` };
    const longest = await findMinCpuMs(50, () => measureLongestBlockMs(() => read(fields)));
    process.stdout.write(`longest turn, a text of 20 MB: ${longest.toFixed(0)} ms\n`);
    expect(longest).toBeLessThan(50);
  }, 300_000);
});

describe("a PDF file", () => {
  test("is read page by page", async () => {
    expect(await readPdf(textPdf(["Hello world (1)", "and more"], ["second"]))).toEqual({
      text: "## Page 1\n\nHello world (1)\nand more\n\n## Page 2\n\nsecond",
      kind: "pdf",
      pages: 2,
      truncated: false,
      cached: false,
    });
  });

  test("is laid out with headings, lists, joined words, a table, two columns, and rotated text", async () => {
    const left = ["Left column, first line", "left column, second line", "left column, third line", "left, the last"];
    const right = ["Right column, line one", "right column, line two", "right column, line three", "right, the end"];
    const drawn = [
      pdfText("A title", 72, 740, 20),
      pdfText("Some words of a long para-", 72, 700),
      pdfText("graph that goes on.", 72, 686),
      pdfText("\\225 a point", 72, 672).replace("\\\\225", "\\225"),
      ...["Name", "Ann", "Bo"].map((word, row) => pdfText(word, 72, 640 - row * 14)),
      ...["Age", "31", "42"].map((word, row) => pdfText(word, 200, 640 - row * 14)),
      ...["Town", "Oslo", "Rome"].map((word, row) => pdfText(word, 330, 640 - row * 14)),
      ...left.map((line, row) => pdfText(line, 72, 560 - row * 14)),
      ...right.map((line, row) => pdfText(line, 330, 560 - row * 14)),
      "BT /F1 12 Tf 0 1 -1 0 40 100 Tm (on the side) Tj ET\n",
    ];
    const { text } = await readPdf(pdfPages([drawn.join("")]));
    expect(text.split("\n").filter((line) => line !== "")).toEqual([
      "### A title",
      "Some words of a long paragraph that goes on.",
      "- a point",
      "| Name | Age | Town |",
      "| --- | --- | --- |",
      "| Ann | 31 | Oslo |",
      "| Bo | 42 | Rome |",
      ...left,
      ...right,
      "on the side",
    ]);
  });

  test("includes filled-in fields and links", async () => {
    const field = "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Jane Doe) /Rect [0 0 9 9] /DA (/F1 0 Tf) >>";
    const link = "<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (https://a.example/b) >> >>";
    const bytes = pdfPages([pdfText("Form", 72, 700)], "/Annots [6 0 R 7 0 R]", [field, link]);
    expect((await readPdf(bytes)).text).toBe("Form\nhttps://a.example/b\nJane Doe");
  });

  test("is remembered only for its key", async () => {
    const bytes = { file_data: toDataUrl(textPdf(["to be remembered"])) };
    const [first, second, other] = [{ keyHash: "a" }, { keyHash: "a" }, { keyHash: "b" }].map(
      (caller) => () => read(bytes, caller),
    );
    expect([(await first!()).cached, (await second!()).cached, (await other!()).cached]).toEqual([false, true, false]);
  });
});

describe("a malicious PDF", () => {
  const many = (count: number) => textPdf(...Array.from({ length: count }, (_, page) => [`p${page}`]));
  const encrypted = buildPdf(
    [
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [] /Count 0 >>",
      `<< /Filter /Standard /V 1 /R 2 /P -4 /O <${"00".repeat(32)}> /U <${"11".repeat(32)}> >>`,
    ],
    `/Encrypt 3 0 R /ID [<${"22".repeat(16)}> <${"22".repeat(16)}>]`,
  );
  const heavy = buildPdf([
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${"<<>>".repeat(3_000_000)}] /Count 1 >>`,
  ]);

  test.each<[string, () => Buffer, string]>([
    ["with encryption", () => encrypted, "the PDF is encrypted"],
    ["without its end", () => textPdf(["Hello"]).subarray(0, 300), "the PDF is damaged, or no PDF"],
    ["of nothing but its mark", () => Buffer.from("%PDF-1.7\n%%EOF"), "the PDF is damaged, or no PDF"],
    ["of 1,001 pages", () => many(1_001), "the PDF has 1001 pages; at most 1000 are read"],
    [
      "of 200 MB in less than one",
      () => pdfPages([deflatedPdfStream(Buffer.alloc(200_000_000, 0x20))]),
      "the PDF takes",
    ],
    ["of more objects than fit", () => heavy, "the PDF takes"],
  ])(
    "with %s is refused with the reason",
    async (_, bytes, message) => {
      await expect(readPdf(bytes())).rejects.toThrow(message);
      // The failure of one file does not affect the next.
      expect((await readPdf(textPdf([`after ${message}`]))).text).toBe(`after ${message}`);
    },
    120_000,
  );

  test("of 1,000 pages is read", async () => {
    expect((await readPdf(many(1_000))).pages).toBe(1_000);
  }, 300_000);

  test.each<[string, () => Buffer]>([
    [
      "a form within itself",
      () =>
        pdfPages(
          [`${pdfText("here", 72, 700)} /X Do`],
          "/Resources << /Font << /F1 3 0 R >> /XObject << /X 6 0 R >> >>",
          [
            pdfStream(
              "/X Do",
              "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>",
            ),
          ],
        ),
    ],
    [
      "pages among their own pages",
      () => buildPdf(["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"]),
    ],
  ])(
    "with %s comes to an end",
    async (_, bytes) => {
      const impatient = new DocumentReaders({ baseMs: 3_000, pageMs: 20 });
      const { signal } = newScope().scope;
      await impatient
        .read({ kind: "pdf", bytes: bytes() }, signal)
        .catch((error: unknown) =>
          expect(String(error)).toMatch(/the PDF (is damaged|takes longer than 3\.\d* s to read)/),
        );
      impatient.close();
    },
    120_000,
  );

  test("is abandoned as soon as its turn is over, and others are read in the meantime", async () => {
    const busy = pdfPages([deflatedPdfStream(Buffer.from(pdfText("ab", 10, 10).repeat(1_500_000)))]);
    const { scope, abort } = newScope();
    const endless = reader.read(partOf({ file_data: toDataUrl(busy) }), scope).catch((error: unknown) => error);
    setTimeout(() => abort.abort(new Error("left")), 300);
    expect(String(await endless)).toContain("The turn was ended");
    expect((await readPdf(textPdf(["beside it"]))).text).toBe("beside it");
  }, 300_000);
});
