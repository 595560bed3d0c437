/** Images by URL for a format that takes only bytes: fetched under the rules for pages, after the guardrails, and no more often than needed. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { type Received, type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.ts";
import { type TestScope, type Engine, testRequest, newScope, openEngine, runTestTurn } from "../../asking.ts";
import { converseAnswer } from "../../models/dialects/converse-translation.ts";
import { blockFilter, guardrailOf } from "../guardrails/gating.ts";

let provider: Upstream;
let site: Upstream;
let engine: Engine;

const answered: Reply = { chunks: [{ json: converseAnswer([{ text: "A cup" }]) }] };

beforeEach(async () => {
  provider = await startUpstream([answered]);
  site = await startUpstream();
  const endpoint = (name: string) => ({ provider: name, upstream_model: "eu.anthropic.claude-sonnet-4-6" });
  engine = openEngine(
    configSchema.parse({
      providers: ["bedrock", "other"].map((id) => ({
        id,
        dialect: "converse",
        base_url: provider.url,
        api_keys: ["k"],
      })),
      models: [
        { id: "a/sonnet", input_modalities: ["text", "image"], endpoints: [endpoint("bedrock")] },
        { id: "a/twice", input_modalities: ["text", "image"], endpoints: ["bedrock", "other"].map(endpoint) },
      ],
      fetch: { allow_private_origins: [site.url] },
    }),
  );
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([provider.stop(), site.stop()]);
});

const image = (bytes: string | Buffer, type = "image/png"): Reply => ({
  headers: { "content-type": type },
  chunks: [{ bytes }],
});
const png = Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1");

const showing = (...urls: readonly string[]): InputItem => ({
  type: "message",
  role: "user",
  content: [
    { type: "input_text", text: "What is it?" },
    ...urls.map((image_url) => ({ type: "input_image", detail: "auto", image_url })),
  ],
});

async function runRequest(request: Partial<TurnRequest>, testScope: TestScope = newScope()) {
  const { fault } = await runTestTurn(
    engine.turn,
    testRequest({ models: ["a/sonnet"], stream: false, ...request }),
    testScope,
  );
  const { stages } = testScope.scope.trace;
  return { fault: fault?.message, status: fault?.status, stages };
}

const bytesSent = (): unknown[] => {
  const { json } = provider.requests.at(-1) as Received;
  const { messages } = json as unknown as { readonly messages: readonly { readonly content: { image?: object }[] }[] };
  return messages.flatMap(({ content }) => content).flatMap((each) => each.image ?? []);
};

test.each([
  ["png", png],
  ["jpeg", Buffer.from("\xff\xd8\xff\xe0rest", "latin1")],
  ["gif", Buffer.from("GIF89arest")],
  ["webp", Buffer.from("RIFF\x01\x02\x03\x04WEBPrest", "latin1")],
])("image bytes of %s are sent under their real type, with a note in the receipt", async (format, bytes) => {
  site.script([image(bytes, "application/octet-stream")]);
  const { fault, stages } = await runRequest({ input: [showing(`${site.url}/a`)] });
  expect(fault).toBeUndefined();
  expect(bytesSent()).toEqual([{ format, source: { bytes: bytes.toString("base64") } }]);
  expect(stages).toMatchObject([
    { name: "image-download", summary: `Fetched: ${bytes.length} bytes`, data: { path: "input.0.content.1" } },
  ]);
});

test("an image of a function's output is fetched, too", async () => {
  site.script([image(png)]);
  const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
  const output = [{ type: "input_image", detail: "auto", image_url: `${site.url}/a.png` }];
  const { fault } = await runRequest({ input: [call, { type: "function_call_output", call_id: "c", output }] });
  expect(fault).toBeUndefined();
  expect(provider.requests.at(-1)?.body).toContain(png.toString("base64"));
});

test("an image is not fetched again for retries and other endpoints", async () => {
  site.script([image(png)]);
  provider.script([{ status: 500, chunks: [{ json: { message: "Broken" } }] }, answered]);
  const { fault, stages } = await runRequest({
    models: ["a/twice"],
    input: [showing(`${site.url}/a`, `${site.url}/a`)],
  });
  expect([fault, provider.requests.length, site.requests.length, stages.length]).toEqual([undefined, 2, 1, 1]);
  expect(bytesSent()).toHaveLength(2);
});

test.each([
  ["a page", image("<html></html>", "text/html"), "not an image that is known, but of type text/html"],
  ["a drawing", image("<svg/>", "image/svg+xml"), "not an image that is known, but of type image/svg+xml"],
  [
    "a redirect to a private address",
    { status: 302, headers: { location: "http://10.0.0.1/a" } },
    "a host that is not on the public internet",
  ],
  ["11 MiB", image(Buffer.alloc(11_534_336)), "longer than 10 MiB"],
])("an image at %s is refused with 400 and its path, before any call to a provider", async (_, reply, reason) => {
  site.script([reply]);
  expect(await runRequest({ input: [showing(`${site.url}/a`)] })).toMatchObject({
    status: 400,
    fault: `input.0.content.1.image_url: the image was not read: ${reason}`,
  });
  expect(provider.requests).toHaveLength(0);
});

test("at most 20 images of a request are fetched", async () => {
  const urls = Array.from({ length: 21 }, (_, n) => `${site.url}/${n}`);
  expect((await runRequest({ input: [showing(...urls)] })).fault).toMatch(/^input\.0\.content\.21: at most 20 images/);
  expect(site.requests).toHaveLength(0);
});

test("a guardrail refuses a request before its images are fetched", async () => {
  const testScope = newScope({ guardrail: guardrailOf([blockFilter("secret")], { appliesTo: AppliesTo.INPUT }) });
  const { status } = await runRequest({ input: [showing(`${site.url}/secret.png`)] }, testScope);
  expect([status, site.requests.length]).toEqual([403, 0]);
});

test("a dry run fetches no image, and notes it", async () => {
  const { scope } = newScope();
  await engine.planDryRun(testRequest({ models: ["a/sonnet"], input: [showing(`${site.url}/a`)] }), scope);
  expect(scope.trace.stages).toMatchObject([{ name: "image-download", data: { action: "not_run" } }]);
  expect(site.requests).toHaveLength(0);
});
