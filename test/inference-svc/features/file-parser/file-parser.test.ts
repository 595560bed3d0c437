/** Files in requests to endpoints: with the plugin file-parser, and under guardrails with and without it. */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { AppliesTo, type Caller, ErrorPolicy } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { FileParserPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
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
import { toDataUrl, pdfPages, textPdf } from "../../../support/documents/pdf.ts";
import { type Upstream, chatStream, startUpstream } from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";
import {
  type Filter,
  type GuardrailFields,
  blockFilter,
  flagFilter,
  guardrailOf,
  redactFilter,
} from "../guardrails/gating.js";

const fileParser = (pdfEngine = "") => ({ fileParser: create(FileParserPluginSchema, { pdfEngine }) });
const off = { fileParser: create(FileParserPluginSchema, { enabled: false }) };
const csv = (text: string) => `data:text/csv;base64,${Buffer.from(text).toString("base64")}`;
const pdf = toDataUrl(textPdf(["The secret-1 of a PDF"]));
const docxType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const docxFile = toDataUrl(buildDocx(docxParagraph("The secret-1 of Word")), "application/octet-stream");

const sending = (...files: readonly object[]): Partial<TurnRequest> => ({
  input: [
    {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "Read." }, ...files.map((file) => ({ type: "input_file", ...file }))],
    },
  ],
});

let upstream: Upstream;
let engine: Engine;

beforeAll(async () => {
  upstream = await startUpstream([chatStream("Hello")]);
});
beforeEach(() => {
  const model = (id: string, modalities: readonly string[]) => ({
    id,
    endpoints: [{ provider: id.split("/")[1] === "claude" ? "messages" : "acme" }],
    input_modalities: modalities,
  });
  const provider = (id: string, dialect: string) => ({
    id,
    dialect,
    base_url: `${upstream.url}/v1`,
    api_keys: ["upstream-key"],
  });
  engine = openEngine(
    testConfig({
      providers: [provider("acme", "chat"), provider("messages", "messages")],
      models: [
        model("acme/text", ["text"]),
        model("acme/files", ["text", "file"]),
        model("acme/claude", ["text", "file"]),
      ],
    }),
  );
});
afterAll(() => upstream.stop());

interface Sent {
  readonly content: unknown;
  readonly fault: string | undefined;
  readonly status: number | undefined;
  readonly stages: readonly unknown[];
}

/** The last message to the provider, or the error that prevented it. */
async function sent(request: Partial<TurnRequest>, caller: Partial<Caller> = {}): Promise<Sent> {
  const testScope = newScope(caller);
  const before = upstream.requests.length;
  const { fault } = await runTestTurn(engine.turn, testRequest(structuredClone(request)), testScope);
  const body = upstream.requests.length > before ? upstream.requests.at(-1)?.json : undefined;
  const messages = body?.["messages"] as { readonly content: unknown }[] | undefined;
  return {
    content: messages?.at(-1)?.content,
    fault: fault?.message,
    status: fault?.status,
    stages: testScope.scope.trace.stages,
  };
}

const under = (filters: readonly Filter[], fields: GuardrailFields = {}): Partial<Caller> => ({
  guardrail: guardrailOf(filters, { appliesTo: AppliesTo.INPUT, ...fields }),
});

