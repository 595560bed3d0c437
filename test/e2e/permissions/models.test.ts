/** Permissions for models, providers and doors, with running services: every door, gRPC, WebSocket, lists, and a change in force at once. */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { create } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { validateError } from "../../support/answers/published.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { SocketClient } from "../../support/answers/socket-client.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";
import { type Permissions, administer, newKey } from "./keys.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream([chatAnswer({ role: "assistant", content: "fine" })]);
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: borealis, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/large, endpoints: [{provider: acme}]}
  - {id: acme/small, endpoints: [{provider: acme}, {provider: borealis}]}
  - {id: borealis/vast, endpoints: [{provider: borealis}]}
  - {id: acme/vectors, output_modalities: [embeddings], endpoints: [{provider: acme}]}
internal_models:
  moderation: {provider: borealis, fail: open, retries: 0}
  alignment_judge: {model: borealis/vast, retries: 0}
model_aliases:
  - {match: "claude-*", model: acme/large}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const keyWith = async (permissions: Permissions) => (await newKey(installation, { permissions })).key;

const post = (key: string, path: string, body: object) =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-service-metadata": "enabled" },
    body: JSON.stringify(body),
  });

const respond = (key: string, body: object) => post(key, "/responses", { input: "Hi", ...body });

const user = [{ role: "user", content: "Hi" }];

/** A request for a model by path, in the format of each door. */
const requests: readonly (readonly [string, string, object])[] = [
  ["responses", "/responses", { input: "Hi" }],
  ["responses", "/responses/dry-run", { input: "Hi" }],
  ["responses", "/responses/input_tokens", { input: "Hi" }],
  ["responses", "/responses/compact", { input: "Hi" }],
  ["chat", "/chat/completions", { messages: user }],
  ["messages", "/messages", { messages: user, max_tokens: 9 }],
  ["messages", "/messages/count_tokens", { messages: user }],
];

interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly metadata?: { readonly permission: string; readonly value: string; readonly availability?: object };
  };
}

