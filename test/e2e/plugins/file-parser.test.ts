/** Files with running services: the text that providers get, what the receipt and a dry run show, and what guardrails see. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { PluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { toDataUrl, deflatedPdfStream, pdfPages, textPdf, pdfText } from "../../support/documents/pdf.ts";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

interface Answer {
  readonly status?: string;
  readonly error: {
    readonly message: string;
    readonly metadata: { readonly param: string; readonly patterns: readonly string[] };
  };
  readonly service_metadata: { readonly pipeline: readonly { readonly name: string; readonly data: object }[] };
}

const plugins = [{ id: "file-parser" }];
const report = toDataUrl(textPdf(["Revenue grew by 12 %."], ["Contact: secret-7"]));
const said =
  "[file report.pdf, 2 pages]\n## Page 1\n\nRevenue grew by 12 %.\n\n## Page 2\n\nContact: secret-7\n[end of file report.pdf]";
const asking = (file_data: string, filename = "report.pdf") => [
  {
    role: "user",
    content: [
      { type: "input_text", text: "Sum up." },
      { type: "input_file", filename, file_data },
    ],
  },
];

let upstream: Upstream;
let installation: Installation;
let client: Client;

beforeAll(async () => {
  upstream = await startUpstream([chatAnswer("Yes.")]);
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${upstream.url}/v1", api_keys: [upstream-key]}
models:
  - {id: acme/text, endpoints: [{provider: acme}]}
  - {id: acme/files, input_modalities: [text, file], endpoints: [{provider: acme}]}
`,
  });
  client = dial(`127.0.0.1:${installation.ports.inference}`);
});
afterAll(async () => {
  client?.close();
  await installation?.stop();
  await upstream?.stop();
});

async function post(body: object, { path = "/responses", key = installation.apiKey } = {}) {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "acme/text", input: asking(report), ...body }),
  });
  return { status: response.status, answer: (await response.json()) as Answer };
}

/** Parts of the last message to the provider, except the question. */
function told(): unknown {
  const messages = upstream.requests.at(-1)?.json["messages"] as { readonly content: readonly unknown[] }[] | undefined;
  return messages?.[0]?.content[1];
}

test("a model without file input gets the text of files", async () => {
  const { status, answer } = await post({ plugins });
  expect([status, told()]).toEqual([200, { type: "text", text: said }]);
  expect(answer.service_metadata.pipeline).toEqual([
    {
      type: "plugin",
      name: "file-parser",
      summary: "Read: 62 characters of 2 pages",
      data: { engine: "markdown", path: "input.0.content.1", pages: 2, chars: 62, truncated: false, cached: false },
    },
  ]);
  const again = await post({ plugins });
  expect(again.answer.service_metadata.pipeline[0]?.data).toMatchObject({ cached: true });
});

test("a model with file input gets files unless text is requested, and a disabled plugin reads none", async () => {
  const native = await post({ model: "acme/files", plugins });
  expect([native.answer.service_metadata.pipeline, told()]).toEqual([[], expect.objectContaining({ type: "file" })]);
  await post({ model: "acme/files", plugins: [{ id: "file-parser", pdf: { engine: "markdown" } }] });
  expect(told()).toEqual({ type: "text", text: said });
  const off = await post({ plugins: [{ id: "file-parser", enabled: false }] });
  expect([off.status, off.answer.error.message]).toEqual([
    404,
    "No endpoint can serve this request: acme/text takes no file input (input.0.content.1); " +
      "its text can be sent instead unless the plugin file-parser is disabled or its pdf.engine is native",
  ]);
});

test("a dry run with a file has the same result without a call", async () => {
  const before = upstream.requests.length;
  const { status, answer } = await post({ plugins }, { path: "/responses/dry-run" });
  expect([status, answer.service_metadata.pipeline]).toMatchObject([200, [{ name: "file-parser" }]]);
  expect(upstream.requests).toHaveLength(before);
});

