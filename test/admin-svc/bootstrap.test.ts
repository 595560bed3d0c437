/** The bootstrap job before the first start: it makes the schema, the role and one management key, also when it runs repeatedly or concurrently. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { openDatabase, readConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { runtimeRole } from "@sluice/admin-svc/store/postgres/roles.js";
import { KeyKind, hashKey, kindOfKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { type TestDatabase, createDatabase } from "../support/database.ts";

let created: TestDatabase;
beforeEach(async () => {
  created = await createDatabase();
});
afterEach(() => created.drop());

async function admin(args: readonly string[], managementKey?: string) {
  let stdout = "";
  let stderr = "";
  const code = await runCli(args, {
    databaseUrl: created.url,
    managementKey,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

interface Made {
  readonly role: string | null;
  readonly key: string | null;
  readonly hash: string | null;
}

const bootstrap = async (managementKey?: string): Promise<Made> =>
  JSON.parse((await admin(["bootstrap", "--json"], managementKey)).stdout) as Made;

const managers = async (...options: string[]) => {
  const { stdout } = await admin(["keys", "list", "--json", ...options]);
  return (JSON.parse(stdout) as { hash: string; kind: string; account: boolean }[]).filter(
    ({ kind }) => kind === "management",
  );
};

test("bootstrap on an empty database makes a key and prints it, and a repetition does neither", async () => {
  const made = await bootstrap();
  expect(kindOfKey(made.key ?? "")).toBe(KeyKind.MANAGEMENT);
  expect(made).toMatchObject({ role: runtimeRole, hash: hashKey(made.key ?? "") });
  expect(await bootstrap()).toEqual({ role: runtimeRole, key: null, hash: null });
  expect((await admin(["bootstrap"])).stdout).toBe(
    `serving in the role ${runtimeRole}\nthere is a management key already\n`,
  );
  const log = JSON.parse((await admin(["audit", "list", "--json"])).stdout) as object[];
  expect(log).toMatchObject([{ actor: "bootstrap", action: "keys.create", target: made.hash }]);
});

test("five concurrent bootstrap jobs make one key between them", async () => {
  const all = await Promise.all(Array.from({ length: 5 }, () => bootstrap()));
  expect(all.filter(({ key }) => key !== null).length).toBe(1);
  expect((await managers()).length).toBe(1);
});

test("bootstrap replaces a revoked or expired first key, and leaves a key revoked by the operator revoked", async () => {
  const { hash } = await bootstrap();
  await admin(["keys", "revoke", hash ?? ""]);
  expect((await bootstrap()).key).not.toBeNull();
  const chosen = mintKey(KeyKind.MANAGEMENT);
  expect(await bootstrap(chosen)).toMatchObject({ key: null, hash: hashKey(chosen) });
  await admin(["keys", "revoke", hashKey(chosen)]);
  expect(await bootstrap(chosen)).toMatchObject({ key: null, hash: null });
});

test("bootstrap never prints a key chosen by the operator, and refuses an invalid one", async () => {
  const chosen = mintKey(KeyKind.MANAGEMENT);
  const { stdout, code } = await admin(["bootstrap"], chosen);
  expect([code, stdout]).toEqual([0, `serving in the role ${runtimeRole}\nhash  ${hashKey(chosen)}\n`]);
  for (const wrong of [mintKey(KeyKind.INFERENCE), "mk-sl-short"]) {
    const refused = await admin(["bootstrap"], wrong);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("SLUICE_BOOTSTRAP_MANAGEMENT_KEY: not a"),
    });
    expect(refused.stderr).not.toContain(wrong);
  }
});

test("the first bootstrap key of the default workspace has rights over the account, and later ones have none", async () => {
  const first = mintKey(KeyKind.MANAGEMENT);
  const second = mintKey(KeyKind.MANAGEMENT);
  await bootstrap(first);
  await bootstrap(second);
  const account = Object.fromEntries((await managers()).map((key) => [key.hash, key.account]));
  expect(account).toEqual({ [hashKey(first)]: true, [hashKey(second)]: false });
});

test("a printed first key has rights over the account, and a key of another workspace has none", async () => {
  await bootstrap();
  await admin(["workspaces", "create", "--name", "team"]);
  await admin(["bootstrap", "--workspace", "team"]);
  expect([(await managers())[0]?.account, (await managers("--workspace", "team"))[0]?.account]).toEqual([true, false]);
});

test("bootstrap makes a key of a separate workspace", async () => {
  await bootstrap();
  await admin(["workspaces", "create", "--name", "team"]);
  await admin(["bootstrap", "--workspace", "team"]);
  expect((await managers("--workspace", "team")).length).toBe(1);
});

test("schema migrate also grants the runtime role to a service that does not own the database", async () => {
  expect((await admin(["schema", "migrate"])).code).toBe(0);
  const database = openDatabase(created.url, readConnectionLimits, () => {}, { role: runtimeRole });
  expect(await database.selectFrom("api_keys").select("hash").execute()).toEqual([]);
  await database.destroy();
});

test("bootstrap --help prints the usage, as for every command", async () => {
  expect((await admin(["bootstrap", "--help"])).stdout).toMatch(/^usage: admin bootstrap \[--json\]\n/);
  expect((await admin(["--help"])).stdout).toMatch(/^ {2}bootstrap /m);
  expect(await admin(["bootstrap", "now"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("usage: admin bootstrap"),
  });
});
