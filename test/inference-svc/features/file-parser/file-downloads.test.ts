/** Files by URL: they are fetched if no provider accepts the URL, checked like web pages, and scanned like files in the request. */
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { FileParserPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { textPdf } from "../../../support/documents/pdf.ts";
import { type Reply, type Upstream, chatStream, startUpstream } from "../../../support/providers/upstream.ts";
import { type TestScope, type Engine, testRequest, newScope, openEngine, runTestTurn } from "../../asking.js";
import { blockFilter, guardrailOf } from "../guardrails/gating.js";

let provider: Upstream;
let site: Upstream;
let engine: Engine;

beforeEach(async () => {
  provider = await startUpstream([chatStream("Hello")]);
  site = await startUpstream();
  engine = openEngine(
    configSchema.parse({
      providers: [
        { id: "acme", dialect: "chat", base_url: `${provider.url}/v1`, api_keys: ["k"] },
        { id: "responses", dialect: "responses", base_url: `${provider.url}/v1`, api_keys: ["k"] },
      ],
      models: [
        { id: "acme/text", endpoints: [{ provider: "acme" }] },
        { id: "acme/files", endpoints: [{ provider: "acme" }], input_modalities: ["text", "file"] },
        { id: "acme/urls", endpoints: [{ provider: "responses" }], input_modalities: ["text", "file"] },
      ],
      fetch: { allow_private_origins: [site.url] },
    }),
  );
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([provider.stop(), site.stop()]);
});

const file = (bytes: string | Buffer, type: string): Reply => ({
  headers: { "content-type": type },
  chunks: [{ bytes }],
});

const naming = (url: string, fields: object = {}): Partial<TurnRequest> => ({
  input: [
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "Read." },
        { type: "input_file", file_url: url, ...fields },
      ],
    },
  ],
});

const plugin = (settings: object) => ({ fileParser: create(FileParserPluginSchema, settings) });

async function runRequest(model: string, request: Partial<TurnRequest>, testScope: TestScope = newScope()) {
  const before = provider.requests.length;
  const { fault } = await runTestTurn(engine.turn, testRequest({ models: [model], ...request }), testScope);
  const sent = provider.requests.length > before ? provider.requests.at(-1)?.json : undefined;
  const content = (sent?.["messages"] as { readonly content: unknown }[] | undefined)?.[0]?.content;
  return { fault: fault?.message, status: fault?.status, content, stages: testScope.scope.trace.stages };
}

test("a PDF is fetched and read for a model without file input, and the receipt notes both", async () => {
  site.script([file(textPdf(["Revenue grew."]), "application/pdf")]);
  const { content, stages } = await runRequest("acme/text", naming(`${site.url}/reports/Q1%20all.pdf?x=1#a`));
  const said = "[file Q1 all.pdf, 1 page]\nRevenue grew.\n[end of file Q1 all.pdf]";
  expect(content).toEqual([
    { type: "text", text: "Read." },
    { type: "text", text: said },
  ]);
  expect(stages).toMatchObject([
    { name: "file-parser", data: { engine: "fetch", path: "input.0.content.1", type: "application/pdf" } },
    { name: "file-parser", data: { engine: "markdown", pages: 1 } },
  ]);
});

test("a fetched text is decoded in its server's charset, and keeps the name from the request", async () => {
  site.script([file(Buffer.from("Gr\u00fc\u00dfe", "latin1"), 'text/plain; charset="iso-8859-1"')]);
  const { content } = await runRequest("acme/text", naming(`${site.url}/a.txt`, { filename: "greeting.txt" }));
  expect(content).toMatchObject([{}, { text: "[file greeting.txt]\nGr\u00fc\u00dfe\n[end of file greeting.txt]" }]);
});

test("a provider that takes no URLs gets the fetched file, and another provider gets the URL", async () => {
  site.script([file(textPdf(["a"]), "application/pdf")]);
  expect((await runRequest("acme/files", naming(`${site.url}/a.pdf`))).content).toMatchObject([
    {},
    {
      type: "file",
      file: { filename: "a.pdf", file_data: expect.stringMatching(/^data:application\/pdf;base64,JVBER/) },
    },
  ]);
  const before = site.requests.length;
  await runRequest("acme/urls", naming(`${site.url}/a.pdf`));
  expect(site.requests).toHaveLength(before);
  expect(provider.requests.at(-1)?.body).toContain(`${site.url}/a.pdf`);
  site.script([file(textPdf(["as text"]), "application/pdf")]);
  await runRequest("acme/urls", { ...naming(`${site.url}/a.pdf`), plugins: plugin({ pdfEngine: "markdown" }) });
  expect(provider.requests.at(-1)?.body).toContain("as text");
});

