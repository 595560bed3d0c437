/** Scanned PDFs, read by the model of the role `ocr`: what it is sent, which key pays, and what happens when it fails. */
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { FileParserPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { findInvalidReferences } from "@sluice/proto/config/references.js";
import { pdfPages, textPdf, toDataUrl } from "../../../support/documents/pdf.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../../support/providers/upstream.ts";
import { type TestScope, type Engine, testRequest, newScope, openEngine, runTestTurn } from "../../asking.js";
import { guardrailOf, redactFilter } from "../guardrails/gating.js";

const transcript = "## Page 1\n\nThe secret-1 of a scan";

let provider: Upstream;
let reader: Upstream;
let engine: Engine;

const fileOf = (role: object) => ({
  providers: [
    { id: "acme", dialect: "chat", base_url: `${provider.url}/v1`, api_keys: ["k"] },
    { id: "reader", dialect: "chat", base_url: `${reader.url}/v1`, api_keys: ["k"] },
  ],
  models: [
    { id: "acme/text", endpoints: [{ provider: "acme" }] },
    { id: "acme/files", endpoints: [{ provider: "acme" }], input_modalities: ["text", "file"] },
    {
      id: "reader/vision",
      endpoints: [{ provider: "reader", pricing: { prompt: "0.001", completion: "0.001" } }],
      input_modalities: ["text", "file"],
    },
  ],
  internal_models: { ocr: { model: "reader/vision", retries: 0, ...role } },
});
const open = (role: object = {}) => (engine = openEngine(configSchema.parse(fileOf(role))));

beforeEach(async () => {
  provider = await startUpstream([chatStream("Hello")]);
  reader = await startUpstream([chatAnswer({ role: "assistant", content: transcript })]);
  open();
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([provider.stop(), reader.stop()]);
});

const scan = toDataUrl(pdfPages([""]));
const sending = (file_data: string): Partial<TurnRequest> => ({
  input: [{ type: "message", role: "user", content: [{ type: "input_file", file_data }] }],
});
const withEngine = (pdfEngine: string) => ({ fileParser: create(FileParserPluginSchema, { pdfEngine }) });

async function runRequest(model: string, request: Partial<TurnRequest>, testScope: TestScope = newScope()) {
  const before = provider.requests.length;
  const { fault } = await runTestTurn(
    engine.turn,
    testRequest({ models: [model], ...structuredClone(request) }),
    testScope,
  );
  const sent = provider.requests.length > before ? provider.requests.at(-1)?.json : undefined;
  const content = (sent?.["messages"] as { readonly content: unknown }[] | undefined)?.[0]?.content;
  return { fault: fault?.message, status: fault?.status, content, stages: testScope.scope.trace.stages };
}
const told = (text: string) => `[file]\n${text}\n[end of file]`;

test("a scan is read once for a model without file input, at the key's expense", async () => {
  const testScope = newScope();
  const { content, stages } = await runRequest("acme/text", sending(scan), testScope);
  expect(content).toEqual(told(transcript));
  expect(reader.requests.map(({ body }) => [body.includes("page by page"), body.includes(scan)])).toEqual([
    [true, true],
  ]);
  expect(stages).toMatchObject([
    {
      name: "file-parser",
      cost_usd: expect.any(Number),
      data: { engine: "ocr", model: "reader/vision", chars: transcript.length, truncated: false, cached: false },
    },
  ]);
  expect(engine.opened.map(({ operation, payer }) => [operation, payer])).toEqual([
    ["ocr", "key"],
    ["turn", "key"],
  ]);
  expect(testScope.scope.trace.parts).toHaveLength(1);
  const again = await runRequest("acme/text", sending(scan));
  expect([again.content, reader.requests.length]).toEqual([told(transcript), 1]);
  expect(again.stages).toMatchObject([{ data: { cached: true } }]);
});

test("the operator pays for OCR calls up to the allowed number", async () => {
  await engine.upstreams.close();
  open({ max_calls_per_request: 1 });
  await runRequest("acme/text", sending(scan));
  expect(engine.opened.map(({ operation, payer }) => [operation, payer])).toEqual([
    ["ocr", "operator"],
    ["turn", "key"],
  ]);
});

test.each([
  ["a PDF with text", "acme/text", sending(toDataUrl(textPdf(["words"]))), 0],
  ["a scan for a model that takes files", "acme/files", sending(scan), 0],
  [
    "either where the engine is named",
    "acme/files",
    { ...sending(toDataUrl(textPdf(["words"]))), plugins: withEngine("mistral-ocr") },
    1,
  ],
])("a page of a scan is read only as often as needed: %s", async (_, model, request, calls) => {
  const { fault, content } = await runRequest(model, request);
  expect([fault, reader.requests.length]).toEqual([undefined, calls]);
  if (calls > 0) expect(content).toEqual(told(transcript));
});

test.each(["acme/text", "acme/files"])("guardrails redact text read by OCR, for %s", async (model) => {
  const guarded = newScope({
    guardrail: guardrailOf([redactFilter("secret-\\d", "[M]")], { appliesTo: AppliesTo.INPUT }),
  });
  const { content } = await runRequest(model, { ...sending(scan), plugins: withEngine("ocr") }, guarded);
  expect(content).toEqual(told("## Page 1\n\nThe [M] of a scan"));
});

test("a dry run with a scan calls no model", async () => {
  const { scope } = newScope();
  await engine.planDryRun(testRequest({ models: ["acme/text"], ...sending(scan) }), scope);
  expect([scope.trace.stages[0], reader.requests.length]).toMatchObject([{ data: { action: "not_run" } }, 0]);
});

describe("an OCR model", () => {
  const refused = { status: 503, fault: "input.0.content.0: the OCR model did not read the PDF", content: undefined };

  test("leaves the scan unread when it fails", async () => {
    reader.script([{ status: 500, chunks: [{ json: { error: { message: "no" } } }] }]);
    expect(await runRequest("acme/text", sending(scan))).toMatchObject(refused);
  });

  test("leaves the scan unread when it gives no answer in time", async () => {
    await engine.upstreams.close();
    open({ timeout_ms: 50, total_ms: 50 });
    reader.script([{ hang: true }]);
    expect(await runRequest("acme/text", sending(scan))).toMatchObject(refused);
  });

  test("reports a scan without words", async () => {
    reader.script([chatAnswer({ role: "assistant", content: "EMPTY" })]);
    expect(await runRequest("acme/text", sending(scan))).toMatchObject({
      status: 400,
      fault: "input.0.content.0: the PDF has no text, and the OCR model found none on its pages",
    });
  });

  test("is stopped as soon as the turn is over", async () => {
    reader.script([{ hang: true }]);
    const testScope = newScope();
    const outcome = runRequest("acme/text", sending(scan), testScope);
    testScope.abort.abort(new Error("left"));
    expect((await outcome).fault).toContain("The turn was ended");
  });
});

test("the role of OCR requires a model with file input", () => {
  const file = configSchema.parse(fileOf({ model: "acme/text" }));
  expect(findInvalidReferences(file)).toEqual([
    "internal_models.ocr.model: acme/text takes no files; name a model with file in its input_modalities",
  ]);
});
