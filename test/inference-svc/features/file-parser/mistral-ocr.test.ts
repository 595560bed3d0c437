/** Scanned PDFs, read page by page by Mistral's OCR API: the request, the cost of a page, and failures of the provider. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Budgets } from "@sluice/inference-svc/models/ledger/budget.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { noPackages } from "@sluice/inference-svc/models/upstream/ai-sdk/load.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { findShortest } from "../../../support/clock.ts";
import { pdfPages, toDataUrl } from "../../../support/documents/pdf.ts";
import { type Reply, type Upstream, chatStream, startUpstream } from "../../../support/providers/upstream.ts";
import {
  type TestScope,
  type Engine,
  testRequest,
  itemsOf,
  newScope,
  unlimitedBudget,
  openEngine,
  runTestTurn,
} from "../../asking.js";

let provider: Upstream;
let reader: Upstream;
let engine: Engine;
let held: bigint[];

const ocrAnswer = (pages: readonly object[], usage: object = { pages_processed: pages.length }): Reply => ({
  chunks: [{ json: { model: "mistral-ocr-2512", pages, usage_info: { doc_size_bytes: 900, ...usage } } }],
});
const page = (index: number, markdown: string) => ({ index, markdown, images: [], dimensions: null });

function open(role: object = {}): void {
  held = [];
  const reserve: Budgets["reserve"] = (_, pico) => {
    held.push(pico);
    return Promise.resolve(unlimitedBudget);
  };
  const file = configSchema.parse({
    providers: [
      { id: "acme", dialect: "chat", base_url: `${provider.url}/v1`, api_keys: ["k"] },
      { id: "reader", dialect: "mistral-ocr", base_url: `${reader.url}/v1`, api_keys: ["secret"] },
    ],
    models: [
      { id: "acme/text", endpoints: [{ provider: "acme" }] },
      {
        id: "reader/ocr",
        endpoints: [
          { provider: "reader", upstream_model: "ocr-1", pricing: { prompt: "0", completion: "0", page: "0.002" } },
        ],
        input_modalities: ["file", "image"],
      },
    ],
    internal_models: { ocr: { model: "reader/ocr", retries: 0, ...role } },
  });
  engine = openEngine(file, new EndpointRecords(), noPackages, { reserve });
}

beforeEach(async () => {
  provider = await startUpstream([chatStream("Hello")]);
  reader = await startUpstream([ocrAnswer([page(1, "second"), page(0, "# First"), page(2, " ")])]);
  open();
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([provider.stop(), reader.stop()]);
});

/** A different scan for each test, because results are remembered for the process. */
let scans = 0;
const newScan = (pages: number) =>
  toDataUrl(
    pdfPages(
      Array.from({ length: pages }, () => ""),
      `/Scan ${++scans}`,
    ),
  );
const sending = (file_data: string): Partial<TurnRequest> => ({
  input: [{ type: "message", role: "user", content: [{ type: "input_file", file_data }] }],
});

async function runRequest(
  model: string,
  request: Partial<TurnRequest>,
  testScope: TestScope = newScope({ hasBudget: true }),
) {
  const ending = await runTestTurn(engine.turn, testRequest({ models: [model], ...request }), testScope);
  return { ...ending, stages: testScope.scope.trace.stages };
}
const sentToAcme = () =>
  (provider.requests.at(-1)?.json["messages"] as { readonly content: unknown }[] | undefined)?.[0]?.content;
const rows = () =>
  engine.opened.map(({ operation, payer, provider }, index) => [
    operation,
    payer,
    provider,
    engine.closed[index]?.status,
    engine.closed[index]?.costUsd,
  ]);

const read = "## Page 1\n\n# First\n\n## Page 2\n\nsecond";

test("Mistral OCR reads a scan page by page, and the key pays for the pages", async () => {
  const scan = newScan(3);
  const { stages, fault } = await runRequest("acme/text", sending(scan));
  expect([fault, sentToAcme()]).toEqual([undefined, `[file, 3 pages]\n${read}\n[end of file]`]);
  expect(reader.requests.map(({ path, headers, json }) => [path, headers.authorization, json])).toEqual([
    [
      "/v1/ocr",
      "Bearer secret",
      {
        model: "ocr-1",
        document: { type: "document_url", document_url: scan },
        pages: [0, 1, 2],
        include_image_base64: false,
      },
    ],
  ]);
  expect(stages).toMatchObject([{ cost_usd: 0.006, data: { engine: "ocr", pages: 3, truncated: false } }]);
  expect(held[0]).toBe(6_000_000_000n);
  expect(rows()[0]).toEqual(["ocr", "key", "reader", "completed", "0.006"]);
  expect(engine.closed[0]).toMatchObject({ isEstimated: false });
});

test("a request may name the model of Mistral OCR itself, for an image as well", async () => {
  reader.script([ocrAnswer([page(0, "a word")])]);
  const image = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
  const { events } = await runRequest("reader/ocr", { input: [{ type: "message", role: "user", content: [image] }] });
  expect(itemsOf(events)).toMatchObject([{ content: [{ type: "output_text", text: "a word" }] }]);
  expect(reader.requests[0]?.json["document"]).toEqual({ type: "image_url", image_url: image.image_url });
  expect([held, rows()]).toEqual([[2_000_000_000n], [["turn", "key", "reader", "completed", "0.002"]]]);
});

