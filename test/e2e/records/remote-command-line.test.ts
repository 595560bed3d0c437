/** The command line: names and beginnings of hashes and ids, completion, and the same commands at another Sluice over HTTP. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { Profiles, profilesFolder } from "@sluice/admin-svc/cli/remote/profiles.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, makeManager, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { startUpstream } from "../../support/providers/upstream.ts";
import { freePort } from "../../support/runner/free-ports.ts";

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation?.stop());

const scratch = mkdtempSync(join(tmpdir(), "sluice-profiles-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(remote: { url: string; key: string | undefined } | undefined, args: string[]): Promise<Finished> {
  let stdout = "";
  let stderr = "";
  const code = await runCli(args, {
    ...(remote ? { remote } : { databaseUrl: installation.databaseUrl }),
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

const local = (...args: string[]) => run(undefined, args);
const remote = (...args: string[]) => run({ url: installation.baseUrl, key: installation.managementKey }, args);

async function json<Value>(from: typeof local, ...args: string[]): Promise<Value> {
  const { code, stdout, stderr } = await from(...args, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Value;
}

interface Row {
  readonly key: string;
  readonly hash: string;
  readonly id: string;
  readonly name: string;
  readonly limit: number | null;
  readonly disabled: boolean;
}

describe.each([
  ["on the database", local],
  ["at another Sluice", remote],
])("the command line %s", (where, admin) => {
  const named = (name: string) => `${name} ${where}`;
  const make = (name: string, ...options: string[]) =>
    json<Row>(admin, "keys", "create", "--name", named(name), ...options);

  test("makes a working key, and finds it by name and by the beginning of its hash", async () => {
    const { key, hash } = await make("one", "--limit", "5", "--limit-reset", "monthly");
    expect(hashKey(key)).toBe(hash);
    const turn = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input: "Hello" }),
    });
    expect(turn.status).toBe(200);
    for (const text of [hash, hash.slice(0, 16), named("one")]) {
      expect(await json<Row>(admin, "keys", "show", text)).toMatchObject({ hash, limit: 5 });
    }
    const { stdout } = await admin("keys", "list", "--search", named("one"));
    expect(stdout).toMatch(/LIMIT USD +.*SPENT USD +REMAINING USD +LAST USED/);
    expect(stdout).toContain(hash);
  });

  test("changes, rotates and revokes a key", async () => {
    const { hash } = await make("two");
    expect(await admin("keys", "update", named("two"), "--disable", "--limit", "2.5")).toMatchObject({ code: 0 });
    expect(await json<Row>(admin, "keys", "show", hash)).toMatchObject({ disabled: true, limit: 2.5 });
    expect(await admin("keys", "update", named("two"), "--enable", "--no-limit")).toMatchObject({ code: 0 });
    const rotated = await json<Row>(admin, "keys", "rotate", hash, "--overlap-seconds", "60");
    expect(rotated).toMatchObject({ name: named("two") });
    expect(await admin("keys", "revoke", rotated.hash)).toMatchObject({ code: 0 });
    const found = await admin("keys", "show", named("two"));
    expect(found.stdout).toContain(hash);
  });

  test("lists all records with an ambiguous name", async () => {
    const [first, second] = [await make("twin"), await make("twin")];
    const { code, stderr } = await admin("keys", "show", named("twin"));
    expect(code).toBe(1);
    expect(stderr).toContain("is ambiguous; give more of the hash:");
    for (const { hash } of [first, second]) expect(stderr).toContain(`  ${named("twin")}  ${hash.slice(0, 16)}`);
    expect(await admin("keys", "show", "nobody")).toMatchObject({
      code: 1,
      stderr: "no such key: nobody; `keys list` shows hashes and names\n",
    });
  });

  test("makes a guardrail, and finds it by name and by the beginning of its id", async () => {
    const { hash } = await make("guarded");
    const rules = ["--block", "secret-\\d+", "--label", "code", "--builtin", "email=redact", "--applies-to", "both"];
    const { id } = await json<Row>(admin, "guardrails", "create", "--name", named("rules"), ...rules);
    for (const text of [id, id.slice(0, 13), named("rules")]) {
      const shown = await json<{ id: string; content_filters: object[] }>(admin, "guardrails", "show", text);
      expect(shown).toMatchObject({ id, content_filters: [{ pattern: "secret-\\d+", label: "code" }] });
    }
    const assigned = await admin("guardrails", "assign", named("rules"), named("guarded"), hash.slice(0, 12));
    expect(assigned.stdout).toMatch(/^1 of \d keys assigned/);
    expect(await json<object[]>(admin, "guardrails", "assignments", named("rules"))).toMatchObject([
      { key_hash: hash },
    ]);
    expect((await admin("guardrails", "update", named("rules"), "--mode", "audit")).stdout).toContain(`${id} changed`);
    expect((await admin("guardrails", "unassign", named("rules"), hash)).stdout).toMatch(/^1 of 1 keys unassigned/);
    expect((await admin("guardrails", "delete", named("rules"))).stdout).toContain(`${id} deleted`);
    expect(await admin("guardrails", "show", named("rules"))).toMatchObject({
      code: 1,
      stderr: `no such guardrail: ${named("rules")}; \`guardrails list\` shows ids and names\n`,
    });
  });

  test("registers an end user, and shows the audit log", async () => {
    expect((await admin("end-users", "create", named("anna"))).stdout).toBe(`${named("anna")} registered\n`);
    expect((await admin("end-users", "deactivate", named("anna"))).stdout).toBe(`${named("anna")} is now inactive\n`);
    expect((await admin("end-users", "show", named("anna"))).stdout).toBe(`${named("anna")} is inactive\n`);
    expect((await admin("end-users", "list")).stdout).toContain(named("anna"));
    const entries = await json<object[]>(admin, "audit", "list", "--target", named("anna"));
    expect(entries).toMatchObject([{ action: "end-users.update" }, { action: "end-users.create" }]);
    expect((await admin("audit", "verify")).code).toBe(0);
  });

  test("saves a view of the explorer, lists and deletes it", async () => {
    expect((await admin("views", "put", named("errors"), "tab=errors")).stdout).toBe(`${named("errors")} made\n`);
    expect((await admin("views", "put", named("errors"), "tab=errors")).stdout).toBe(
      `${named("errors")} was so already\n`,
    );
    expect((await admin("views", "list")).stdout).toMatch(new RegExp(`${named("errors")} .* tab=errors`));
    expect((await admin("views", "delete", named("errors"))).stdout).toBe(`${named("errors")} deleted\n`);
    expect(await admin("views", "delete", named("errors"))).toMatchObject({ code: 1 });
  });

  test("lists calls, shows one, and sums usage over time", async () => {
    const { key, hash } = await make("calling");
    const answer = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input: "Hello" }),
    });
    const [generation, request] = [answer.headers.get("x-generation-id"), answer.headers.get("x-request-id")];
    const listed = () => json<{ data: Row[] }>(admin, "calls", "list", "--key", named("calling"));
    await eventually(async () => (await listed()).data.length > 0);
    expect((await listed()).data).toMatchObject([
      { id: generation, key_hash: hash, outcome: "completed", status: 200 },
    ]);
    expect(await json(admin, "calls", "list", "--key", named("calling"), "--outcome", "refused")).toEqual({
      data: [],
      next_cursor: null,
    });
    for (const id of [generation, request]) {
      expect(await json(admin, "calls", "show", String(id))).toMatchObject({ id: generation, attempts: 1 });
      expect((await admin("calls", "show", String(id))).stdout).toContain(String(generation));
    }
    expect(await admin("calls", "show", "nothing")).toMatchObject({ code: 1 });
    const { totals } = await json<{ totals: object[] }>(admin, "usage", "series", "--by", "key");
    expect(totals).toContainEqual(expect.objectContaining({ value: hash, requests: 1, failures: 0 }));
    const { stdout } = await admin("usage", "series", "--step", "hour", "--by", "model");
    expect(stdout).toMatch(/^AT +MODEL +USD +REQUESTS +FAILURES/);
    expect(stdout).toContain("sluice/echo");
    const ofKey = await admin("usage", "change", "--key", named("calling"));
    expect(ofKey).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(?:The cost|[+-]\$)/) });
    const pairs = await json<{ totals: object[] }>(admin, "usage", "series", "--by", "model,status", "--status", "2xx");
    expect(pairs.totals).toContainEqual(expect.objectContaining({ value: "sluice/echo", second: "200" }));
    const health = await admin("usage", "health");
    expect(health).toMatchObject({ code: 0, stdout: expect.stringMatching(/sluice\/echo +100\.0 % /) });
    expect(await json(admin, "sessions", "list", "--limit", "5")).toMatchObject({ next_cursor: null });
    expect((await json<{ data: object[] }>(admin, "calls", "list", "--q", "ECHO")).data).not.toEqual([]);
  });

  test("refuses a wrong command line with exit code 2 and its usage", async () => {
    for (const args of [
      ["calls", "list", "--status", "ok"],
      ["usage", "series", "--step", "year"],
      ["keys", "create"],
      ["keys", "list", "--sort", "age"],
      ["keys", "update", "x"],
      ["audit", "list", "--from", "yesterday"],
      ["end-users", "create", " x "],
    ]) {
      const { code, stderr } = await admin(...args);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(`usage: admin ${args[0]} ${args[1]}`)]);
    }
  });
});

describe("the command line at a running Sluice", () => {
  test("makes and changes workspaces with a management key of the account", async () => {
    const { key } = await json<Row>(local, "keys", "create", "--management", "--account", "--name", "account");
    const admin = (...args: string[]) => run({ url: installation.baseUrl.replace("/api/v1", "/"), key }, args);
    const { id } = await json<Row>(admin, "workspaces", "create", "--name", "research", "--limit", "9");
    const put = await json<{ readonly data: Row }>(admin, "workspaces", "put", "w-1", "--name", "put", "--limit", "9");
    expect(put).toMatchObject({ created: true, changed: true, data: { name: "put", limit: 9 } });
    expect((await admin("workspaces", "put", "w-1", "--name", "put")).stdout).toBe(`${put.data.id} changed\n`);
    expect((await admin("workspaces", "update", "research", "--no-limit")).stdout).toBe(`${id} changed\n`);
    expect(await json<Row[]>(admin, "workspaces", "list")).toMatchObject([
      { name: "default" },
      { id, limit: null },
      { id: put.data.id, limit: null },
    ]);
    const inside = await json<Row>(admin, "keys", "create", "--name", "first", "--workspace", "research");
    const own = await json<{ keys: Row[] } | Row[]>(local, "keys", "list", "--workspace", "research");
    expect(JSON.stringify(own)).toContain(inside.hash);
    expect((await admin("keys", "list", "--workspace", "nowhere")).stderr).toContain("no such workspace");
    expect((await admin("workspaces", "delete", "research")).stdout).toBe(`${id} deleted\n`);
    expect((await local("workspaces", "delete", "put")).stdout).toContain(`${put.data.id} deleted`);
    expect((await local("workspaces", "delete", "default")).stderr).toContain("cannot be deleted");
    for (const where of [local, admin]) {
      expect(await json<Row[]>(where, "workspaces", "list", "--deleted")).toMatchObject([{ id }, { id: put.data.id }]);
      expect(await where("calls", "list", "--workspace", id)).toMatchObject({ code: 0 });
    }
    const ordinary = await makeManager(installation);
    expect(
      await run({ url: installation.baseUrl, key: ordinary }, ["workspaces", "create", "--name", "mine"]),
    ).toMatchObject({
      code: 1,
      stderr: "Only management keys of the account can make a workspace\n",
    });
  });

  test.each<[string, { url: string; key?: string }, string[], string]>([
    ["without a key", { url: "https://localhost" }, ["keys", "list"], "SLUICE_MANAGEMENT_KEY is not set"],
    ["with a wrong address", { url: "localhost" }, ["keys", "list"], "SLUICE_URL: must be an address"],
    [
      "for what the database alone knows",
      { url: "http://x", key: "mk" },
      ["ledger", "check"],
      "ledger check works on the database alone: unset SLUICE_URL",
    ],
  ])("reports the reason for a failure of %s", async (_, { url, key }, args, message) => {
    const { code, stdout, stderr } = await run({ url, key }, args);
    expect([code > 0, stdout, stderr]).toEqual([true, "", expect.stringContaining(message)]);
  });

  test("tries a guardrail on a text, which the database by itself cannot do", async () => {
    await remote("guardrails", "create", "--name", "trial", "--builtin", "email=redact", "--block", "code-\\d+");
    const { code, stdout } = await remote("guardrails", "try", "trial", "Write to ann@example.com");
    expect([code, stdout.split("\n")[0]]).toEqual([0, "redacted"]);
    expect(stdout).not.toContain("ann@example.com");
    expect(stdout).toMatch(/^RULE +ACTION +ENGINE +FROM +TO$/m);
    expect(stdout).toMatch(/^email +redact /m);
    const blocked = await remote("guardrails", "try", "trial", "code-12");
    expect(blocked.stdout.split("\n").slice(0, 2)).toEqual(["blocked", expect.stringContaining("content filter")]);
    expect(await json(remote, "guardrails", "try", "trial", "nothing", "--side", "input")).toMatchObject({
      decision: "allowed",
      text: "nothing",
    });
    expect(await remote("guardrails", "try", "trial", "x", "--side", "both")).toMatchObject({ code: 2 });
    expect(await local("guardrails", "try", "trial", "x")).toMatchObject({
      code: 1,
      stderr: "guardrails try asks a running Sluice: set SLUICE_URL and SLUICE_MANAGEMENT_KEY\n",
    });
  });

  test("puts records by external ids, and prints the result", async () => {
    const put = ["keys", "put", "team/one", "--name", "team one"];
    const made = await remote(...put, "--limit", "5");
    expect(made.stdout).toMatch(/^key {3}sk-sl-\w+\nhash {2}\w{64}\n/);
    const hash = /hash {2}(\w+)/.exec(made.stdout)?.[1] as string;
    expect((await remote(...put, "--limit", "5")).stdout).toBe(`${hash} was so already\n`);
    expect((await remote(...put)).stdout).toBe(`${hash} changed\n`);
    expect(await json(remote, ...put)).toMatchObject({ created: false, changed: false, data: { hash, limit: null } });
    const rules = ["guardrails", "put", "rules", "--name", "rules", "--block", "secret"];
    expect((await remote(...rules)).stdout).toMatch(/^[0-9a-f-]{36} made\n$/);
    expect((await remote(...rules)).stdout).toMatch(/^[0-9a-f-]{36} was so already\n$/);
    expect(await remote("keys", "put", "--name", "x")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("missing argument: EXTERNAL_ID"),
    });
    const ordinary = { url: installation.baseUrl, key: await makeManager(installation) };
    expect(await run(ordinary, ["workspaces", "put", "w", "--name", "w"])).toMatchObject({ code: 1 });
    expect(await local(...put)).toMatchObject({ code: 1, stderr: expect.stringContaining("set SLUICE_URL") });
  });

  test("names an address that cannot be reached", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await run({ url, key: installation.managementKey }, ["keys", "list"]);
    expect([code, stderr]).toEqual([1, `${url} cannot be reached: ECONNREFUSED\n`]);
  });

  test("reports the refusal of its key", async () => {
    const { code, stderr } = await run({ url: installation.baseUrl, key: installation.apiKey }, ["keys", "list"]);
    expect([code, stderr]).toEqual([1, "Only management keys can perform this operation\n"]);
  });

  test("reads the address and key of Sluice from the environment", async () => {
    const environment = {
      ...process.env,
      SLUICE_URL: installation.baseUrl,
      SLUICE_MANAGEMENT_KEY: installation.managementKey,
    };
    const program = new URL("../../../../admin-svc/bundle/cli.js", import.meta.url).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, [program, "keys", "list"], { env: environment });
    expect(stdout).toMatch(/^NAME +LABEL/);
  });
});

describe("completion of the command line", () => {
  const complete = async (line: string): Promise<string[]> => {
    const { stdout: script } = await local("completion", "bash");
    const words = line.split(" ");
    const call = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _sluice_admin`;
    const { stdout } = await promisify(execFile)("bash", [
      "-c",
      `${script}\n${call}; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]);
    return stdout.trim().split("\n");
  };

  test("in bash knows nouns, verbs and options", async () => {
    expect(await complete("admin key")).toEqual(["keys"]);
    expect(await complete("admin keys ro")).toEqual(["rotate"]);
    expect(await complete("admin keys rotate x --o")).toEqual(["--overlap-seconds"]);
    expect(await complete("admin guardrails create --bl")).toEqual(["--block", "--blocked-message"]);
    expect(await complete("admin bootstrap --j")).toEqual(["--json"]);
  });

  test("for a program with another name has its name and its further commands", async () => {
    const options = {
      program: { name: "sluice", further: ["doctor"] },
      stdout: { write: (text: string) => (script += text) },
    };
    let script = "";
    expect(await runCli(["completion", "bash"], { ...options, stderr: options.stdout })).toBe(0);
    expect(script).toContain("complete -F _sluice_sluice sluice\n");
    expect(script).toMatch(/^ +words="keys .* doctor"$/m);
  });

  test.each(["zsh", "fish"])("in %s names every noun", async (shell) => {
    const { code, stdout } = await local("completion", shell);
    expect(code).toBe(0);
    for (const noun of ["keys", "guardrails", "workspaces", "audit"]) expect(stdout).toContain(noun);
  });

  test("for another shell is refused as an unknown command", async () => {
    expect(await local("completion", "ksh")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown shell: ksh"),
    });
  });
});

interface ProfileRun {
  /** Folder for the settings of the user. */
  readonly folder: string;
  /** Value of SLUICE_PROFILE. */
  readonly profile?: string;
  /** Value of SLUICE_MANAGEMENT_KEY. */
  readonly key?: string;
  /** Text of standard input. */
  readonly typed?: string;
  /** Whether standard input is a terminal. */
  readonly isTTY?: boolean;
  readonly databaseUrl?: string;
  readonly remote?: { url: string; key: string };
}

