/** Keys, teams and customers of LiteLLM are imported as records, once, under their LiteLLM names. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import type { PlanStep } from "@sluice/admin-svc/cli/import/apply.js";
import type { Finding } from "@sluice/admin-svc/cli/import/findings.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { createMigratedDatabase } from "../support/database.ts";
import { root } from "../support/processes.ts";

const fixtures = join(root, "test/fixtures/import");
const folder = mkdtempSync(join(tmpdir(), "sluice-test-import-access-"));
const lists = ["keys", "teams", "customers", "users"];
const files = lists.flatMap((list) => [`--${list}`, join(fixtures, `access/${list}.json`)]);

let created: Awaited<ReturnType<typeof createMigratedDatabase>>;
beforeAll(async () => {
  created = await createMigratedDatabase();
});
afterAll(async () => {
  await created.drop();
  rmSync(folder, { recursive: true });
});

async function run(...argv: string[]) {
  let stdout = "";
  let stderr = "";
  const code = await runCli(argv, {
    databaseUrl: created.url,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

const importRecords = (...more: string[]) =>
  run("import", "litellm", join(fixtures, "litellm-balanced.yaml"), ...files, ...more);

interface Report {
  readonly access: readonly Finding[];
  readonly plan: readonly PlanStep[];
  readonly left_out: readonly { readonly name: string; readonly why: string }[];
}

interface Listed {
  readonly name: string;
  readonly hash: string;
  readonly guardrail_id: string | null;
}

async function json<Shape>(...argv: string[]): Promise<Shape> {
  const { code, stdout, stderr } = await run(...argv, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Shape;
}

const records = async () => ({
  workspaces: await json<object[]>("workspaces", "list"),
  keys: await json<{ name: string }[]>("keys", "list"),
  users: await json<object[]>("end-users", "list"),
});

test("the plan of an import of access records names every record and field, writes nothing and needs no database", async () => {
  const before = await records();
  const { stdout } = await importRecords("--json");
  const { access, plan, left_out: leftOut } = JSON.parse(stdout) as Report;
  expect(plan.map(({ record, workspace, name, done }) => [record, workspace, name, done])).toEqual([
    ["key", null, "sk-...IjKl", null],
    ["key", null, "off", null],
    ["end user", null, "customer-1", null],
    ["end user", null, "customer-2", null],
    ["workspace", null, "research", null],
    ["key", "research", "bot", null],
    ["key", "research", "narrow", null],
    ["workspace", null, "7c1f-closed", null],
    ["key", "7c1f-closed", "bot", null],
  ]);
  expect(leftOut.map(({ name }) => name)).toEqual(["bot", "gone", "lost", "nothing"]);
  const fields = new Set(access.map(({ field }) => field));
  expect([...fields].filter((field) => field.startsWith("keys[4]."))).toEqual(
    ["token", "key_alias", "team_id", "rpm_limit"].map((name) => `keys[4].${name}`),
  );
  expect(access.find(({ field }) => field === "keys[0].invented.field")?.outcome).toBe("not taken");
  expect(access.filter(({ outcome, page }) => outcome === "not taken" && page === undefined)).toEqual([]);
  expect(stdout).not.toMatch(/imported/);
  expect((await importRecords()).stdout).toContain("Nothing is written");
  expect(await records()).toEqual(before);
});

test("an import of access records makes each record once, and writes the secrets to a private file", async () => {
  const secrets = join(folder, "secrets.jsonl");
  const { stdout, code } = await importRecords("--write", "--secrets", secrets);
  expect({ code, secrets: stdout.match(/sk-sl-\w{20}/g) }).toEqual({ code: 0, secrets: null });
  expect(statSync(secrets).mode & 0o777).toBe(0o600);
  const lines = readFileSync(secrets, "utf8").trim().split("\n");
  const made = lines.map((line) => JSON.parse(line) as { workspace: string | null; name: string; key: string });
  expect(made.map(({ workspace, name }) => [workspace, name])).toEqual([
    [null, "sk-...IjKl"],
    [null, "off"],
    ["research", "bot"],
    ["research", "narrow"],
    ["7c1f-closed", "bot"],
  ]);
  const workspaces = await json<object[]>("workspaces", "list");
  expect(workspaces).toContainEqual(expect.objectContaining({ name: "research", limit_reset: "monthly" }));
  const keys = await json<Listed[]>("keys", "list", "--workspace", "research");
  expect(keys.map(({ hash }) => hash).toSorted()).toEqual(
    made
      .filter(({ workspace }) => workspace === "research")
      .map(({ key }) => hashKey(key))
      .toSorted(),
  );
  const bot = keys.find(({ name }) => name === "bot");
  expect(bot).toMatchObject({ limit_reset: "weekly", disabled: false, requests_per_minute: 60, external_user: "ada" });
  const id = keys.find(({ name }) => name === "narrow")?.guardrail_id ?? "";
  const shown = ["guardrails", "show", id, "--workspace", "research"];
  const guardrail = await json<{ allowed_models: readonly string[] }>(...shown);
  expect(guardrail.allowed_models).toEqual(["chat-large"]);
  const closed = await json<object[]>("keys", "list", "--workspace", "7c1f-closed");
  expect(closed).toEqual([expect.objectContaining({ name: "bot", disabled: true, guardrail_id: null })]);
  expect(await json("end-users", "list")).toMatchObject([
    { user: "customer-1", is_active: true },
    { user: "customer-2", is_active: false },
  ]);
  const before = await records();
  const again = JSON.parse((await importRecords("--write", "--json")).stdout) as Report;
  expect(new Set(again.plan.map(({ done }) => done))).toEqual(new Set(["exists"]));
  expect(await records()).toEqual(before);
  expect((await importRecords("--write", "--secrets", secrets)).stderr).toContain("exists already");
});

test("an import of a LiteLLM file without lists of keys and teams has no access records", async () => {
  const { stdout } = await run("import", "litellm", join(fixtures, "litellm-small.yaml"), "--json");
  expect(JSON.parse(stdout)).toMatchObject({ access: [], plan: [], left_out: [] });
});

test.each([
  [["--write"], 2, "--write: only with"],
  [["--keys", "k.json", "--secrets", "s"], 2, "--secrets: only with --write"],
  [["--keys", join(fixtures, "litellm-small.yaml")], 1, "no JSON"],
  [["--keys", join(fixtures, "absent.json")], 1, "cannot be read: ENOENT"],
  [["--teams", join(fixtures, "access/keys.json")], 1, "no list of teams"],
] as const)("the import of access records refuses the command line %j", async (argv, code, message) => {
  const { stderr, ...result } = await run("import", "litellm", join(fixtures, "litellm-small.yaml"), ...argv);
  expect(stderr).toContain(message);
  expect(result).toEqual({ code, stdout: "" });
});

test.each([
  [{ keys: [{ token: "a" }], total_pages: 3 }, "one page of 3"],
  [{ keys: ["hash-1", "hash-2"] }, "return_full_object=true"],
])("the import of access records refuses an invalid list of keys: %j", async (list, message) => {
  const path = join(folder, "list.json");
  writeFileSync(path, JSON.stringify(list));
  const { code, stderr } = await run("import", "litellm", join(fixtures, "litellm-small.yaml"), "--keys", path);
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
});
