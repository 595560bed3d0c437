/**
 * Stored providers, with a gateway, two inference processes and admin-svc: in force at once, encrypted, and with lower precedence than those of
 * the configuration file.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import pg from "pg";
import { validate } from "../support/answers/published.ts";
import { type Installation, makeManager, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../support/providers/upstream.ts";

const secret = "sk-acme-v3ry-s3cret-x7Qd";
const replicas = 2;
let installation: Installation;
let acme: Upstream;
let other: Upstream;

beforeAll(async () => {
  [acme, other] = await Promise.all([startUpstream(), startUpstream()]);
  installation = await startInstallation({
    inferenceReplicas: replicas,
    config: `
providers:
  - {id: filed, dialect: chat, base_url: "${other.url}/v1", api_keys: ["sk-of-the-file"]}
  - {id: absent, dialect: chat, base_url: "${other.url}/v1", api_keys: ["\${ABSENT_KEY}"]}
  - {id: odd, dialect: "ai-sdk:@acme/none", api_keys: [none]}
models:
  - {id: filed/small, endpoints: [{provider: filed}]}
  - {id: absent/small, endpoints: [{provider: absent}]}
  - {id: odd/small, endpoints: [{provider: odd}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([acme?.stop(), other?.stop()]);
});

interface Answered {
  readonly status: number;
  readonly body: { readonly data?: Record<string, unknown>; readonly error?: { readonly message: string } };
}

async function send(method: string, path: string, body?: object, key = installation.managementKey): Promise<Answered> {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answered["body"] };
}

const entry = (id: string, settings: object = {}) => ({
  id,
  dialect: "chat",
  base_url: `${acme.url}/v1`,
  api_keys: [secret],
  models: ["large-2"],
  ...settings,
});

/** Sends requests until both inference processes have had one: a process with more open turns gets no further turn. */
async function ask(model: string): Promise<Answered[]> {
  const request = () =>
    send("POST", "/chat/completions", { model, messages: [{ role: "user", content: "Hi" }] }, installation.apiKey);
  return Promise.all(Array.from({ length: 4 * replicas }, request));
}

const statuses = (answers: readonly Answered[]) => [...new Set(answers.map(({ status }) => status))];

const list = async () => {
  const { body } = await send("GET", "/providers/configured");
  expect(validate("ConfiguredProviderList", body)).toEqual([]);
  return body.data as unknown as readonly Record<string, unknown>[];
};

const find = async (id: string, source = "database") =>
  (await list()).find((provider) => provider["id"] === id && provider["source"] === source);

