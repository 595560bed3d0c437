/**
 * Every list and record of the catalogue shows a key only permitted entries, over HTTP and gRPC, and answers for others as for entries that do
 * not exist.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  create,
  toJsonString,
} from "@bufbuild/protobuf";
import { Metadata, type ServiceError } from "@grpc/grpc-js";
import { operations } from "@sluice/gateway/contract/operations/operations.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { fromServiceError } from "@sluice/proto/lib/rpc/status.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Permissions, newKey } from "./keys.ts";

let installation: Installation;

/** Part of every name that the keys may not use; no other text of an answer contains it. */
const hidden = "unseen";

beforeAll(async () => {
  installation = await startInstallation({
    config: `
providers:
  - {id: sluice, dialect: echo}
  - {id: ${hidden}-house, name: "${hidden} house", dialect: echo}
models:
  - {id: acme/shown, endpoints: [{provider: sluice}]}
  - {id: acme/${hidden}, endpoints: [{provider: sluice}]}
  - {id: acme/of-${hidden}-house, endpoints: [{provider: ${hidden}-house}]}
  - {id: acme/${hidden}-vectors, output_modalities: [embeddings], endpoints: [{provider: sluice}]}
`,
  });
});
afterAll(() => installation?.stop());

const keyWith = async (permissions: Permissions) => (await newKey(installation, { permissions })).key;
const narrow = () => keyWith({ models: ["acme/shown"], providers: ["sluice"] });

async function read(key: string, path: string) {
  const answer = await fetch(`${installation.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return { status: answer.status, text: await answer.text() };
}

const reading = Object.values(operations).filter(
  ({ method, key, path }) => method === "get" && key !== "management" && !path.startsWith("/generation"),
);
const filled = (path: string, slug: string) => path.replace("{author}", "acme").replace("{slug}", slug);
const isRecord = ({ path }: { readonly path: string }) => path.includes("{");

test("the test of permissions in lists covers all existing lists", () => {
  expect(reading.map(({ path }) => path).sort()).toEqual([
    "/key",
    "/models",
    "/models/count",
    "/models/{author}/{slug}",
    "/models/{author}/{slug}/endpoints",
    "/providers",
  ]);
});

test.each(reading.filter((operation) => !isRecord(operation)).map(({ path }) => path))(
  "the list at %s shows a key nothing beyond its permissions",
  async (path) => {
    const { status, text } = await read(await narrow(), path);
    expect([status, text]).toEqual([200, expect.not.stringContaining(hidden)]);
  },
);

test.each(reading.filter(isRecord).map(({ path }) => path))(
  "at %s a model that a key may not use answers like a model that does not exist",
  async (path) => {
    const key = await narrow();
    expect(await read(key, filled(path, "shown"))).toMatchObject({ status: 200 });
    const answers = async (slug: string) => {
      const { status, text } = await read(key, filled(path, slug));
      return [status, text.replaceAll(slug, "*")];
    };
    const absent = await answers("nothing");
    expect(absent[0]).toBe(404);
    expect(await answers(hidden)).toEqual(absent);
    expect(await answers(`of-${hidden}-house`)).toEqual(absent);
  },
);

test("a key without restrictions sees every entry of all lists", async () => {
  const free = await keyWith({});
  for (const path of ["/models", "/providers"])
    expect(await read(free, path)).toMatchObject({ status: 200, text: expect.stringContaining(hidden) });
  expect(JSON.parse((await read(free, "/models/count")).text)).toEqual({ data: { count: 4 } });
  expect(JSON.parse((await read(await narrow(), "/models/count")).text)).toEqual({ data: { count: 1 } });
});

const { listModels, listProviders, listEndpoints, listLeftOutProviders } = InferenceService.method;

/** The answer of inference-svc as JSON, or the message of its refusal. */
async function askDirectly<Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  key: string,
  request: MessageInitShape<Input>,
): Promise<string> {
  const client = dial(`127.0.0.1:${installation.ports.inference}`);
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${key}`);
  const answer = call(client, method, create(method.input, request), metadata, 20_000);
  const text = await answer.then(
    (message) => toJsonString(method.output, message),
    (error: ServiceError) => fromServiceError(error).message,
  );
  client.close();
  return text;
}

test("the lists of inference-svc show a key nothing beyond its permissions", async () => {
  const [key, free] = [await narrow(), await keyWith({})];
  for (const ask of [
    (asking: string) => askDirectly(listModels, asking, {}),
    (asking: string) => askDirectly(listProviders, asking, {}),
    (asking: string) => askDirectly(listLeftOutProviders, asking, {}),
  ])
    expect(await ask(key)).not.toContain(hidden);
  expect(await askDirectly(listModels, free, {})).toContain(hidden);
  const endpoints = async (slug: string) =>
    (await askDirectly(listEndpoints, key, { model: `acme/${slug}` })).replaceAll(slug, "*");
  expect(await endpoints("shown")).toContain("endpoints");
  const absent = await endpoints("nothing");
  expect(absent).not.toContain("endpoints");
  expect([await endpoints(hidden), await endpoints(`of-${hidden}-house`)]).toEqual([absent, absent]);
});