test.each([
  ["damaged", "data:application/pdf;base64,QUJD", {}, "input.0.content.1: the PDF is damaged, or no PDF"],
  ["no base64", "data:text/plain;base64,a*b", {}, "input.0.content.1: its file_data is not base64"],
  [
    "read by nobody",
    report,
    { pdf: { engine: "ocr" } },
    "plugins: file-parser: pdf.engine ocr needs a model that this service lacks; its operator sets internal_models.ocr",
  ],
  [
    "read by an engine that nobody knows",
    report,
    { pdf: { engine: "magic" } },
    "plugins.0.pdf.engine: must be one of native, markdown, ocr, cloudflare-ai, mistral-ocr, pdf-text",
  ],
])("a file that is %s is 400, in a stream, too", async (_, file, settings, message) => {
  for (const stream of [false, true]) {
    const body = { stream, input: asking(file), plugins: [{ ...plugins[0], ...settings }] };
    const { status, answer } = await post(body);
    expect([status, answer.error.message]).toEqual([400, message]);
  }
});

test("a PDF with too large contents fails without harm to the process", async () => {
  const bomb = pdfPages([deflatedPdfStream(Buffer.alloc(100_000_000, 0x20))]);
  const harmful = post({ plugins, input: asking(toDataUrl(bomb)) });
  const others = await Promise.all(
    Array.from({ length: 5 }, (_, turn) => post({ plugins, input: asking(toDataUrl(textPdf([`turn ${turn}`]))) })),
  );
  expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
  const { status, answer } = await harmful;
  expect([status, answer.error.message]).toEqual([
    400,
    // On a busy machine the time limit may be reached before the memory limit.
    expect.stringMatching(
      /^input\.0\.content\.1: the PDF takes (more memory than one file may|longer than .* s to read)$/,
    ),
  ]);
}, 300_000);

async function guarded(action: "--block" | "--redact" | "--flag"): Promise<string> {
  const made = await installation.admin(
    "guardrails",
    "create",
    "--name",
    action.slice(2),
    action,
    String.raw`secret-\d`,
    "--json",
  );
  const created = await installation.admin("keys", "create", "--name", action.slice(2), "--json");
  const { key } = JSON.parse(created.stdout) as { key: string };
  await installation.admin("guardrails", "assign", (JSON.parse(made.stdout) as { id: string }).id, hashKey(key));
  return key;
}

test("guardrails see the text of files, and redact it where possible", async () => {
  const text = `data:text/csv;base64,${Buffer.from("name,secret-7").toString("base64")}`;
  const [block, redact] = [await guarded("--block"), await guarded("--redact")];
  const before = upstream.requests.length;
  for (const file of [report, text]) {
    const { status, answer } = await post({ model: "acme/files", input: asking(file) }, { key: block });
    expect([status, answer.error.metadata.patterns]).toEqual([403, [String.raw`secret-\d`]]);
  }
  // A PDF forwarded as a file cannot be redacted.
  const native = [{ id: "file-parser", enabled: false }];
  expect((await post({ model: "acme/files", plugins: native }, { key: redact })).status).toBe(403);
  expect(upstream.requests).toHaveLength(before);
  expect((await post({ model: "acme/files", input: asking(text) }, { key: redact })).status).toBe(200);
  expect(told()).toMatchObject({
    file: { file_data: `data:text/csv;base64,${Buffer.from("name,[REDACTED]").toString("base64")}` },
  });
  const { answer } = await post({ model: "acme/files", plugins }, { key: redact });
  expect(answer.service_metadata.pipeline.map(({ name }) => name)).toEqual(["content-filter", "file-parser"]);
  expect(told()).toEqual({ type: "text", text: said.replace("secret-7", "[REDACTED]") });
}, 300_000);

test("files are read for requests over gRPC", async () => {
  const input = asking(toDataUrl(pdfPages([pdfText("over gRPC", 72, 700)])));
  const plugin = create(PluginSchema, { plugin: { case: "fileParser", value: {} } });
  const request = turnRequest("acme/text", "", { plugins: [plugin], inputJson: Buffer.from(JSON.stringify(input)) });
  await runTurn(client, installation.apiKey, request).over;
  expect(told()).toEqual({ type: "text", text: "[file report.pdf, 1 page]\nover gRPC\n[end of file report.pdf]" });
});