test("pages of a scan beyond the maximum are neither read nor paid for", async () => {
  await engine.upstreams.close();
  open({ max_pages: 2 });
  reader.script([ocrAnswer([page(0, "one"), page(1, "two")], { pages_processed: 99_999 })]);
  const { stages } = await runRequest("acme/text", sending(newScan(3)));
  expect(reader.requests[0]?.json["pages"]).toEqual([0, 1]);
  expect(stages[0]).toMatchObject({ cost_usd: 0.004, data: { pages: 2, truncated: true } });
  expect([held[0], rows()[0]?.at(-1)]).toEqual([4_000_000_000n, "0.004"]);
});

test("a text from Mistral OCR above the maximum length is cut", async () => {
  await engine.upstreams.close();
  open({ max_output_tokens: 16 });
  reader.script([ocrAnswer([page(0, "x".repeat(500))])]);
  const { stages } = await runRequest("acme/text", sending(newScan(1)));
  expect(stages[0]).toMatchObject({ data: { chars: 64, truncated: true } });
});

test("empty pages of a scan are 400 and paid for", async () => {
  reader.script([ocrAnswer([page(0, ""), page(1, "\n")])]);
  const { fault } = await runRequest("acme/text", sending(newScan(2)));
  expect(fault?.message).toBe("input.0.content.0: the PDF has no text, and the OCR model found none on its pages");
  expect(rows()).toEqual([["ocr", "key", "reader", "completed", "0.004"]]);
});

test.each([
  [
    "two files",
    {
      input: [
        { type: "input_file", file_data: "JVBERi0=" },
        { type: "input_file", file_url: "https://x.y/z" },
      ],
    },
  ],
  ["no file", { input: [{ type: "input_text", text: "Hi" }] }],
  ["a file by its id", { input: [{ type: "input_file", file_id: "file_1" }] }],
])("a request with %s is refused before the OCR service is called", async (_, { input }) => {
  const { fault } = await runRequest("reader/ocr", { input: [{ type: "message", role: "user", content: input }] });
  expect([fault?.status, reader.requests]).toEqual([400, []]);
});

describe("a scan stays unread, with 503, when the OCR service", () => {
  const refused = "input.0.content.0: the OCR model did not read the PDF";

  test.each<[string, Reply]>([
    ["fails", { status: 500, chunks: [{ json: { message: "no" } }] }],
    ["refuses the document", { status: 422, chunks: [{ json: { detail: [{ loc: ["body"], msg: "bad" }] } }] }],
    ["answers with a page", { headers: { "content-type": "text/html" }, chunks: [{ bytes: "<html>" }] }],
    ["answers with something else", { chunks: [{ json: { pages: "none" } }] }],
    ["ends within the answer", { chunks: [{ bytes: '{"pages":[{"index":0,"markdown":"x' }], cut: true }],
    [
      "sends 500 MB",
      {
        headers: { "content-type": "application/json" },
        chunks: [{ bytes: '{"pages":"' }, { bytes: "x".repeat(1_048_576), repeat: 500 }],
      },
    ],
  ])("%s", async (_, reply) => {
    reader.script([reply]);
    const { fault } = await runRequest("acme/text", sending(newScan(1)));
    expect([fault?.status, fault?.message, provider.requests]).toEqual([503, refused, []]);
    expect(reader.bytesWritten).toBeLessThan(100_000_000);
    expect(rows()[0]).toEqual(["ocr", "key", "reader", "failed", undefined]);
  });

  test("never ends", async () => {
    await engine.upstreams.close();
    open({ timeout_ms: 500, total_ms: 500 });
    reader.script([{ headers: { "content-type": "application/json" }, chunks: [{ bytes: '{"pages":[' }], hang: true }]);
    const { fault } = await runRequest("acme/text", sending(newScan(2)));
    expect([fault?.status, fault?.message]).toEqual([503, refused]);
    // The provider may charge for a request once it is sent.
    expect(rows()).toEqual([["ocr", "key", "reader", "failed", "0.004"]]);
  });
});

test("a client that leaves stops the OCR call within 250 ms, and its pages are charged", async () => {
  reader.script([{ hang: true }]);
  let tries = 0;
  const leave = async () => {
    tries++;
    const testScope = newScope({ hasBudget: true });
    const arrived = reader.nextRequest();
    const outcome = runRequest("acme/text", sending(newScan(2)), testScope);
    await arrived;
    const closed = reader.nextClose();
    const left = performance.now();
    testScope.abort.abort(new Error("left"));
    const tookMs = (await closed) - left;
    expect((await outcome).fault?.message).toContain("The turn was ended");
    return tookMs;
  };
  expect(await findShortest(250, leave, 5)).toBeLessThan(250);
  expect(rows()).toEqual(Array.from({ length: tries }, () => ["ocr", "key", "reader", "cancelled", "0.004"]));
});
