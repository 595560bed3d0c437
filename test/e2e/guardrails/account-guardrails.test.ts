/** Guardrails of the whole account in an installation with two workspaces, two gateways and two inference processes. */
import type { Client } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type InstallationProcess, serviceSecrets, startGateway } from "../../support/members.ts";
import { type Installation, makeManager, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { validateError } from "../../support/answers/published.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { parseSse } from "../../support/answers/sse.ts";

interface Answer {
  readonly data: { readonly id: string; readonly [field: string]: unknown };
  readonly error: { readonly message: string };
  readonly service_metadata: { readonly pipeline: readonly object[] };
  readonly guardrails: readonly object[];
}

let installation: Installation;
let second: InstallationProcess;
let processes: readonly Client[];
/** Management keys of the account, and of another workspace. */
let account: string;
let foreignManager: string;
let foreignKey: string;

beforeAll(async () => {
  installation = await startInstallation({
    inferenceReplicas: 2,
    environment: serviceSecrets,
    config: `
providers:
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
`,
  });
  const { admin, inference } = installation.ports;
  const inferencePorts = [inference, inference + 100];
  second = await startGateway(installation, admin, inferencePorts);
  processes = inferencePorts.map((port) => dial(`127.0.0.1:${port}`));
  await installation.admin("workspaces", "create", "--name", "other");
  const make = async (...options: string[]) => {
    const { stdout } = await installation.admin("keys", "create", "--name", "k", "--json", ...options);
    return (JSON.parse(stdout) as { key: string }).key;
  };
  account = await make("--management", "--account");
  foreignManager = await make("--workspace", "other", "--management");
  foreignKey = await make("--workspace", "other");
});
afterAll(async () => {
  for (const client of processes ?? []) client.close();
  await second?.stop();
  await installation?.stop();
});

async function send(key: string, method: string, path: string, body?: object, base = installation.baseUrl) {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer };
}

const block = (pattern: string) => ({ pattern, action: "block", label: "Rule" });

async function make(settings: object, key = account): Promise<string> {
  const made = await send(key, "POST", "/guardrails", { name: "g", ...settings });
  expect(made).toMatchObject({ status: 201 });
  return made.body.data.id;
}
const holding = (settings: object) => make({ account_default: true, ...settings });
const turn = (key: string, input: string, base?: string) =>
  send(key, "POST", "/responses", { model: "sluice/echo", input }, base);
/** The gateway that did not answer the change. */
const viaSecond = () => `http://127.0.0.1:${second.port}/api/v1`;

afterEach(async () => {
  const { body } = await send(account, "GET", "/guardrails");
  for (const { id } of body.data as unknown as readonly { id: string }[])
    await send(account, "DELETE", `/guardrails/${id}`);
});

