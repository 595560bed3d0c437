/** Guardrails of a key in addition to the assigned one: they all apply, change at once, and belong to the workspace. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";

interface Answer {
  readonly key: string;
  readonly data: { readonly id: string; readonly hash: string; readonly further_guardrails: readonly string[] | null };
  readonly error: { readonly message: string };
  readonly output: readonly { readonly content: readonly { readonly text: string }[] }[];
  readonly service_metadata: { readonly pipeline: readonly object[] };
}

let installation: Installation;
/** A guardrail of another workspace. */
let foreign: string;

beforeAll(async () => {
  installation = await startInstallation({
    config: `
providers:
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice, pricing: {prompt: "1000", completion: "1000"}}]}
  - {id: sluice/other, endpoints: [{provider: sluice}]}
`,
  });
  await installation.admin("workspaces", "create", "--name", "other");
  const options = ["--workspace", "other", "--name", "f", "--block", "x", "--json"];
  const { stdout } = await installation.admin("guardrails", "create", ...options);
  foreign = (JSON.parse(stdout) as { id: string }).id;
});
afterAll(() => installation?.stop());

async function send(method: string, path: string, body?: object, key = installation.managementKey) {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-service-metadata": "enabled" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Answer };
}

async function made(path: string, body: object): Promise<Answer> {
  const answer = await send("POST", path, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body;
}

const guardrail = async (settings: object) => (await made("/guardrails", { name: "g", ...settings })).data.id;
const rule = (pattern: string, action: string) => ({ content_filters: [{ pattern, action }] });
const keyWith = async (ids: readonly string[] | null) => await made("/keys", { name: "k", further_guardrails: ids });
const turn = (key: string, input: string, model = "sluice/echo") => send("POST", "/responses", { model, input }, key);
const change = (hash: string, ids: readonly string[] | null) =>
  send("PATCH", `/keys/${hash}`, { further_guardrails: ids });

test("the assigned guardrail, additional ones and the defaults all apply to a key, and receipts name the key's", async () => {
  const redacting = await guardrail(rule("heron", "redact"));
  const restricting = await guardrail({ ignored_models: ["sluice/other"] });
  const assigned = await guardrail(rule("swan", "redact"));
  const { key, data } = await keyWith([redacting, restricting]);
  expect(data.further_guardrails).toEqual([redacting, restricting]);
  await send("POST", `/guardrails/${assigned}/assignments/keys`, { key_hashes: [data.hash] });
  const usual = await guardrail({ ...rule("crane", "block"), workspace_default: true });
  const { body } = await turn(key, "a heron and a swan");
  expect(body.output[0]?.content[0]?.text).toContain("a [REDACTED] and a [REDACTED]");
  expect(body.service_metadata.pipeline).toContainEqual(
    expect.objectContaining({ guardrail_id: redacting, guardrail_scope: "api-key" }),
  );
  expect(await turn(key, "Hi", "sluice/other")).toMatchObject({ status: 403 });
  expect(await turn(key, "a crane")).toMatchObject({ status: 403 });
  expect(await send("DELETE", `/guardrails/${usual}`)).toMatchObject({ status: 200 });
});

test("assigning and removing a key's assigned guardrail leaves its additional ones", async () => {
  const [further, assigned] = [await guardrail(rule("heron", "block")), await guardrail({})];
  const { key, data } = await keyWith([further]);
  await send("POST", `/guardrails/${assigned}/assignments/keys`, { key_hashes: [data.hash] });
  expect(await turn(key, "a heron")).toMatchObject({ status: 403 });
  await send("POST", `/guardrails/${assigned}/assignments/keys/remove`, { key_hashes: [data.hash] });
  expect(await turn(key, "a heron")).toMatchObject({ status: 403 });
});

test("changes of a key's list, of its guardrails and their deletion are in force with the next request", async () => {
  const id = await guardrail(rule("heron", "block"));
  const { key, data } = await keyWith(null);
  const client = dial(`127.0.0.1:${installation.ports.inference}`);
  const isRefused = async () => {
    const running = runTurn(client, key, turnRequest("sluice/echo", "a heron"));
    const isOver = await running.over.then(
      () => true,
      () => false,
    );
    const { status } = await turn(key, "a heron");
    expect(status).toBe(isOver ? 200 : 403);
    return status === 403;
  };
  try {
    expect(await isRefused()).toBe(false);
    await change(data.hash, [id]);
    expect(await isRefused()).toBe(true);
    await send("PATCH", `/guardrails/${id}`, rule("crane", "block"));
    expect(await isRefused()).toBe(false);
    await send("PATCH", `/guardrails/${id}`, rule("heron", "block"));
    expect(await isRefused()).toBe(true);
    await change(data.hash, null);
    expect(await isRefused()).toBe(false);
    await change(data.hash, [id]);
    await send("DELETE", `/guardrails/${id}`);
    expect(await isRefused()).toBe(false);
    expect((await send("GET", `/keys/${data.hash}`)).body.data.further_guardrails).toBeNull();
  } finally {
    client.close();
  }
});

test("the budget of an additional guardrail of a key refuses a request", async () => {
  const id = await guardrail({ limit_usd: 0.000_001, reset_interval: "daily" });
  const { key } = await keyWith([id]);
  const refused = { status: 403, body: { error: { message: expect.stringContaining("budget") } } };
  expect(await turn(key, "Hi")).toMatchObject(refused);
});

test("a rotated key has the additional guardrails of the old one, and the command line changes them", async () => {
  const id = await guardrail(rule("heron", "block"));
  const { data } = await keyWith([id]);
  const rotated = await send("POST", `/keys/${data.hash}/rotate`, {});
  expect(rotated.body.data.further_guardrails).toEqual([id]);
  expect(await turn(rotated.body.key, "a heron")).toMatchObject({ status: 403 });
  const { hash } = rotated.body.data;
  expect((await installation.admin("keys", "show", hash)).stdout).toContain(id);
  await installation.admin("keys", "update", hash, "--no-further-guardrails");
  const status = async () => (await turn(rotated.body.key, "a heron")).status;
  await eventually(async () => (await status()) === 200);
  await installation.admin("keys", "update", hash, "--further-guardrails", id);
  await eventually(async () => (await status()) === 403);
});

describe("a key's list of additional guardrails is refused by name", () => {
  const unknown = "00000000-0000-4000-8000-000000000000";
  test.each<[string, () => readonly unknown[], string]>([
    [
      "of a guardrail of another workspace",
      () => [foreign],
      "further_guardrails.0: the workspace has no such guardrail",
    ],
    ["of an unknown guardrail", () => [unknown], "further_guardrails.0: the workspace has no such guardrail"],
    ["of a text that is no id", () => ["birds"], "further_guardrails.0: must be the id of a guardrail"],
    ["without an entry", () => [], "further_guardrails: at least 1 guardrail"],
    ["of eleven", () => Array.from({ length: 11 }, () => unknown), "further_guardrails: at most 10 guardrails"],
  ])("for %s", async (_, ids, message) => {
    const body = { name: "k", further_guardrails: ids() };
    const { data } = await keyWith(null);
    for (const answer of [await send("POST", "/keys", body), await send("PATCH", `/keys/${data.hash}`, body)]) {
      expect(answer).toMatchObject({ status: 400, body: { error: { message: expect.stringContaining(message) } } });
    }
  });
});

test("deleting guardrails while keys get them leaves no id of a deleted one, and no change fails", async () => {
  const keys = await Promise.all(Array.from({ length: 6 }, () => keyWith(null)));
  const ids = await Promise.all(Array.from({ length: 6 }, () => guardrail({})));
  const answers = await Promise.all([
    ...keys.flatMap(({ data }, n) => ids.map((id, m) => change(data.hash, n % 2 === m % 2 ? [id] : ids.toReversed()))),
    ...keys.map(({ data }) => send("POST", `/keys/${data.hash}/rotate`, { overlap_seconds: 60 })),
    ...ids.map((id) => send("DELETE", `/guardrails/${id}`)),
  ]);
  // A list with a deleted guardrail is 400.
  expect(answers.map(({ status }) => status).filter((status) => ![200, 201, 204, 400].includes(status))).toEqual([]);
  for (const { data } of keys) {
    expect((await send("GET", `/keys/${data.hash}`)).body.data.further_guardrails).toBeNull();
  }
});