describe("the file parser", () => {
  const read = "[file a.pdf, 1 page]\nThe secret-1 of a PDF\n[end of file a.pdf]";

  test("sends the text of files to a model without file input, and describes it in the receipt", async () => {
    const files = [
      { filename: "a.pdf", file_data: pdf },
      { filename: "b.csv", file_data: csv("x,y\n1,2\n") },
    ];
    const { content, stages } = await sent({ models: ["acme/text"], plugins: fileParser(), ...sending(...files) });
    expect(content).toEqual([
      { type: "text", text: "Read." },
      { type: "text", text: read },
      { type: "text", text: "[file b.csv]\nx,y\n1,2\n\n[end of file b.csv]" },
    ]);
    expect(stages).toEqual([
      {
        type: "plugin",
        name: "file-parser",
        summary: "Read: 21 characters of 1 page",
        data: { engine: "markdown", path: "input.0.content.1", pages: 1, chars: 21, truncated: false, cached: false },
      },
      {
        type: "plugin",
        name: "file-parser",
        summary: "Read: 8 characters",
        data: { engine: "text", path: "input.0.content.2", chars: 8, truncated: false, cached: false },
      },
    ]);
  });

  test.each([
    ["native where files are taken, unless something else is said", "acme/files", "", "file"],
    ["native where that is said", "acme/files", "native", "file"],
    ["text where that is said", "acme/files", "markdown", "text"],
    ["text under its other name", "acme/files", "cloudflare-ai", "text"],
    ["text under its old name", "acme/files", "pdf-text", "text"],
    ["text where no files are taken", "acme/text", "markdown", "text"],
  ])("sends a PDF as %s", async (_, model, pdfEngine, type) => {
    const request = {
      models: [model],
      plugins: fileParser(pdfEngine),
      ...sending({ filename: "a.pdf", file_data: pdf }),
    };
    const { content } = await sent(request);
    expect((content as { readonly type: string }[])[1]?.type).toBe(type);
  });

  test("sends each model its supported form after a fallback", async () => {
    const failure = { status: 500, chunks: [{ json: { error: { message: "no" } } }] };
    // A failing endpoint is called twice if the model has no other.
    const failing = await startUpstream([failure, failure, chatStream("Hello")]);
    const file = testConfig({
      providers: [{ id: "acme", dialect: "chat", base_url: `${failing.url}/v1`, api_keys: ["k"] }],
      models: [
        { id: "acme/files", endpoints: [{ provider: "acme" }], input_modalities: ["text", "file"] },
        { id: "acme/text", endpoints: [{ provider: "acme" }] },
      ],
    });
    const request = { models: ["acme/files", "acme/text"], plugins: fileParser(), ...sending({ file_data: pdf }) };
    const { fault } = await runTestTurn(openEngine(file).turn, testRequest(request));
    const types = failing.requests.map(
      ({ json }) => (json["messages"] as { readonly content: { readonly type: string }[] }[])[0]?.content[1]?.type,
    );
    await failing.stop();
    expect([fault, types.at(0), types.at(-1)]).toEqual([undefined, "file", "text"]);
  });

  test("returns the text it read with a provider's failure, up to a limited length", async () => {
    const failing = await startUpstream([{ status: 500, chunks: [{ json: { error: { message: "no" } } }] }]);
    const { turn } = openEngine(
      testConfig({ models: [{ id: "acme/text", endpoints: [{ provider: "acme" }] }], url: failing.url }),
    );
    const fault = async (text: string) => {
      const files = { filename: "b.csv", file_data: csv(text) };
      return (await runTestTurn(turn, testRequest({ models: ["acme/text"], plugins: fileParser(), ...sending(files) })))
        .fault;
    };
    const [short, longest, long] = [
      await fault("x,y"),
      await fault("x".repeat(32_768)),
      await fault("x".repeat(32_769)),
    ];
    await failing.stop();
    expect([short?.status, short?.metadata?.["file_annotations"]]).toEqual([
      502,
      [{ type: "file", file: { name: "b.csv", content: [{ type: "text", text: "x,y" }] } }],
    ]);
    expect([longest, long].map((each) => each?.metadata?.["file_annotations"] !== undefined)).toEqual([true, false]);
  });

  test("reads texts, PDFs and office files without a request for the plugin, too", async () => {
    const files = [{ file_data: pdf }, { file_data: csv("x,y") }, { filename: "c.docx", file_data: docxFile }];
    const { content, stages } = await sent({ models: ["acme/text"], ...sending(...files) });
    expect((content as { readonly text: string }[]).slice(1).map(({ text }) => text)).toEqual([
      "[file, 1 page]\nThe secret-1 of a PDF\n[end of file]",
      "[file]\nx,y\n[end of file]",
      "[file c.docx]\nThe secret-1 of Word\n[end of file c.docx]",
    ]);
    expect(stages).toMatchObject([
      { data: { engine: "markdown" } },
      { data: { engine: "text" } },
      { data: { engine: "markdown" } },
    ]);
    const native = await sent({ models: ["acme/files"], ...sending(...files) });
    expect(native).toMatchObject({ content: [{}, { type: "file" }, { type: "file" }, { type: "file" }], stages: [] });
  });

  test("sends the text if a provider accepts files, but not of this type", async () => {
    const file = { file_data: `data:application/x-thing;base64,${Buffer.from("plain words").toString("base64")}` };
    const plain = { models: ["acme/claude"], ...sending(file) };
    expect((await sent({ ...plain, plugins: off })).fault).toContain("no provider of this model takes files of type");
    const { content } = await sent(plain);
    expect(content).toMatchObject([{}, { type: "text", text: "[file]\nplain words\n[end of file]" }]);
  });

  const docxType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
  const docx = `data:${docxType};base64,UEsDBA==`;
  const anyText = { models: ["acme/text"] };
  test.each<[string, Partial<TurnRequest>, number, string]>([
    [
      "a file where it is off",
      { ...anyText, plugins: off, ...sending({ file_data: pdf }) },
      404,
      "No endpoint can serve this request: acme/text takes no file input (input.0.content.1); its text can be sent instead unless the plugin file-parser is disabled or its pdf.engine is native",
    ],
    [
      "a PDF that shall stay one",
      { ...anyText, plugins: fileParser("native"), ...sending({ file_data: pdf }) },
      404,
      "No endpoint can serve this request: acme/text takes no file input (input.0.content.1); its text can be sent instead unless the plugin file-parser is disabled or its pdf.engine is native",
    ],
    [
      "a file of another type beside one that is read",
      {
        ...anyText,
        plugins: fileParser(),
        ...sending({ file_data: csv("a") }, { file_data: "data:application/zip;base64,UEsDBA==" }),
      },
      400,
      "input.0.content.2: the model takes no files, and files of type application/zip are not read here: send the text, a PDF or an office file, or ask a model that takes files",
    ],
    [
      "an office file that is damaged",
      { ...anyText, ...sending({ file_data: docx }) },
      400,
      "input.0.content.1: the DOCX file is damaged, or no DOCX",
    ],
    [
      "nothing but a file that is elsewhere",
      { ...anyText, plugins: fileParser(), ...sending({ file_id: "file-1" }) },
      400,
      "input.0.content.1: the model takes no files, and only what is sent in file_data or by an http URL in file_url is read here",
    ],
    [
      "a file that is elsewhere beside one that is read",
      {
        ...anyText,
        plugins: fileParser(),
        ...sending({ file_data: csv("a") }, { file_id: "file-1" }),
      },
      400,
      "input.0.content.2: the model takes no files, and only what is sent in file_data or by an http URL in file_url is read here",
    ],
    [
      "a PDF without text",
      { ...anyText, plugins: fileParser(), ...sending({ file_data: toDataUrl(pdfPages([""])) }) },
      400,
      "input.0.content.1: the PDF has no text; scanned pages are read where the operator sets internal_models.ocr",
    ],
    [
      "a broken PDF",
      { ...anyText, plugins: fileParser(), ...sending({ file_data: "data:application/pdf;base64,QUJD" }) },
      400,
      "input.0.content.1: the PDF is damaged, or no PDF",
    ],
    [
      "an engine that is not there",
      { ...anyText, plugins: fileParser("mistral-ocr") },
      400,
      "plugins: file-parser: pdf.engine ocr needs a model that this service lacks; its operator sets internal_models.ocr",
    ],
  ])("refuses %s", async (_, request, status, message) => {
    expect(await sent(request)).toMatchObject({ status, fault: message, content: undefined });
  });

  test("shows the text in a dry run", async () => {
    const testScope = newScope();
    const { scope } = testScope;
    const request = testRequest({
      models: ["acme/text"],
      plugins: fileParser(),
      ...sending({ filename: "a.pdf", file_data: pdf }),
    });
    const { plan } = await engine.planDryRun(request, scope);
    expect(plan[0]?.bodyJson).toContain("The secret-1 of a PDF");
    expect(scope.trace.stages).toMatchObject([{ name: "file-parser", data: { pages: 1 } }]);
  });
});