describe("a change of the account's guardrail is in force with its answer", () => {
  test("for keys of every workspace, in both gateways and both inference processes", async () => {
    const id = await holding({ content_filters: [block("round 0")] });
    for (let round = 1; round <= 10; round++) {
      const input = `this is round ${round}!`;
      for (const key of [installation.apiKey, foreignKey]) {
        expect((await turn(key, input)).status).toBe(200);
        expect((await turn(key, input, viaSecond())).status).toBe(200);
      }
      expect(
        (await send(account, "PATCH", `/guardrails/${id}`, { content_filters: [block(`round ${round}!`)] })).status,
      ).toBe(200);
      for (const key of [installation.apiKey, foreignKey]) {
        expect((await turn(key, input)).status).toBe(403);
        expect((await turn(key, input, viaSecond())).status).toBe(403);
        for (const client of processes) {
          expect((await faultOf(runTurn(client, key, turnRequest("sluice/echo", input)))).fault.status).toBe(403);
        }
      }
    }
    await send(account, "PATCH", `/guardrails/${id}`, { account_default: false });
    for (const key of [installation.apiKey, foreignKey])
      expect((await turn(key, "this is round 10!")).status).toBe(200);
    await send(account, "PATCH", `/guardrails/${id}`, { account_default: true });
    expect((await turn(foreignKey, "this is round 10!")).status).toBe(403);
    expect(await send(account, "DELETE", `/guardrails/${id}`)).toMatchObject({ body: { deleted: true } });
    for (const base of [installation.baseUrl, viaSecond()])
      expect((await turn(foreignKey, "this is round 10!", base)).status).toBe(200);
  });

  test("when it is made, listed, shown, changed or deleted on the command line", async () => {
    const { stdout } = await installation.admin(
      "guardrails",
      "create",
      "--name",
      "everywhere",
      "--block",
      "wor(d|t)",
      "--account-default",
    );
    const id = stdout.trim();
    for (const base of [installation.baseUrl, viaSecond()]) {
      await eventually(async () => (await turn(foreignKey, "a word", base)).status === 403);
    }
    expect((await installation.admin("guardrails", "list")).stdout).toMatch(
      new RegExp(`^everywhere .* account .* ${id}$`, "m"),
    );
    expect((await installation.admin("guardrails", "list", "--workspace", "other")).stdout).not.toContain(id);
    expect((await installation.admin("guardrails", "show", id)).stdout).toContain("keys     all of every workspace\n");
    await installation.admin("guardrails", "update", id, "--no-account-default");
    await eventually(async () => (await turn(foreignKey, "a word")).status === 200);
    await installation.admin("guardrails", "update", id, "--account-default");
    await eventually(async () => (await turn(foreignKey, "a word")).status === 403);
    await installation.admin("guardrails", "delete", id);
    await eventually(async () => (await turn(foreignKey, "a word")).status === 200);
    await expect(
      installation.admin(
        "guardrails",
        "create",
        "--workspace",
        "other",
        "--name",
        "x",
        "--block",
        "x",
        "--account-default",
      ),
    ).rejects.toThrow("records of the whole account belong to the default workspace: leave out --workspace");
    await expect(
      installation.admin("keys", "create", "--workspace", "other", "--name", "x", "--management", "--account"),
    ).rejects.toThrow("leave out --workspace");
    await expect(installation.admin("keys", "create", "--name", "x", "--account")).rejects.toThrow(
      "--account: only with --management",
    );
  });
});