async function runWithProfiles({ folder, profile, key, typed, isTTY, ...where }: ProfileRun, ...args: string[]) {
  let stdout = "";
  let stderr = "";
  const stdin = Object.assign(Readable.from(typed === undefined ? [] : [typed]), { isTTY });
  const code = await runCli(args, {
    ...where,
    profiles: { folder: profilesFolder({ XDG_CONFIG_HOME: folder }), profile, key, stdin },
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

describe("profiles of the command line", () => {
  let folders = 0;
  const emptyFolder = () => join(scratch, String(++folders));
  const login = async (folder: string, ...options: string[]) => {
    const typed = `${installation.managementKey}\n`;
    const { code, stderr } = await runWithProfiles({ folder, typed }, "login", installation.baseUrl, ...options);
    expect([code, stderr]).toEqual([0, ""]);
  };
  const namesIn = async (folder: string) => {
    const { stdout } = await runWithProfiles({ folder }, "profiles", "--json");
    return (JSON.parse(stdout) as Row[]).map(({ name }) => name);
  };

  test("are stored by login in files that only their owner reads, and never printed with their key", async () => {
    const folder = emptyFolder();
    await login(folder);
    await login(folder, "--profile", "prod");
    const own = join(folder, "sluice", "profiles");
    expect(statSync(own).mode & 0o777).toBe(0o700);
    expect(readdirSync(own).sort()).toEqual(["default.json", "prod.json"]);
    expect(statSync(join(own, "prod.json")).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(own, "prod.json"), "utf8"))).toHaveProperty("key", installation.managementKey);
    const listed = await runWithProfiles({ folder }, "profiles");
    expect(listed.stdout).toMatch(/^NAME +URL\ndefault +http.*\nprod +http/);
    expect(listed.stdout).not.toContain(installation.managementKey);
    expect((await runWithProfiles({ folder }, "profiles", "--json")).stdout).not.toContain(installation.managementKey);
  });

  test("are all stored when several logins run at once", async () => {
    const folder = emptyFolder();
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    await Promise.all(names.map((name) => login(folder, "--profile", name)));
    expect(await namesIn(folder)).toEqual(names);
  });

  test("are chosen by --profile, then SLUICE_URL, then SLUICE_PROFILE, and never without a choice", async () => {
    const folder = emptyFolder();
    await login(folder);
    await login(folder, "--profile", "prod");
    const name = "seen through a profile";
    expect((await remote("keys", "create", "--name", name)).code).toBe(0);
    const unreachable = { url: "http://127.0.0.1:1", key: "mk-sl-none" };
    const list = async (given: Omit<ProfileRun, "folder">, ...options: string[]) => {
      const { stdout, stderr } = await runWithProfiles({ folder, ...given }, "keys", "list", ...options);
      return stdout.includes(name) ? "listed" : stderr;
    };
    expect(await list({ remote: unreachable }, "--profile", "prod")).toBe("listed");
    expect(await list({ profile: "staging" }, "--profile=prod")).toBe("listed");
    expect(await list({ remote: unreachable, profile: "prod" })).toContain("http://127.0.0.1:1 cannot be reached");
    const noDatabase = "postgres://nobody@127.0.0.1:1/none";
    expect(await list({ databaseUrl: noDatabase, profile: "prod" })).toBe("listed");
    expect(await list({ databaseUrl: noDatabase })).not.toBe("listed");
    expect(await list({})).toBe("DATABASE_URL is not set\n");
    expect(await list({ profile: "staging" })).toBe("no such profile: staging; one of default, prod\n");
    expect(await list({}, "--profile", "--json")).toBe("--profile: the name of a profile\n");
    expect(await list({}, "--profile", "../prod")).toContain("--profile: 1 to 64 letters");
  });

  test.each([
    [{}, ["--profile", "prod"], "leave out --profile"],
    [{ profile: "prod" }, [], "unset SLUICE_PROFILE"],
  ])("with %j %j are refused to commands that need the database", async (given, options, remedy) => {
    const folder = emptyFolder();
    await login(folder, "--profile", "prod");
    const { databaseUrl } = installation;
    const checked = await runWithProfiles({ folder, databaseUrl, ...given }, "ledger", "check", ...options);
    expect([checked.code, checked.stderr]).toEqual([1, `ledger check works on the database alone: ${remedy}\n`]);
  });

  test("are removed by logout, whatever SLUICE_PROFILE is", async () => {
    const folder = emptyFolder();
    await login(folder);
    await login(folder, "--profile", "prod");
    expect((await runWithProfiles({ folder, profile: "prod" }, "logout")).code).toBe(0);
    expect(await namesIn(folder)).toEqual(["prod"]);
    expect((await runWithProfiles({ folder }, "logout")).stderr).toBe("no such profile: default; one of prod\n");
  });

  test("are not replaced by a login at another address", async () => {
    const folder = emptyFolder();
    await login(folder, "--profile", "prod");
    const address = installation.baseUrl.replace("127.0.0.1", "localhost");
    const other = await runWithProfiles({ folder, typed: "mk-sl-x" }, "login", address, "--profile", "prod");
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("profile prod is http")]);
    await login(folder, "--profile", "prod");
  });

  test("take a typed key, or without one the key of the environment", async () => {
    const folder = emptyFolder();
    const { managementKey, baseUrl } = installation;
    const wrong = await runWithProfiles({ folder, typed: "mk-sl-wrong\n", key: managementKey }, "login", baseUrl);
    expect(wrong.code).toBe(1);
    expect((await runWithProfiles({ folder, typed: "\n", key: managementKey }, "login", baseUrl)).code).toBe(0);
    expect((await runWithProfiles({ folder, key: managementKey }, "login", baseUrl)).code).toBe(0);
  });

  test("ask for the key at a terminal, without showing it", async () => {
    const { managementKey, baseUrl } = installation;
    const folder = emptyFolder();
    const asked = await runWithProfiles({ folder, typed: `${managementKey}\r`, isTTY: true }, "login", baseUrl);
    expect([asked.code, asked.stderr]).toEqual([0, "management key: \n"]);
    expect(asked.stdout).not.toContain(managementKey);
  });

  test.each([
    ["of an installation that does not answer", "http://127.0.0.1:1", "mk-sl-none", "cannot be reached"],
    ["of an address that is none", "sluice.example.com", "mk-sl-none", "URL: must be an address"],
    ["of an address with a password", "http://ann:secret-word@127.0.0.1:1", "mk-sl-none", "URL: must be an address"],
    ["of an address with a query", "http://127.0.0.1:1/?a=b", "mk-sl-none", "URL: must be an address"],
    ["with a key that is unknown", undefined, "mk-sl-none", "key"],
    ["without a key", undefined, "", "no key was given"],
  ])("are not stored by a login that is refused: %s", async (_, url, key, message) => {
    const folder = emptyFolder();
    const typed = `${key}\n`;
    const refused = await runWithProfiles({ folder, typed }, "login", url ?? installation.baseUrl);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(refused.stderr).not.toContain("secret-word");
    expect(await namesIn(folder)).toEqual([]);
  });

  test("are not stored by a login with an inference key", async () => {
    const { key } = await json<Row>(remote, "keys", "create", "--name", "no manager");
    const refused = await runWithProfiles({ folder: emptyFolder(), typed: key }, "login", installation.baseUrl);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("is not a management key")]);
  });

  test("are not stored by a login at a server other than Sluice", async () => {
    const upstream = await startUpstream([{ chunks: [{ json: {} }] }]);
    try {
      const refused = await runWithProfiles({ folder: emptyFolder(), typed: "mk-sl-x" }, "login", upstream.url);
      expect([refused.code, refused.stderr]).toEqual([1, `${upstream.url}: no answer of Sluice\n`]);
    } finally {
      await upstream.stop();
    }
  });

  test.each(["{", "[]", '{"url":1,"key":"mk"}', '{"url":"http://x"}'])(
    "are named in the error when their file has %s",
    async (text) => {
      const folder = emptyFolder();
      await login(folder);
      const path = join(folder, "sluice", "profiles", "default.json");
      writeFileSync(path, text);
      const { code, stderr } = await runWithProfiles({ folder }, "keys", "list", "--profile", "default");
      expect([code, stderr]).toEqual([1, `${path} cannot be read: it is not a profile\n`]);
    },
  );

  test("are not stored for a user without a home folder", () => {
    expect(profilesFolder({ XDG_CONFIG_HOME: "relative" })).not.toContain("relative");
    expect(() => new Profiles(undefined).set("x", { url: "http://x", key: "mk" })).toThrow("need a home folder");
    expect(new Profiles(undefined).list()).toEqual(new Map());
  });
});