test("a disabled file parser fetches no file", async () => {
  const { status } = await runRequest("acme/text", {
    ...naming(`${site.url}/a.pdf`),
    plugins: plugin({ enabled: false }),
  });
  expect([status, site.requests.length]).toEqual([404, 0]);
});

test("guardrails scan a fetched file", async () => {
  site.script([file("the secret-1", "text/plain")]);
  const guarded = newScope({ guardrail: guardrailOf([blockFilter("secret-\\d")], { appliesTo: AppliesTo.INPUT }) });
  expect(await runRequest("acme/text", naming(`${site.url}/a.txt`), guarded)).toMatchObject({
    status: 403,
    content: undefined,
  });
});

test("a dry run fetches no file, and notes it", async () => {
  const { scope } = newScope();
  await engine.planDryRun(testRequest({ models: ["acme/text"], ...naming(`${site.url}/a.pdf`) }), scope);
  expect(scope.trace.stages[0]).toMatchObject({ data: { engine: "fetch", action: "not_run" } });
  expect(site.requests).toHaveLength(0);
});

describe("the file parser refuses to fetch", () => {
  const refusal = async (url: string) => {
    const { status, fault, content } = await runRequest("acme/text", naming(url));
    expect([status, content]).toEqual([400, undefined]);
    return fault;
  };
  const says = (reason: string) => `input.0.content.1.file_url: the file was not read: ${reason}`;

  test.each([
    ["a private host", "http://127.0.0.1/a.pdf", "a host that is not on the public internet"],
    ["the metadata of a cloud", "http://169.254.169.254/latest", "a host that is not on the public internet"],
    ["a URL with a password", "https://a:b@a.example/a.pdf", "a URL with credentials"],
  ])("%s, as it refuses to pass the address to a provider", async (_, url, reason) => {
    expect(await refusal(url)).toContain(`input.0.content.1.file_url: is not passed on: ${reason}`);
  });

  test("from another port than 80 and 443", async () => {
    expect(await refusal("https://a.example:8443/a.pdf")).toBe(says("a port other than 80 and 443"));
  });

  test("a redirect to a private host", async () => {
    site.script([{ status: 302, headers: { location: "http://169.254.169.254/" }, chunks: [] }]);
    expect(await refusal(`${site.url}/a.pdf`)).toBe(says("a host that is not on the public internet"));
  });

  test("a file when its server answers with an error", async () => {
    site.script([{ status: 404, chunks: [] }]);
    expect(await refusal(`${site.url}/a.pdf`)).toBe(says("status 404"));
  });

  test("a file of 500 MB, of which only the allowed part is read", async () => {
    const endless = { bytes: Buffer.alloc(1_048_576, 0x20), repeat: 500 };
    site.script([{ headers: { "content-type": "text/plain" }, chunks: [endless] }]);
    expect(await refusal(`${site.url}/a.txt`)).toBe(says("longer than 10 MiB"));
  });

  test("a twenty-first file", async () => {
    site.script([file("a", "text/plain")]);
    const part = { type: "input_file", file_url: `${site.url}/a.txt` };
    const input = [{ type: "message", role: "user", content: Array.from({ length: 21 }, () => ({ ...part })) }];
    const { fault } = await runRequest("acme/text", { input });
    expect([fault, site.requests.length]).toEqual([
      "input.0.content.20: at most 20 files by file_url are read in a request",
      0,
    ]);
  });
});

test("a turn that ends stops waiting for a file", async () => {
  site.script([{ headers: { "content-type": "text/plain" }, chunks: [{ bytes: "a" }], hang: true }]);
  const testScope = newScope();
  const outcome = runRequest("acme/text", naming(`${site.url}/a.txt`), testScope);
  testScope.abort.abort(new Error("left"));
  expect((await outcome).fault).toContain("The turn was ended");
});