describe("a guardrail of the account together with those of workspace and key", () => {
  test("applies with the strictest winning, and each stage names its level", async () => {
    const filter = (pattern: string, action: string) => ({ content_filters: [{ pattern, action }] });
    const ofAccount = await holding(filter("alpha|beta", "redact"));
    const ofWorkspace = await make({ workspace_default: true, ...filter("alpha", "flag") });
    const ofKey = await make(filter("beta", "block"));
    await send(account, "POST", `/guardrails/${ofKey}/assignments/keys`, {
      key_hashes: [hashKey(installation.apiKey)],
    });
    const stage = (guardrail_id: string, guardrail_scope: string, action: string) => ({
      type: "guardrail",
      guardrail_id,
      guardrail_scope,
      data: { action },
    });
    const redacted = await turn(installation.apiKey, "alpha");
    expect([redacted.status, JSON.stringify(redacted.body).includes("alpha said")]).toEqual([200, false]);
    expect(redacted.body.service_metadata.pipeline).toMatchObject([
      stage(ofAccount, "account", "redacted"),
      stage(ofWorkspace, "workspace", "flagged"),
    ]);
    const blocked = await turn(installation.apiKey, "beta");
    expect(blocked.status).toBe(403);
    expect(validateError(403, blocked.body)).toEqual([]);
    expect(blocked.body.service_metadata.pipeline).toMatchObject([stage(ofKey, "api-key", "blocked")]);
    const elsewhere = await turn(foreignKey, "alpha beta");
    expect(elsewhere.body.service_metadata.pipeline).toMatchObject([stage(ofAccount, "account", "redacted")]);
    const dry = await send(foreignKey, "POST", "/responses/dry-run", { model: "sluice/echo", input: "alpha" });
    expect(dry.body.guardrails).toEqual([
      { guardrail_id: ofAccount, guardrail_scope: "account", decision: "redacted" },
    ]);
  });

  test("scans the account's answers, also in a stream", async () => {
    const id = await holding({ applies_to: "output", content_filters: [{ pattern: "word", action: "redact" }] });
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${foreignKey}`,
        "content-type": "application/json",
        "x-service-metadata": "enabled",
      },
      body: JSON.stringify({ model: "sluice/echo", input: "my word", stream: true }),
    });
    const { events } = parseSse(await response.text());
    const deltas = events.flatMap((event) => (event.type === "response.output_text.delta" ? [event["delta"]] : []));
    expect(deltas.join("")).toContain("my [REDACTED]");
    const ended = events.at(-1)?.["response"] as Answer;
    expect(ended.service_metadata.pipeline).toMatchObject([{ guardrail_id: id, guardrail_scope: "account" }]);
  });

  test("only narrows lists of models and data policies", async () => {
    const ofKey = await make({ allowed_models: ["sluice/echo"] });
    await send(account, "POST", `/guardrails/${ofKey}/assignments/keys`, {
      key_hashes: [hashKey(installation.apiKey)],
    });
    const statuses = async () => [
      (await turn(installation.apiKey, "hi")).status,
      (await turn(foreignKey, "hi")).status,
    ];
    expect(await statuses()).toEqual([200, 200]);
    const id = await holding({ allowed_models: ["acme/large"] });
    expect(await statuses()).toEqual([403, 403]);
    const change = (settings: object) => send(account, "PATCH", `/guardrails/${id}`, settings);
    await change({ allowed_models: null, ignored_providers: ["sluice"] });
    expect(await statuses()).toEqual([403, 403]);
    await change({ ignored_providers: null, allowed_data_regions: ["europe"] });
    expect(await statuses()).toEqual([403, 403]);
    await change({ allowed_data_regions: null });
    expect(await statuses()).toEqual([200, 200]);
  });
});

describe("a guardrail of the account", () => {
  test("is changed only by management keys of the account; for other workspaces it does not exist", async () => {
    const id = await holding({ content_filters: [block("kept")] });
    const path = `/guardrails/${id}`;
    const ordinary = await makeManager(installation);
    expect((await send(ordinary, "GET", path)).body.data).toMatchObject({ id, account_default: true });
    for (const [method, at, body] of [
      ["PATCH", path, { content_filters: null }],
      ["PATCH", path, { account_default: false }],
      ["DELETE", path],
      ["POST", "/guardrails", { name: "x", account_default: true }],
    ] as const) {
      const answer = await send(ordinary, method, at, body);
      expect([answer.status, answer.body.error.message]).toEqual([
        403,
        "Only management keys of the account can change its guardrails",
      ]);
    }
    for (const [method, at, body] of [
      ["GET", path],
      ["PATCH", path, { name: "x" }],
      ["DELETE", path],
      ["POST", `${path}/assignments/keys`, { key_hashes: [hashKey(foreignKey)] }],
      ["GET", `${path}/assignments/keys`],
    ] as const) {
      expect([method, at, (await send(foreignManager, method, at, body)).status]).toEqual([method, at, 404]);
    }
    expect((await send(foreignManager, "POST", "/guardrails", { name: "x", account_default: true })).status).toBe(403);
    expect((await send(foreignManager, "GET", "/guardrails")).body).toEqual({
      data: [],
      total_count: 0,
      next_cursor: null,
    });
    expect((await turn(foreignKey, "kept")).status).toBe(403);
    expect((await turn(installation.apiKey, "kept")).status).toBe(403);
  });

  test("refuses a wrong account_default, and has no assignments to members", async () => {
    const answer = await send(account, "POST", "/guardrails", { name: "x", account_default: null });
    expect([answer.status, answer.body.error.message]).toEqual([400, "account_default: must be true or false"]);
    const id = await holding({});
    const members = await send(account, "POST", `/guardrails/${id}/assignments/members`, { member_user_ids: ["u"] });
    expect(members).toMatchObject({ status: 404 });
  });
});