describe("a guardrail with files", () => {
  const models = ["acme/files"];

  test.each<[string, string, { readonly file_data: string }]>([
    ["a text", "text/csv", { file_data: csv("name,secret-1") }],
    ["a PDF", "application/pdf", { file_data: pdf }],
    ["an office file", docxType, { file_data: docxFile }],
    ["a text in base64 alone", "", { file_data: Buffer.from("name,secret-1").toString("base64") }],
    ["a text in disguise", "text/csv", { file_data: csv("name,s\u200becret-1") }],
    ["a PDF that says to be a text", "application/pdf", { file_data: pdf.replace("application/pdf", "text/plain") }],
  ])("reads %s, and the provider gets the detected type: %s", async (_, type, file) => {
    const blocked = await sent({ models, ...sending(file) }, under([blockFilter("secret-\\d")]));
    expect(blocked).toMatchObject({ status: 403, content: undefined });
    const flagged = await sent({ models, ...sending(file) }, under([flagFilter("secret-\\d")]));
    expect(flagged).toMatchObject({ fault: undefined, stages: [{ data: { action: "flagged" } }] });
    const data = file.file_data.replace(/^data:[^;]*/, `data:${type}`);
    expect(flagged.content).toMatchObject([{}, { file: { file_data: data } }]);
  });

  const paragraph = docxParagraph("Harmless");
  const cell = '<row><c t="inlineStr"><is><t>Harmless</t></is></c></row>';
  const deleted =
    "<w:del><w:r><w:rPr><w:b/></w:rPr><w:delText>sec</w:delText></w:r><w:r><w:delText>ret-1</w:delText></w:r></w:del>";
  const drawing = '<w:drawing><wp:docPr id="1" name="Picture 1" descr="secret-1"/></w:drawing>';
  const properties = xmlPart(
    "docProps/core.xml",
    "<cp:coreProperties><dc:title>secret-1</dc:title></cp:coreProperties>",
  );
  const withinPdf = (objects: readonly string[], trailer = "") =>
    toDataUrl(
      Buffer.from(
        `%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R ${objects.length > 1 ? "/Outlines 4 0 R" : ""} >>\nendobj\n` +
          "2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n" +
          `3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>\nendobj\n${objects.join("")}` +
          `trailer\n<< /Root 1 0 R /Size 9 ${trailer} >>\n%%EOF\n`,
      ),
    );

  test.each<[string, Buffer | string]>([
    ["deleted text", buildDocx(`<w:p>${deleted}</w:p>${paragraph}`)],
    ["a picture's description", buildDocx(`<w:p><w:r>${drawing}</w:r></w:p>${paragraph}`)],
    [
      "an instruction of a field",
      buildDocx(`<w:p><w:r><w:instrText>QUOTE "secret-1"</w:instrText></w:r></w:p>${paragraph}`),
    ],
    ["properties", buildDocx(paragraph, properties)],
    ["a chart", buildDocx(paragraph, xmlPart("word/charts/chart1.xml", "<c:chart><c:v>secret-1</c:v></c:chart>"))],
    [
      "a part that nothing names",
      buildDocx(paragraph, xmlPart("word/footer9.xml", "<w:ftr><w:p><w:r><w:t>secret-1</w:t></w:r></w:p></w:ftr>")),
    ],
    ["a page of HTML", buildDocx(paragraph, { path: "word/afchunk.htm", content: "<p>sec<b>ret-1</b></p>" })],
    ["a comment of XML", buildDocx(paragraph, xmlPart("customXml/item1.xml", "<a><!-- secret-1 --></a>"))],
    [
      "an address",
      buildDocx(paragraph, relationsPart("word/_rels/document.xml.rels", ["image", "https://a.example/secret-1"])),
    ],
    [
      "a comment of a cell",
      buildXlsx(
        { A: cell },
        xmlPart(
          "xl/comments1.xml",
          "<comments><comment><text><r><t>sec</t></r><r><t>ret-1</t></r></text></comment></comments>",
        ),
      ),
    ],
    [
      "a header of pages",
      buildXlsx({ A: `${cell}</sheetData><headerFooter><oddHeader>secret-1</oddHeader></headerFooter><sheetData>` }),
    ],
    ["a formula", buildXlsx({ A: '<row><c><f>"secret-1"</f><v>3</v></c></row>' })],
    ["a prompt of a cell", buildXlsx({ A: `${cell}</sheetData><dataValidation prompt="secret-1"/><sheetData>` })],
    [
      "a string that no cell shows",
      buildXlsx({ A: cell }, xmlPart("xl/sharedStrings.xml", "<sst><si><t>secret-1</t></si></sst>"), properties),
    ],
    ["a footer of a slide", buildPptx({ shapes: pptxShape("Harmless") + pptxShape("secret-1", "ftr") })],
    ["an attribute of a book", buildEpub('<p>Harmless <img alt="secret-1"/></p>')],
    ["a title of a PDF", withinPdf(["4 0 obj\n<< /Title (secret-1) >>\nendobj\n"], "/Info 4 0 R")],
    [
      "a bookmark of a PDF",
      withinPdf([
        "4 0 obj\n<< /First 5 0 R /Last 5 0 R >>\nendobj\n",
        "5 0 obj\n<< /Title (secret-1) /Parent 4 0 R >>\nendobj\n",
      ]),
    ],
  ])("reads %s, and a redacting guardrail sends the file as text without the match", async (_, bytes) => {
    const file = { file_data: typeof bytes === "string" ? bytes : toDataUrl(bytes, "application/octet-stream") };
    expect(await sent({ models, ...sending(file) }, under([blockFilter("secret-1")]))).toMatchObject({ status: 403 });
    const redacted = await sent({ models, ...sending(file) }, under([redactFilter("secret-1", "[M]")]));
    expect(redacted).toMatchObject({ fault: undefined, content: [{}, { type: "text" }] });
    expect(JSON.stringify(redacted.content)).not.toMatch(/secret-1|UEsD|JVBER/);
  });

  test.each([["word/document.xml"], ["Word/Document.xml"], ["word\\document.xml"], ["/word/document.xml"]])(
    "refuses an archive with two ambiguous parts: %s",
    async (path) => {
      const twice = buildDocx(paragraph, xmlPart(path, "<w:document/>"));
      expect(
        await sent({ models, ...sending({ file_data: toDataUrl(twice, docxType) }) }, under([blockFilter("x")])),
      ).toMatchObject({
        status: 400,
        fault: "input.0.content.1: the DOCX file has two parts of one name",
      });
    },
  );

  test("refuses an archive with a part missing in its list", async () => {
    const whole = buildDocx(paragraph);
    const end = whole.length - 22;
    const list = whole.readUInt32LE(end + 16);
    const entry = buildZip([xmlPart("word/document.xml", "<w:document/>")]);
    const hidden = entry.subarray(0, entry.readUInt32LE(entry.length - 6));
    const bytes = Buffer.concat([whole.subarray(0, list), hidden, whole.subarray(list)]);
    bytes.writeUInt32LE(list + hidden.length, end + hidden.length + 16);
    expect(
      await sent({ models, ...sending({ file_data: toDataUrl(bytes, docxType) }) }, under([blockFilter("x")])),
    ).toMatchObject({
      status: 400,
      fault: "input.0.content.1: the DOCX file has parts that its list of parts does not name",
    });
  });

  test("reads files in tool results, too", async () => {
    const input = [
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: [{ type: "input_file", file_data: csv("secret-1") }] },
    ];
    expect((await sent({ models, input }, under([blockFilter("secret-\\d")]))).status).toBe(403);
  });

  test.each([
    ["text/csv", "name,secret-1,b", "name,[M],b"],
    ["text/plain;charset=utf-16le", "secret-1 \u{1f600}", "[M] \u{1f600}"],
    ["application/json", '{"a":"\\u0073ecret-1","b":1.50}', '{"a":"[M]","b":1.50}'],
  ])("redacts a file of %s in place", async (type, before, after) => {
    const bytes = Buffer.from(before, type.includes("utf-16") ? "utf16le" : "utf8");
    const { content, stages } = await sent(
      { models, ...sending({ file_data: toDataUrl(bytes, type) }) },
      under([redactFilter("secret-\\d", "[M]")]),
    );
    const [, file] = content as [unknown, { readonly file: { readonly file_data: string } }];
    const [head = "", data = ""] = file.file.file_data.split(",");
    expect([head, Buffer.from(data, "base64").toString()]).toEqual([
      `data:${type.replace("utf-16le", "utf-8")};base64`,
      after,
    ]);
    expect(stages).toMatchObject([{ data: { action: "redacted" } }]);
  });

  test("cannot redact a PDF passed unchanged, and refuses it with 403", async () => {
    const redacting = under([redactFilter("secret-\\d", "[M]")]);
    const request = { models, ...sending({ file_data: pdf }) };
    const blocked = { status: 403, stages: [{ data: { action: "blocked" } }] };
    expect(await sent({ ...request, plugins: off }, redacting)).toMatchObject(blocked);
    expect(await sent({ ...request, plugins: fileParser("native") }, redacting)).toMatchObject(blocked);
  });

  test.each(["acme/files", "acme/text"])("redacts the text sent instead of a PDF or office file: %s", async (model) => {
    const redacting = under([redactFilter("secret-\\d", "[M]")]);
    const word = await sent({ models: [model], ...sending({ file_data: docxFile }) }, redacting);
    expect(word.content).toMatchObject([{}, { type: "text", text: "[file]\nThe [M] of Word\n[end of file]" }]);
    const { content, stages } = await sent(
      { models: [model], ...sending({ file_data: pdf }) },
      under([redactFilter("secret-\\d", "[M]")]),
    );
    expect(content).toMatchObject([{}, { type: "text", text: "[file, 1 page]\nThe [M] of a PDF\n[end of file]" }]);
    // The removed text is in no other part of the request.
    expect(upstream.requests.at(-1)?.body).not.toContain("JVBER");
    expect(stages).toMatchObject([{ data: { action: "redacted" } }, { name: "file-parser" }]);
  });

  test("leaves no redacted text in the request itself", async () => {
    const request = structuredClone(testRequest({ models, plugins: fileParser(), ...sending({ file_data: pdf }) }));
    await runTestTurn(engine.turn, request, newScope(under([redactFilter("secret-\\d", "[M]")])));
    const parts = request.input[0]?.["content"] as { readonly file_data?: string }[] | undefined;
    expect(parts?.[1]?.file_data).toBe(
      `data:text/markdown;base64,${Buffer.from("The [M] of a PDF").toString("base64")}`,
    );
  });

  test("passes no unscanned file, unless it fails open", async () => {
    const request = { models, ...sending({ file_data: "data:application/pdf;base64,QUJD" }) };
    const message = "input.0.content.1: the PDF is damaged, or no PDF";
    expect(await sent(request, under([blockFilter("x")]))).toMatchObject({
      status: 400,
      fault: message,
      stages: [{ data: { action: "error", fail_mode: "closed" } }],
    });
    expect(await sent(request, under([blockFilter("x")], { onError: ErrorPolicy.OPEN }))).toMatchObject({
      fault: undefined,
      stages: [{ data: { action: "error", fail_mode: "open" } }],
    });
  });

  test("for answers only reads no files", async () => {
    const request = { models, ...sending({ file_data: "data:application/pdf;base64,QUJD" }) };
    const { fault, stages } = await sent(request, under([blockFilter("x")], { appliesTo: AppliesTo.OUTPUT }));
    expect([fault, stages]).toEqual([undefined, []]);
  });
});