async function query(text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(installation.databaseUrl);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

test("a stored provider serves in every process once its creation is answered, until its deletion is", async () => {
  expect(statuses(await ask("acme/large-2"))).toEqual([404]);
  acme.script([chatAnswer({ content: "Hello" })]);
  const made = await send("POST", "/providers", entry("acme"));
  expect(made).toMatchObject({
    status: 201,
    body: { data: { id: "acme", source: "database", problem: null, models: 1 } },
  });
  expect(statuses(await ask("acme/large-2"))).toEqual([200]);
  expect(acme.requests.at(-1)).toMatchObject({
    headers: { authorization: `Bearer ${secret}` },
    json: { model: "large-2" },
  });
  expect((await send("DELETE", "/providers/acme")).body).toEqual({ deleted: true });
  expect(statuses(await ask("acme/large-2"))).toEqual([404]);
  expect(await find("acme")).toBeUndefined();
});

test("a provider's stored key is shown by its end only, and stored encrypted", async () => {
  await send("POST", "/providers", entry("sealed"));
  expect(await find("sealed")).toMatchObject({ api_key_ends: ["x7Qd"] });
  const [row] = await query("select * from stored_providers where id = 'sealed'");
  const audit = await query("select before, after, target from audit_log where target = 'sealed'");
  const shown = { source: "database", settings: ["base_url", "dialect", "models"], key_ends: ["x7Qd"] };
  expect(audit).toEqual([{ before: null, after: shown, target: "sealed" }]);
  const everything = JSON.stringify([row, audit, await list(), await installation.allLogged()]);
  expect(everything).not.toContain(secret);
  expect(everything).not.toContain(secret.slice(0, -4));
  await send("DELETE", "/providers/sealed");
});

test("a change of a stored provider keeps its keys, and new keys are in force at once", async () => {
  await send("POST", "/providers", entry("changing"));
  const renamed = await send("PATCH", "/providers/changing", { name: "Acme", models: ["large-3"] });
  expect(renamed.body.data).toMatchObject({ settings: { name: "Acme", models: ["large-3"] }, api_key_ends: ["x7Qd"] });
  expect(statuses(await ask("changing/large-2"))).toEqual([404]);
  acme.script([chatAnswer({ content: "Hello" })]);
  expect(statuses(await ask("changing/large-3"))).toEqual([200]);
  expect(acme.requests.at(-1)?.headers["authorization"]).toBe(`Bearer ${secret}`);
  await send("PATCH", "/providers/changing", { api_keys: ["sk-another-key-of-acme-0001"], name: null });
  const before = acme.requests.length;
  await ask("changing/large-3");
  expect(new Set(acme.requests.slice(before).map(({ headers }) => headers["authorization"]))).toEqual(
    new Set(["Bearer sk-another-key-of-acme-0001"]),
  );
  const found = await find("changing");
  expect(found).toMatchObject({ api_key_ends: ["0001"] });
  expect(found?.["settings"]).not.toHaveProperty("name");
  const entries = await query("select action, after from audit_log where target = 'changing' order by sequence");
  expect(entries).toMatchObject([
    { action: "providers.create" },
    { action: "providers.update", after: { source: "database", changed_settings: ["models", "name"] } },
    { action: "providers.update", after: { changed_settings: ["name"], key_ends: ["0001"], has_other_keys: true } },
  ]);
  expect(entries[1]?.["after"]).not.toHaveProperty("has_other_keys");
  expect(JSON.stringify(entries)).not.toContain(acme.url);
  await send("DELETE", "/providers/changing");
  expect((await send("PATCH", "/providers/changing", { name: "Gone" })).status).toBe(404);
});

describe("keys of a stored provider", () => {
  test("are not sent to another address, vendor or format, unless they are entered again", async () => {
    await send("POST", "/providers", entry("bound"));
    const elsewhere = { base_url: `${other.url}/v1` };
    for (const change of [elsewhere, { dialect: "messages" }, { vendor: "openai" }]) {
      const { status, body } = await send("PATCH", "/providers/bound", change);
      expect([status, body.error?.message]).toEqual([400, expect.stringMatching(/^api_keys: required/)]);
    }
    expect((await send("PATCH", "/providers/bound", { base_url: `${acme.url}/v2` })).status).toBe(200);
    const keys = ["sk-for-the-other-0001"];
    expect((await send("PATCH", "/providers/bound", { ...elsewhere, api_keys: keys })).status).toBe(200);
    other.script([chatAnswer({ content: "Hello" })]);
    expect(statuses(await ask("bound/large-2"))).toEqual([200]);
    expect(other.requests.at(-1)?.headers["authorization"]).toBe(`Bearer ${keys[0]}`);
    await send("DELETE", "/providers/bound");
  });

  test("are not decrypted for an address that was changed in the database", async () => {
    await send("POST", "/providers", entry("redirected"));
    await query(
      `update stored_providers set settings = jsonb_set(settings, '{base_url}', '"${other.url}/v1"') where id = 'redirected'`,
    );
    await send("POST", "/providers", entry("next"));
    expect((await find("redirected"))?.["problem"]).toMatch(/for another destination/);
    expect(statuses(await ask("redirected/large-2"))).toEqual([404]);
    for (const id of ["redirected", "next"]) await send("DELETE", `/providers/${id}`);
  });
});

test("a provider change that a process cannot read is answered as stored, audited, and in force later", async () => {
  await query(`insert into stored_providers (id, settings, sealed_keys, key_ends, created_at)
    values ('broken', '{}', '', '{}', 'infinity')`);
  const pending = { source: "database", problem: expect.stringMatching(/not yet in force/), models: 0 };
  const made = await send("POST", "/providers", entry("waiting"));
  expect(made).toMatchObject({ status: 201, body: { data: { id: "waiting", ...pending, api_key_ends: ["x7Qd"] } } });
  const late = await query("select after from audit_log where action = 'policy.late'");
  expect(late.flatMap(({ after }) => (after as { processes: string[] }).processes)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^inference-svc\//)]),
  );
  await query("delete from stored_providers where id = 'broken'");
  acme.script([chatAnswer({ content: "Hello" })]);
  await eventually(async () => statuses(await ask("waiting/large-2")).join() === "200");
  expect(await find("waiting")).toMatchObject({ problem: null, models: 1 });
  expect((await send("PATCH", "/providers/waiting", { name: "Now" })).body.data).toMatchObject({
    problem: null,
    settings: { name: "Now" },
  });
  await send("DELETE", "/providers/waiting");
});

describe("a stored provider", () => {
  test.each([
    ["an unknown field", { colour: "red" }, /colour/],
    ["an unknown format", { dialect: "morse" }, /^dialect: must be one of/],
    ["an unknown vendor", { vendor: "nobody" }, /^vendor: /],
    ["no address", { base_url: undefined }, /base_url: required for dialect chat/],
    [
      "a price that is no decimal",
      { models: [{ id: "a/b", endpoints: [{ pricing: { prompt: "x", completion: "1" } }] }] },
      /models\.0\.endpoints\.0\.pricing\.prompt/,
    ],
    [
      "an endpoint of another provider",
      { models: [{ id: "a/b", endpoints: [{ provider: "filed" }] }] },
      /only endpoints of wrong/,
    ],
    ["the metadata service of a cloud", { base_url: "http://169.254.169.254/latest" }, /base_url: link-local/],
    ["an identity of the machine", { aws: {} }, /aws/],
    ["a package", { dialect: "ai-sdk:@acme/none" }, /only for providers of the configuration file/],
    ["a password in the address", { base_url: "http://me:word@acme.example/v1" }, /base_url: without user/],
  ])("is refused with %s, like one of the file", async (_, settings, message) => {
    const { status, body } = await send("POST", "/providers", entry("wrong", settings));
    expect(status).toBe(400);
    expect(body.error?.message).toMatch(message);
    expect(await find("wrong")).toBeUndefined();
  });

  test("with a vendor of the catalogue needs no address, format or models", async () => {
    const made = await send("POST", "/providers", {
      id: "own",
      vendor: "anthropic",
      api_keys: [secret],
      known_models: true,
    });
    expect(made).toMatchObject({ status: 201, body: { data: { problem: null, settings: { vendor: "anthropic" } } } });
    expect(made.body.data?.["models"]).toBeGreaterThan(5);
    await send("DELETE", "/providers/own");
  });

  test("cannot name a variable or a file of the process", async () => {
    const path = join(installation.dataDir, "secrets.json");
    acme.script([chatAnswer({ content: "Hello" })]);
    await send("POST", "/providers", entry("literal", { api_keys: [`\${file:${path}}`] }));
    expect(statuses(await ask("literal/large-2"))).toEqual([200]);
    expect(acme.requests.at(-1)?.headers["authorization"]).toBe(`Bearer \${file:${path}}`);
    await send("DELETE", "/providers/literal");
  });

  test("is refused by its id when the database has a provider with this id", async () => {
    await send("POST", "/providers", entry("twice"));
    expect((await send("POST", "/providers", entry("twice"))).status).toBe(409);
    await send("DELETE", "/providers/twice");
  });
});

describe("a provider of the configuration file", () => {
  test("takes precedence over a stored one with the same id, and the list reports it", async () => {
    const { status } = await send("POST", "/providers", entry("filed"));
    expect(status).toBe(400);
    const file = await find("filed", "file");
    expect(file).toMatchObject({
      problem: null,
      models: 1,
      api_key_ends: [],
      settings: { base_url: `${other.url}/v1` },
    });
    expect(JSON.stringify(file)).not.toContain("sk-of-the-file");
  });

  test("is replaced by the stored one while its variables are not set", async () => {
    acme.script([chatAnswer({ content: "Hello" })]);
    await send("POST", "/providers", entry("absent"));
    expect(await find("absent", "file")).toMatchObject({ problem: "ABSENT_KEY is not set" });
    expect(statuses(await ask("absent/large-2"))).toEqual([200]);
    await send("DELETE", "/providers/absent");
  });

  test("is listed with the reason when it cannot serve without its package", async () => {
    expect(await find("odd", "file")).toMatchObject({
      problem: expect.stringMatching(/not installed/),
      settings: { dialect: "ai-sdk:@acme/none" },
    });
  });

  test("takes over from a stored one when the file changes", async () => {
    await send("POST", "/providers", entry("moving"));
    const path = join(installation.dataDir, "sluice.yaml");
    const before = readFileSync(path, "utf8");
    const added = `\n  - {id: moving, dialect: chat, base_url: "${other.url}/v1"}\nmodels:`;
    writeFileSync(path, before.replace("\nmodels:", added));
    await eventually(async () => /the configuration file names/.test(String((await find("moving"))?.["problem"])));
    writeFileSync(path, before);
    await eventually(async () => (await find("moving"))?.["problem"] === null);
    await send("DELETE", "/providers/moving");
  });
});

test("only management keys of the account see and change how providers are configured", async () => {
  for (const key of [await makeManager(installation), installation.apiKey]) {
    expect((await send("GET", "/providers/configured", undefined, key)).status).toBe(403);
    expect((await send("POST", "/providers", entry("acme"), key)).status).toBe(403);
    expect((await send("PATCH", "/providers/acme", { name: "A" }, key)).status).toBe(403);
    expect((await send("DELETE", "/providers/acme", undefined, key)).status).toBe(403);
  }
});

test("providers created over gRPC are tested like those of the configuration file", async () => {
  const client = dial(`127.0.0.1:${installation.ports.inference}`);
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${installation.managementKey}`);
  const { createProvider } = InferenceService.method;
  const settingsJson = Buffer.from(JSON.stringify(entry("rpc")));
  const { provider } = await call(
    client,
    createProvider,
    create(createProvider.input, { settingsJson }),
    metadata,
    20_000,
  );
  client.close();
  expect(provider).toMatchObject({ id: "rpc", source: "database", keyEnds: ["x7Qd"] });
  acme.script([{ status: 401, chunks: [{ json: { error: { message: `no such key: ${secret}` } } }] }]);
  const tried = await send("POST", "/providers/rpc/test", {});
  expect(tried.body.data).toMatchObject({ ok: false, cause: { kind: "refused", status: 401 } });
  expect(JSON.stringify(tried)).not.toContain(secret);
  await send("DELETE", "/providers/rpc");
});

describe("the providers command", () => {
  async function admin(isRemote: boolean, ...args: string[]) {
    const { baseUrl: url, managementKey: key, databaseUrl } = installation;
    let text = "";
    const output = { write: (part: string) => (text += part) };
    const code = await runCli(["providers", ...args], {
      ...(isRemote ? { remote: { url, key } } : { databaseUrl }),
      stdout: output,
      stderr: output,
    });
    return { code, text };
  }

  test("adds, lists, changes, tests and deletes providers of a running installation", async () => {
    const keys = join(installation.dataDir, "keys-of-acme");
    writeFileSync(keys, `${secret}\n`);
    const at = ["--dialect", "chat", "--base-url", `${acme.url}/v1`, "--api-keys", keys];
    expect(await admin(true, "create", "typed", ...at, "--model", "large-2", "--model", "small")).toEqual({
      code: 0,
      text: "typed serves 2 models\n",
    });
    const { text } = await admin(true, "list");
    expect(text).toMatch(/^typed +database +2 +\.\.\.x7Qd +http:.* -$/m);
    expect(text).toMatch(/^filed +file +1 +- +http/m);
    expect((await admin(true, "update", "typed", "--model", "small")).text).toBe("typed changed, and serves 1 model\n");
    acme.script([chatAnswer({ content: "Yes." })]);
    expect((await admin(true, "test", "typed")).text).toMatch(/^typed\/small answered in \d+ ms\n$/);
    expect((await admin(true, "delete", "typed")).text).toBe("typed deleted\n");
  });

  test("lists and deletes providers in the database, in force in every process", async () => {
    await send("POST", "/providers", entry("direct"));
    expect((await admin(false, "list")).text).toMatch(/^direct +database/m);
    expect(await admin(false, "create", "direct")).toMatchObject({
      code: 1,
      text: expect.stringContaining("SLUICE_URL"),
    });
    expect((await admin(false, "delete", "direct")).code).toBe(0);
    await eventually(async () => (await find("direct")) === undefined);
  });
});