describe("a key permitted to use some models", () => {
  test.each(requests)("is served by these and refused other models at the door %s, %s", async (_, path, body) => {
    const key = await keyWith({ models: ["borealis/*"] });
    const served = await post(key, path, { model: "borealis/vast", ...body });
    expect([served.status, await served.text()]).toEqual([200, expect.anything()]);
    const refused = await post(key, path, { model: "acme/large", ...body });
    const { error } = (await refused.json()) as ErrorBody;
    expect([refused.status, error.message]).toEqual([
      403,
      "This key may not use the model acme/large (permissions.models)",
    ]);
    if (!path.startsWith("/messages")) {
      expect(error.metadata).toMatchObject({ permission: "permissions.models", value: "acme/large" });
    }
  });

  test("is refused other models by an error of the published form, with the reasons counted", async () => {
    const key = await keyWith({ models: ["borealis/*"] });
    const refused = await respond(key, { model: "acme/small" });
    const body = (await refused.json()) as ErrorBody;
    expect(validateError(403, body)).toEqual([]);
    expect(body.error.metadata?.availability).toMatchObject({ excluded_by: { "permissions.models": 2 } });
  });

  test("embeds only with these models", async () => {
    const body = { model: "acme/vectors", input: "Hi" };
    expect((await post(await keyWith({ models: ["acme/l*"] }), "/embeddings", body)).status).toBe(403);
    const dry = await post(await keyWith({ models: ["acme/l*"] }), "/embeddings/dry-run", body);
    expect([dry.status, ((await dry.json()) as ErrorBody).error.metadata?.permission]).toEqual([
      403,
      "permissions.models",
    ]);
    expect((await post(await keyWith({ models: ["*/vectors"] }), "/embeddings/dry-run", body)).status).toBe(200);
  });

  test.each<[string, object]>([
    ["an alias", { model: "claude-whatever" }],
    ["a fallback", { models: ["claude-whatever", "acme/small"] }],
    ["a variant", { model: "acme/large:nitro" }],
    ["a preference for a provider", { model: "acme/small", provider: { only: ["borealis"] } }],
    ["a search of the web", { model: "acme/large:online" }],
    [
      "a router with its own list",
      { model: "service/auto", plugins: [{ id: "auto-router", allowed_models: ["acme/*"] }] },
    ],
    [
      "the panel of a fusion",
      { model: "service/fusion", plugins: [{ id: "fusion", analysis_models: ["acme/large"], model: "acme/large" }] },
    ],
  ])("gets no other model through %s", async (_, body) => {
    const before = upstream.requests.length;
    const answer = await respond(await keyWith({ models: ["borealis/*"] }), body);
    expect([answer.status, ((await answer.json()) as ErrorBody).error.metadata?.permission]).toEqual([
      403,
      "permissions.models",
    ]);
    expect(upstream.requests).toHaveLength(before);
  });

  test("is served by an allowed fallback, and by the allowed choices of a router", async () => {
    const key = await keyWith({ models: ["borealis/*"] });
    for (const body of [{ models: ["acme/large", "borealis/vast"] }, { model: "service/auto" }]) {
      const answer = await respond(key, body);
      expect([answer.status, ((await answer.json()) as { model: string }).model]).toEqual([200, "borealis/vast"]);
    }
  });

  test("lists only these models", async () => {
    const key = await keyWith({ models: ["acme/l*", "borealis/*"], providers: ["acme"] });
    const read = async (path: string) =>
      (await fetch(`${installation.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } })).json();
    const ids = ((await read("/models")) as { data: { id: string }[] }).data.map(({ id }) => id);
    expect(ids).toEqual(["acme/large"]);
    expect(await read("/models/count")).toEqual({ data: { count: 1 } });
    expect(await read("/models/borealis/vast/endpoints")).toMatchObject({ error: { code: 404 } });
    expect(await read("/providers")).toMatchObject({ data: [{ slug: "acme" }] });
    const all = await fetch(`${installation.baseUrl}/models`, {
      headers: { authorization: `Bearer ${installation.managementKey}` },
    });
    expect(((await all.json()) as { data: unknown[] }).data.length).toBeGreaterThanOrEqual(3);
  });
});

test("a key permitted to use one provider is served by no other, and refused where only others could serve", async () => {
  const key = await keyWith({ providers: ["acme"] });
  const answer = await respond(key, { model: "acme/small" });
  const { service_metadata: receipt } = (await answer.json()) as { service_metadata: { endpoints: object } };
  expect([answer.status, JSON.stringify(receipt.endpoints)]).toEqual([200, expect.not.stringContaining("borealis")]);
  for (const body of [{ model: "borealis/vast" }, { model: "acme/small", provider: { only: ["borealis"] } }]) {
    const refused = await respond(key, body);
    expect([refused.status, ((await refused.json()) as ErrorBody).error.metadata]).toMatchObject([
      403,
      { permission: "permissions.providers", value: "borealis" },
    ]);
  }
});

test.each([
  ["moderation", { id: "moderation" }],
  ["alignment", { id: "alignment", rules: ["Never rude."] }],
])("a key permitted to use one provider is refused a request with %s at another", async (_, plugin) => {
  const before = upstream.requests.length;
  const body = { model: "acme/large", plugins: [plugin] };
  const refused = await respond(await keyWith({ providers: ["acme"] }), body);
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("permissions.providers")]);
  expect(upstream.requests).toHaveLength(before);
  const served = await post(await keyWith({ providers: ["*"] }), "/responses/dry-run", { input: "Hi", ...body });
  expect([served.status, await served.text()]).toEqual([200, expect.anything()]);
});

describe("a key permitted to use some doors", () => {
  test.each(requests)("is refused at the door %s, %s, unless it is named", async (door, path, body) => {
    const others = ["responses", "chat", "messages", "embeddings", "grpc"].filter((each) => each !== door);
    const refused = await post(await keyWith({ doors: others }), path, { model: "acme/large", ...body });
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining(`This key may not use the door ${door} (permissions.doors)`),
    ]);
    expect((await post(await keyWith({ doors: [door] }), path, { model: "acme/large", ...body })).status).toBe(200);
  });

  test("is refused by RunTurn over gRPC, whatever door the request names", async () => {
    const address = `127.0.0.1:${installation.ports.inference}`;
    const client = dial(address);
    const turn = runTurn(
      client,
      await keyWith({ doors: ["responses"] }),
      turnRequest("acme/large", "Hi", { door: "responses" }),
    );
    const { fault } = await faultOf(turn);
    expect([fault.status, fault.message]).toEqual([403, "This key may not use the door grpc (permissions.doors)"]);
    const other = runTurn(client, await keyWith({ models: ["borealis/*"] }), turnRequest("acme/large", "Hi"));
    expect((await faultOf(other)).fault.metadata).toMatchObject({ permission: "permissions.models" });
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${await keyWith({ models: ["borealis/*"] })}`);
    const { listModels } = InferenceService.method;
    const listed = await call(client, listModels, create(listModels.input), metadata, 10_000);
    expect(listed.models.map(({ id }) => id)).toEqual(["borealis/vast"]);
    client.close();
  });

  test.each<[string, Permissions, string]>([
    ["a model", { models: ["borealis/*"] }, "This key may not use the model acme/large (permissions.models)"],
    ["the door", { doors: ["chat"] }, "This key may not use the door responses (permissions.doors)"],
  ])("gets the refusal of %s as an event over a WebSocket", async (_, permissions, message) => {
    const headers = { authorization: `Bearer ${await keyWith(permissions)}` };
    const client = new SocketClient(installation.ports.gateway, headers);
    await once(client.socket, "open");
    expect((await client.ask({ model: "acme/large", input: "Hi" })).at(-1)).toMatchObject({
      type: "error",
      status: 403,
      error: { message },
    });
    client.socket.close();
  });
});

test("the permissions of a workspace narrow those of its keys, and a change is in force on the next request", async () => {
  const { key, hash } = await newKey(installation, { permissions: { models: ["acme/*"] } });
  const status = async (model: string) => (await respond(key, { model })).status;
  const workspace = (permissions: Permissions | null) =>
    administer(installation, "PATCH", `/workspaces/${defaultWorkspaceId}`, { permissions });
  expect([await status("acme/large"), await status("borealis/vast")]).toEqual([200, 403]);
  await workspace({ models: ["*/large", "borealis/*"] });
  try {
    expect([await status("acme/large"), await status("acme/small"), await status("borealis/vast")]).toEqual([
      200, 403, 403,
    ]);
    await administer(installation, "PATCH", `/keys/${hash}`, { permissions: null });
    expect([await status("acme/small"), await status("borealis/vast")]).toEqual([403, 200]);
  } finally {
    await workspace(null);
  }
  expect(await status("acme/small")).toBe(200);
  await administer(installation, "PATCH", `/keys/${hash}`, { permissions: { models: [] } });
  expect(await status("acme/small")).toBe(403);
});
