/** The command line: created records, printed output and error messages for wrong input. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { KeyKind, hashKey, kindOfKey } from "@sluice/proto/lib/ids/key.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import { CallOperation, CallPayer } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { createDatabase } from "../support/database.ts";
import { usageRecord } from "./usage.ts";

let created: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  created = await createDatabase();
});
afterAll(() => created.drop());

async function run(...argv: string[]) {
  return runAt(created.url, argv);
}

async function runAt(databaseUrl: string | undefined, argv: string[]) {
  let stdout = "";
  let stderr = "";
  const code = await runCli(argv, {
    databaseUrl,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

/** Standard output of a terminal with this number of columns. */
async function runOnTerminal(columns: number, ...argv: string[]): Promise<string> {
  let text = "";
  const stdout = { columns, write: (written: string) => (text += written) };
  expect(await runCli(argv, { databaseUrl: created.url, stdout, stderr: { write: () => {} } })).toBe(0);
  return text;
}

async function json<Shape>(...argv: string[]): Promise<Shape> {
  const { code, stdout, stderr } = await run(...argv, "--json");
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Shape;
}

interface KeyJson {
  key: string;
  hash: string;
  name: string;
  kind: string;
  label: string;
  guardrail_id: string | null;
  revoked_at: string | null;
  expires_at: string | null;
  external_user: string | null;
  disabled: boolean;
}

interface GuardrailJson {
  id: string;
  name: string;
  description: string | null;
  content_filters: { pattern: string; label: string | null; action: string }[];
  key_hashes: string[];
  further_key_hashes: string[];
  keys: number;
  further_keys: number;
}

const listed = async (hash: string) => (await json<KeyJson[]>("keys", "list")).find((row) => row.hash === hash);

describe("the usage command", () => {
  const at = (day: string) => BigInt(Date.parse(`${day}T12:00:00Z`));
  let keyHash: string;
  beforeAll(async () => {
    keyHash = (await json<KeyJson>("keys", "create", "--name", "used")).hash;
    const turnId = randomUUID();
    const database = openDatabase(created.url, writeConnectionLimits, () => {});
    const records = [
      { turnId, attempt: 1, openedAtMs: at("2025-03-01"), model: "acme/small", costUsd: "0.25" },
      { turnId, attempt: 2, openedAtMs: at("2025-03-01"), costUsd: "0.5" },
      { openedAtMs: at("2025-03-02"), costUsd: "1", task: "code" },
      { openedAtMs: at("2025-03-05"), costUsd: "8" },
      { openedAtMs: at("2025-03-02"), costUsd: "16", operation: CallOperation.JUDGE, payer: CallPayer.OPERATOR },
      { openedAtMs: at("2025-03-02"), costUsd: "2", keyHash: "b".repeat(64) },
      { openedAtMs: at("2025-03-02"), costUsd: "4", operation: CallOperation.ADVISOR },
    ];
    await insertUsage(
      database,
      records.map((fields) => toRow(usageRecord({ keyHash, ...fields }))),
    );
    await database.destroy();
  });
  const range = ["--from", "2025-03-01", "--to", "2025-03-02"];

  test("sums by day, both ends included, and counts a turn of two calls as one request", async () => {
    const tokens = { input_tokens: 24, output_tokens: 60 };
    expect(await json("usage", "show", ...range)).toEqual([
      { day: "2025-03-01", cost_usd: 0.75, requests: 1, attempts: 2, ...tokens },
      { day: "2025-03-02", cost_usd: 7, requests: 2, attempts: 3, input_tokens: 36, output_tokens: 90 },
    ]);
  });

  test("counts every turn once, by model and by key, and for a single key", async () => {
    const tokens = { input_tokens: 12, output_tokens: 30 };
    const key = { key_hash: keyHash, key_name: "used" };
    expect(await json("usage", "show", ...range, "--by", "model,key", "--key", "used")).toEqual([
      { model: "acme/large-2", ...key, cost_usd: 5.5, requests: 2, attempts: 3, input_tokens: 36, output_tokens: 90 },
      { model: "acme/small", ...key, cost_usd: 0.25, requests: 0, attempts: 1, ...tokens },
    ]);
  });

  test("sums by operation, and does not count the helper calls of a request as requests", async () => {
    const tokens = { input_tokens: 12, output_tokens: 30 };
    expect(await json("usage", "show", "--from", "2025-03-02", "--to", "2025-03-02", "--by", "operation")).toEqual([
      { operation: "advisor", cost_usd: 4, requests: 0, attempts: 1, ...tokens },
      { operation: "turn", cost_usd: 3, requests: 2, attempts: 2, input_tokens: 24, output_tokens: 60 },
    ]);
  });

  test("sums by task where a task was recorded", async () => {
    const tokens = { input_tokens: 12, output_tokens: 30 };
    expect(await json("usage", "show", "--from", "2025-03-02", "--to", "2025-03-02", "--by", "task")).toEqual([
      { task: "code", cost_usd: 1, requests: 1, attempts: 1, ...tokens },
      { task: null, cost_usd: 6, requests: 1, attempts: 2, input_tokens: 24, output_tokens: 60 },
    ]);
  });

  test("lists the costs that the operator pays", async () => {
    const tokens = { input_tokens: 12, output_tokens: 30 };
    expect(await json("usage", "show", ...range, "--payer", "operator", "--by", "operation")).toEqual([
      { operation: "judge", cost_usd: 16, requests: 0, attempts: 1, ...tokens },
    ]);
    expect((await run("usage", "show", "--payer", "nobody")).stderr).toContain("--payer: key or operator");
  });

  test("shows a series over time for each value of a dimension", async () => {
    const window = ["--from", "2025-03-01", "--to", "2025-03-03"];
    const series = await json<{ data: object[]; totals: object[] }>("usage", "series", ...window, "--by", "model");
    expect(series.totals).toMatchObject([
      {
        value: "acme/large-2",
        cost_usd: "7.500000000000",
        attempts: 4,
        requests: 4,
        failures: 0,
        duration_ms_p50: 1579,
      },
      { value: "acme/small", cost_usd: "0.250000000000", attempts: 1, requests: 1 },
    ]);
    expect(series.data).toHaveLength(3);
    const { stdout } = await run("usage", "series", ...window, "--by", "key", "--limit", "1");
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^AT +KEY +USD +REQUESTS +FAILURES +ATTEMPTS +INPUT TOKENS +OUTPUT TOKENS +FIRST +TIME$/);
    expect(lines[1]).toMatch(/^2025-03-01 +used +0\.75 +2 +0 +2 +24 +60 +395 \/ 395 +1579 \/ 1579$/);
    expect(lines.slice(-2).map((line) => line.split(/ +/).slice(0, 3))).toEqual([
      ["total", "used", "5.75"],
      ["total", "(others)", "2"],
    ]);
    const pairs = await run("usage", "series", ...window, "--by", "key,model", "--key", "used", "--step", "month");
    expect(pairs.stdout).toMatch(/^AT +KEY +MODEL +USD .*\n2025-03-01 +used +acme\/large-2 +13\.5 /);
    const change = ["--from", "2025-03-01", "--to", "2025-03-02", "--model", "acme/large-2"];
    expect((await run("usage", "change", ...change)).stdout).toMatch(
      /^\+\$.* on acme\/large-2: not used before\.\nKEY +MODEL/,
    );
    expect((await run("usage", "health", ...window)).stdout).toMatch(
      /^PROVIDER +MODEL +UPTIME +CALLS .*\n.*acme\/large-2 +100\.0 % /,
    );
    const listed = await json<{ data: object[] }>("sessions", "list", ...window, "--limit", "1");
    expect(listed.data).toMatchObject([{ id: expect.any(String), requests: expect.any(Number) }]);
    expect((await run("sessions", "list", ...window)).stdout).toMatch(
      /^FIRST +LAST +REQUESTS +FAILURES +USD +KEY +MODELS +ID\n2025/,
    );
  });

  test("lists single requests", async () => {
    const page = await json<{ data: { id: string; cost_usd: string }[]; next_cursor: string }>(
      "calls",
      "list",
      "--key",
      "used",
      "--limit",
      "1",
      "--model",
      "acme/large-2",
    );
    expect(page.data.map(({ cost_usd: cost }) => cost)).toEqual(["8.000000000000"]);
    const { stdout } = await run("calls", "list", "--key", "used", "--cursor", page.next_cursor);
    expect(stdout).toMatch(/^AT +ID +KEY +MODEL +PROVIDER +STATUS +OUTCOME +USD +TOKENS +TIME +WHY$/m);
    const id = page.data[0]?.id ?? "";
    expect(await json("calls", "show", id)).toMatchObject({ id, total_cost: 8, provider_responses: [{ status: 200 }] });
    expect((await run("calls", "show", id)).stdout).toMatch(/^1 +acme +acme\/large-2 +200 +1500 ms +8$/m);
    expect((await run("calls", "show", "gen-none")).stderr).toContain("no such request: gen-none");
  });

  test("prints a table unless JSON is requested", async () => {
    const { stdout } = await run("usage", "show", ...range, "--by", "key", "--key", "used");
    expect(stdout.split("\n")[0]).toMatch(/^KEY +NAME +USD +REQUESTS +ATTEMPTS +INPUT TOKENS +OUTPUT TOKENS$/);
    expect(stdout.split("\n")[1]).toMatch(new RegExp(`^${keyHash.slice(0, 16)} +used +5\\.75 +2 +4 +48 +120$`));
  });
});

describe("the keys command", () => {
  test("mints keys without a database", async () => {
    const inference = await runAt(undefined, ["keys", "mint"]);
    expect(inference.code).toBe(0);
    expect(kindOfKey(inference.stdout.trim())).toBe(KeyKind.INFERENCE);
    const management = await runAt(undefined, ["keys", "mint", "--management"]);
    expect(kindOfKey(management.stdout.trim())).toBe(KeyKind.MANAGEMENT);
    expect((await runAt(undefined, ["keys", "list"])).stderr).toBe("DATABASE_URL is not set\n");
  });

  test("prints a key when it creates the key; the list shows the hash and never the key", async () => {
    const made = await json<KeyJson>("keys", "create", "--name", "first");
    expect(hashKey(made.key)).toBe(made.hash);
    expect(kindOfKey(made.key)).toBe(KeyKind.INFERENCE);
    expect(made.label).toBe(`${made.key.slice(0, 10)}...${made.key.slice(-4)}`);
    expect(await listed(made.hash)).toMatchObject({ name: "first", kind: "inference", revoked_at: null });
    const list = await run("keys", "list");
    expect(list.stdout).toContain(made.hash);
    expect(list.stdout).not.toContain(made.key);
    expect((await json<KeyJson>("keys", "create", "--name", "m", "--management")).key).toMatch(/^mk-sl-/);
    const people = await run("keys", "create", "--name", "p", "--expires-at", "2999-01-31T00:00:00Z");
    const [, key = ""] = /^key +(\S+)$/m.exec(people.stdout) ?? [];
    expect(await listed(hashKey(key))).toMatchObject({ expires_at: "2999-01-31T00:00:00.000Z" });
  });

  test("gives a rotated key all settings of the old one, and revokes the old one", async () => {
    const old = await json<KeyJson>("keys", "create", "--name", "worker", "--external-user", "someone");
    await run("keys", "update", old.hash, "--disable");
    const { id } = await json<GuardrailJson>("guardrails", "create", "--name", "g", "--block", "x");
    await run("guardrails", "assign", id, old.hash);
    const fresh = await json<KeyJson>("keys", "rotate", old.hash);
    expect(fresh.key).not.toBe(old.key);
    expect(await listed(fresh.hash)).toMatchObject({
      name: "worker",
      guardrail_id: id,
      revoked_at: null,
      disabled: true,
      external_user: "someone",
    });
    expect(await listed(old.hash)).toMatchObject({ guardrail_id: null, revoked_at: expect.any(String) });
    const again = await run("keys", "rotate", old.hash);
    expect(again).toEqual({ code: 1, stdout: "", stderr: "no such key, or it is revoked\n" });
  });

  test("takes a hash, a prefix of it, or a name; an ambiguous one is refused with the candidates", async () => {
    const [one, other] = [
      await json<KeyJson>("keys", "create", "--name", "twin"),
      await json<KeyJson>("keys", "create", "--name", "twin"),
    ];
    expect(await json<KeyJson>("keys", "show", one.hash.slice(0, 12))).toMatchObject({ hash: one.hash });
    const ambiguous = await run("keys", "revoke", "twin");
    expect(ambiguous).toMatchObject({ code: 1, stdout: "" });
    for (const { hash } of [one, other]) expect(ambiguous.stderr).toContain(hash.slice(0, 16));
    await run("keys", "revoke", other.hash.slice(0, 12));
    expect(await json<KeyJson>("keys", "show", "twin")).toMatchObject({ hash: one.hash, revoked_at: null });
    const { id } = await json<GuardrailJson>("guardrails", "create", "--name", "by name", "--block", "x");
    await run("guardrails", "assign", id, "twin");
    expect(await listed(one.hash)).toMatchObject({ guardrail_id: id });
    expect(await run("keys", "update", "twin", "--name", "single")).toMatchObject({ code: 0 });
    expect((await run("keys", "show", "twin")).stdout).toContain(other.hash);
    expect((await run("keys", "show", "singel")).stderr).toBe("no such key: singel; did you mean single?\n");
    expect((await run("keys", "list", "--workspace", "defualt")).stderr).toBe(
      "no such workspace: defualt; did you mean default?\n",
    );
    for (const none of ["nobody", "sk-sl-abc", one.hash.slice(0, 3)]) {
      expect(await run("keys", "revoke", none)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("no such key"),
      });
    }
  });

  test("prints a list as wide as the terminal, with names first and hashes cut", async () => {
    const { hash } = await json<KeyJson>("keys", "create", "--name", "翻訳サービス");
    const whole = (await run("keys", "list")).stdout;
    expect(whole).toMatch(new RegExp(`^翻訳サービス .*${hash}$`, "m"));
    const lines = (await runOnTerminal(180, "keys", "list")).split("\n");
    expect(lines[0]).toMatch(/^NAME .* HASH$/);
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^翻訳サービス .*${hash.slice(0, 12)}…$`)));
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(180);
  });

  test("prints a key's budget, spend and remainder in the list and in a single record", async () => {
    const made = await json<KeyJson>(
      "keys",
      "create",
      "--name",
      "spender",
      "--limit",
      "2.50",
      "--limit-reset",
      "monthly",
    );
    const database = openDatabase(created.url, writeConnectionLimits, () => {});
    const openedAtMs = BigInt(Date.now());
    await insertUsage(database, [toRow(usageRecord({ keyHash: made.hash, costUsd: "0.75", openedAtMs }))]);
    await database.destroy();
    const budget = { limit: 2.5, limit_reset: "monthly", limit_remaining: 1.75, usage: 0.75, usage_daily: 0.75 };
    expect(await listed(made.hash)).toMatchObject(budget);
    expect(await json("keys", "show", "spender")).toMatchObject(budget);
    expect(await run("keys", "list")).toMatchObject({
      stdout: expect.stringMatching(/spender .*2\.5 monthly +0\.75 +1\.75 /),
    });
    const shown = (await run("keys", "show", "spender")).stdout;
    expect(shown).toMatch(/^limit +2\.5 monthly USD$/m);
    expect(shown).toMatch(/^remaining +1\.75 USD$/m);
    expect(shown).toMatch(/^spent +0\.75 USD \(today 0\.75, /m);
  });

  test("revokes a key for good, and may repeat the revocation", async () => {
    const { hash } = await json<KeyJson>("keys", "create", "--name", "short-lived");
    expect((await run("keys", "revoke", hash)).stdout).toContain("revoked");
    expect(await listed(hash)).toMatchObject({ revoked_at: expect.any(String) });
    expect((await run("keys", "revoke", hash)).stdout).toContain("was revoked before");
    expect(await run("keys", "revoke", "0".repeat(64))).toMatchObject({ code: 1, stderr: "no such key\n" });
  });

  test("shows and changes the name, state, expiry and end user of a key", async () => {
    const { hash } = await json<KeyJson>("keys", "create", "--name", "k", "--external-user", "someone");
    const at = "2999-01-31T00:00:00Z";
    const changed = await json<KeyJson>("keys", "update", hash, "--name", "l", "--disable", "--expires-at", at);
    expect(changed).toMatchObject({ name: "l", disabled: true, external_user: "someone" });
    expect(await json<KeyJson>("keys", "show", hash)).toMatchObject({ name: "l", guardrail_id: null });
    const { stdout } = await run("keys", "show", hash);
    expect(stdout).toContain("state          disabled\n");
    expect(stdout).toContain("expires        2999-01-31T00:00:00Z\n");
    expect((await run("keys", "list")).stdout).toMatch(new RegExp(` disabled .*${hash}`));
    const rest = ["--enable", "--never-expires", "--no-external-user"];
    expect((await run("keys", "update", hash, ...rest)).stdout).toMatch(/changed \(policy generation \d+\)/);
    expect(await listed(hash)).toMatchObject({ disabled: false, expires_at: null, external_user: null });
    await run("keys", "revoke", hash);
    const late = await run("keys", "update", hash, "--enable");
    expect(late).toEqual({ code: 1, stdout: "", stderr: "no such key, or it is revoked\n" });
    expect((await run("keys", "show", hash)).stdout).toContain("state          revoked\n");
    expect(await run("keys", "show", "0".repeat(64))).toMatchObject({ code: 1, stderr: "no such key\n" });
  });

  test("sets, changes and removes rate limits", async () => {
    const { hash } = await json<KeyJson>("keys", "create", "--name", "k", "--requests-per-minute", "60");
    expect(await listed(hash)).toMatchObject({ requests_per_minute: 60, tokens_per_minute: null });
    const given = ["--tokens-per-minute", "5000", "--concurrent-requests", "3"];
    await run("keys", "update", hash, ...given, "--no-requests-per-minute");
    const now = { requests_per_minute: null, tokens_per_minute: 5000, concurrent_requests: 3 };
    expect(await listed(hash)).toMatchObject(now);
    expect((await run("keys", "show", hash)).stdout).toContain("tokens/min     5000\n");
    const rotated = await json<KeyJson>("keys", "rotate", hash);
    expect(await listed(rotated.hash)).toMatchObject(now);
    const refused = async (...args: string[]) => (await run("keys", "update", rotated.hash, ...args)).stderr;
    expect(await refused("--tokens-per-minute", "1e3")).toContain("--tokens-per-minute: a whole number");
    expect(await refused("--tokens-per-minute", "0")).toContain("tokens_per_minute: must be between 1 and 1000000000");
    const both = await refused("--concurrent-requests", "1", "--no-concurrent-requests");
    expect(both).toContain("--concurrent-requests and --no-concurrent-requests exclude each other");
  });

  test("prints no control characters from the name of a key", async () => {
    await run("keys", "create", "--name", "red\u001b[31m\u202ename");
    const { stdout } = await run("keys", "list");
    expect(stdout).toContain("red\\u{1b}[31m\\u{202e}name");
    expect(stdout).not.toContain("\u001b");
  });
});

describe("the guardrails command", () => {
  test("creates, lists, shows, assigns and unassigns guardrails", async () => {
    const filters = ["--block", "secret-\\d+", "--label", "Secret", "--block", "(?i)x{3}"];
    const made = await json<GuardrailJson>("guardrails", "create", "--name", "Secrets", ...filters);
    const contentFilters = [
      { pattern: "secret-\\d+", label: "Secret", action: "block" },
      { pattern: "(?i)x{3}", label: null, action: "block" },
    ];
    expect(made).toMatchObject({ name: "Secrets", content_filters: contentFilters });
    const first = await json<KeyJson>("keys", "create", "--name", "a");
    const second = await json<KeyJson>("keys", "create", "--name", "b");
    const unknown = "0".repeat(64);
    const assigned = await run("guardrails", "assign", made.id, first.hash, second.hash, first.hash, unknown);
    expect(assigned.stdout).toMatch(/^2 of 3 keys assigned \(policy generation \d+\)\n$/);
    const shown = await json<GuardrailJson>("guardrails", "show", made.id);
    expect(shown.key_hashes).toEqual([first.hash, second.hash].sort());
    expect((await run("guardrails", "show", made.id)).stdout).toContain("block    secret-\\d+  (Secret)");
    const list = await json<GuardrailJson[]>("guardrails", "list");
    expect(list.find(({ id }) => id === made.id)).toMatchObject({ keys: 2, content_filters: contentFilters });
    const held = await json<{ key_hash: string; key_name: string }[]>("guardrails", "assignments", made.id);
    expect(held.map((row) => row.key_name).toSorted()).toEqual(["a", "b"]);
    expect((await run("guardrails", "assignments")).stdout).toContain(`${first.hash}  ${made.id}`);
    expect((await run("guardrails", "unassign", made.id, first.hash)).stdout).toMatch(/^1 of 1 keys unassigned/);
    expect((await json<GuardrailJson>("guardrails", "show", made.id)).key_hashes).toEqual([second.hash]);
  });

  test("names the keys that have a guardrail in addition to their own", async () => {
    const made = await json<GuardrailJson>("guardrails", "create", "--name", "further", "--block", "x");
    const holding = await json<KeyJson>("keys", "create", "--name", "a", "--further-guardrails", made.id);
    const gone = await json<KeyJson>("keys", "create", "--name", "b", "--further-guardrails", made.id);
    await run("keys", "revoke", gone.hash);
    const list = await json<GuardrailJson[]>("guardrails", "list");
    expect(list.find(({ id }) => id === made.id)).toMatchObject({ keys: 0, further_keys: 1 });
    const line = (await run("guardrails", "list")).stdout.split("\n").find((each) => each.includes(made.id));
    expect(line).toMatch(/^further +1 +0 +1 +keys /);
    const shown = await json<GuardrailJson>("guardrails", "show", made.id);
    expect(shown).toMatchObject({ key_hashes: [], further_key_hashes: [holding.hash] });
    expect((await run("guardrails", "show", made.id)).stdout).toContain(`further  ${holding.hash}\n`);
  });

  test("takes rules of every kind", async () => {
    const rules = ["--redact", "a+b", "--label", "[AB]", "--flag=-5", "--builtin", "email=redact", "--mode", "audit"];
    const injection = ["--builtin", "regex-prompt-injection=block:user_only", "--applies-to", "both"];
    const models = ["--set", "allowed_models=acme/large,acme/small", "--set", "enforce_zdr_xai=true"];
    const groups = ["--set", "enforce_zdr_groups=acme,other", "--on-error", "open", "--workspace-default"];
    const judge = ["--judge", "block=Never promises\na refund."];
    const detectors = ["--detector", "names:person-name=redact"];
    const all = [...rules, ...injection, ...models, ...groups, ...judge, ...detectors];
    const made = await json<GuardrailJson>("guardrails", "create", "--name", "g", ...all);
    expect(made).toMatchObject({
      content_filters: [
        { pattern: "a+b", label: "[AB]", action: "redact" },
        { pattern: "-5", label: null, action: "flag" },
      ],
      content_filter_builtins: [
        { slug: "email", action: "redact", scan_scope: null },
        { slug: "regex-prompt-injection", action: "block", scan_scope: "user_only" },
      ],
      judge_rules: [{ rule: "Never promises\na refund.", action: "block", threshold: 0.7, label: null }],
      detectors: [{ detector: "names", category: "person-name", action: "redact", threshold: null, label: null }],
      applies_to: "both",
      mode: "audit",
      on_error: "open",
      workspace_default: true,
      allowed_models: ["acme/large", "acme/small"],
      enforce_zdr_xai: true,
      enforce_zdr_groups: { acme: true, other: true },
    });
    const { stdout } = await run("guardrails", "show", made.id);
    expect(stdout).toContain("block    built in: regex-prompt-injection of user_only");
    expect(stdout).toContain("block    judged from 0.7: Never promises\\u{a}a refund.");
    expect(stdout).toContain("redact   detected by names: person-name");
    expect(stdout).toContain("applies  to both, audit, open on errors");
    expect(stdout).toContain('models   allowed_models ["acme/large","acme/small"]');
    const change = [
      "--no-builtins",
      "--no-judges",
      "--no-detectors",
      "--set",
      "allowed_models=",
      "--no-workspace-default",
      "--mode",
      "enforce",
    ];
    const changed = await json<GuardrailJson>("guardrails", "update", made.id, ...change);
    expect(changed).toMatchObject({
      content_filter_builtins: [],
      judge_rules: [],
      detectors: [],
      workspace_default: false,
      mode: "enforce",
    });
    expect(changed).not.toHaveProperty("allowed_models");
    expect(changed).toMatchObject({ enforce_zdr_xai: true, content_filters: made.content_filters });
  });

  test("updates and deletes guardrails", async () => {
    const made = await json<GuardrailJson>("guardrails", "create", "--name", "g", "--block", "x", "--description", "d");
    expect(made).toMatchObject({ description: "d" });
    const renamed = await json<GuardrailJson>("guardrails", "update", made.id, "--name", "h", "--no-description");
    expect(renamed).toMatchObject({ name: "h", description: null, content_filters: made.content_filters });
    const filters = ["--block", "y", "--label", "Y", "--block", "z"];
    expect((await run("guardrails", "update", made.id, ...filters)).stdout).toMatch(
      /changed \(policy generation \d+\)/,
    );
    expect((await json<GuardrailJson>("guardrails", "show", made.id)).content_filters).toEqual([
      { pattern: "y", label: "Y", action: "block" },
      { pattern: "z", label: null, action: "block" },
    ]);
    const { hash } = await json<KeyJson>("keys", "create", "--name", "a");
    await run("guardrails", "assign", made.id, hash);
    expect((await run("guardrails", "delete", made.id)).stdout).toMatch(/deleted \(policy generation \d+\)/);
    expect((await listed(hash))?.guardrail_id).toBeNull();
    expect(await run("guardrails", "delete", made.id)).toMatchObject({ code: 1, stderr: "no such guardrail\n" });
    expect(await run("guardrails", "update", made.id, "--no-filters")).toMatchObject({ code: 1 });
  });

  test.each([
    ["(?=x)x", "look-around is not supported"],
    ["(?!x)y", "look-around is not supported"],
    ["(?<=x)y", "look-around is not supported"],
    ["(?<!x)y", "look-around is not supported"],
    ["(a)\\1", "back-references are not supported"],
    ["[a-z]{3000}", "more than 1050 states alive at once"],
    ["[", "not a valid pattern"],
    ["a{2,1}", "not a valid pattern"],
    ["a*", "must not match the empty string"],
    ["^", "must not match the empty string"],
    ["(?m)^$", "must not match the empty string"],
    ["\\b", "must not match the empty string"],
    ["\\B", "must not match the empty string"],
    ["x|", "must not match the empty string"],
    ["", "at least 1 character"],
    ["x".repeat(100_001), "at most 100000 characters"],
    ["a\ud800", "must be well-formed Unicode"],
    ["a\0", "must not contain NUL"],
  ])("refuses pattern %# with its reason", async (pattern, reason) => {
    const { code, stderr } = await run("guardrails", "create", "--name", "n", `--block=${pattern}`);
    expect(stderr).toContain(reason);
    expect(code).toBe(2);
  });

  test("accepts a pattern of 100,000 characters", async () => {
    const { code } = await run("guardrails", "create", "--name", "n", "--block", "x".repeat(100_000));
    expect(code).toBe(0);
  });

  test("accepts names of at most 200 code points", async () => {
    expect((await run("guardrails", "create", "--name", "\u{1d4b3}".repeat(200), "--block", "x")).code).toBe(0);
    const { code, stderr } = await run("guardrails", "create", "--name", "\u{1d4b3}".repeat(201), "--block", "x");
    expect([code, stderr]).toEqual([2, expect.stringContaining("name: at most 200 characters")]);
  });
});

describe("the end-users command", () => {
  test("creates and lists end users", async () => {
    expect(await json("end-users", "create", "alice")).toMatchObject({ user: "alice", is_active: true });
    expect(await run("end-users", "create", "alice")).toMatchObject({ code: 1 });
    expect((await run("end-users", "create", "--", "-dash")).code).toBe(0);
    const users = (await json<{ user: string }[]>("end-users", "list")).map(({ user }) => user);
    expect(users).toEqual(["-dash", "alice"]);
    expect((await run("end-users", "list")).stdout).toContain("alice");
    expect(await run("end-users", "create", " alice")).toMatchObject({ code: 2 });
  });

  test("shows, deactivates and activates end users of any name", async () => {
    await run("end-users", "create", "..");
    expect((await run("end-users", "show", "..")).stdout).toBe(".. is active\n");
    expect((await run("end-users", "deactivate", "..")).stdout).toBe(".. is now inactive\n");
    expect(await json("end-users", "show", "..")).toMatchObject({ user: "..", is_active: false });
    expect((await run("end-users", "list")).stdout).toMatch(/^inactive .* \.\.$/m);
    expect(await json("end-users", "activate", "..")).toMatchObject({ is_active: true });
    const unknown = await run("end-users", "deactivate", "nobody");
    expect(unknown).toEqual({ code: 1, stdout: "", stderr: "no such end user\n" });
    expect(await run("end-users", "show", "a ")).toMatchObject({ code: 2 });
  });
});

describe("wrong input on the command line", () => {
  const hash = "0".repeat(64);
  const id = "00000000-0000-4000-8000-0000000000ff";
  test.each([
    [[], "usage: admin NOUN VERB"],
    [["keys"], "usage: admin keys VERB"],
    [["key", "list"], "unknown noun: key"],
    [["constructor", "name"], "unknown noun: constructor"],
    [["boostrap"], "unknown noun: boostrap; did you mean bootstrap?"],
    [["keys", "lst"], "unknown verb: keys lst; did you mean list?"],
    [
      ["people"],
      "one of keys, guardrails, end-users, calls, usage, sessions, workspaces, views, providers, ledger, audit, alerts, alert-rules, retention, schema, import, bootstrap",
    ],
    [["keys", "delete"], "unknown verb: keys delete"],
    [["keys", "toString"], "unknown verb: keys toString"],
    [["keys", "create"], "missing option: --name"],
    [["keys", "create", "--name", ""], "name: at least 1 character"],
    [["keys", "create", "--name", "x", "--managment"], "unknown option: --managment; did you mean --management?"],
    [["keys", "create", "--name", "x", "--expires-at", "tomorrow"], "--expires-at: an ISO 8601 time"],
    [["keys", "create", "--name", "x", "--expires-at", "2020-01-01"], "--expires-at: must be in the future"],
    [["keys", "create", "--name", "x", "--external-user", " x"], "external.user: must not begin or end with white"],
    [["keys", "update", hash], "missing option: name what to change"],
    [["keys", "update", hash, "--name", ""], "name: at least 1 character"],
    [["keys", "update", hash, "--enable", "--disable"], "--disable and --enable exclude each other"],
    [["keys", "update", hash, "--expires-at", "2020-01-01"], "--expires-at: must be in the future"],
    [["keys", "update", hash, "--expires-at", "2999-01-01", "--never-expires"], "--expires-at and --never-expires"],
    [["keys", "list", "extra"], "unexpected argument: extra"],
    [["keys", "revoke"], "missing argument: KEY"],
    [["usage", "series", "--by", "week"], "by: "],
    [["usage", "series", "--step", "year"], "--step: hour, day, week or month"],
    [["calls", "list", "--status", "x"], "--status: a status such as 502"],
    [["calls", "list", "--limit", "201"], "limit: must be between 1 and 200"],
    [["calls", "list", "--from", "today"], "--from: a day or a time"],
    [["usage", "show", "--by", "week"], "--by: any of day, model, key"],
    [["usage", "show", "--from", "2026-02-30"], "--from: a day, for example 2026-11-21"],
    [["usage", "show", "--from", "2026-02-03", "--to", "2026-02-01"], "--from: must not be after --to"],
    [["keys", "revoke", hash, hash], `unexpected argument: ${hash}`],
    [["guardrails", "create", "--name", "x"], "missing option: --block"],
    [["guardrails", "create", "--block", "x"], "missing option: --name"],
    [["guardrails", "create", "--name", "x", "--label", "l", "--block", "x"], "--label: comes after the --block"],
    [["guardrails", "create", "--name", "x", "--block", "x", "--label", "a", "--label", "b"], "--label: at most one"],
    [
      ["guardrails", "create", "--name", "x", "--block", "x", "--label", "l".repeat(101)],
      "label: at most 100 characters",
    ],
    [["guardrails", "update", id], "missing option: name what to change"],
    [["guardrails", "update", id, "--mode", "shadow"], "mode: must be one of enforce, audit"],
    [["guardrails", "update", id, "--builtin", "email"], "content_filter_builtins.0.action: must be one of block"],
    [["guardrails", "update", id, "--builtin", "x=block"], "content_filter_builtins.0.slug: must be one of email"],
    [["guardrails", "update", id, "--set", "models=x"], "--set: unknown field models"],
    [["guardrails", "update", id, "--set", "enforce_zdr_xai=x"], "--set: enforce_zdr_xai is true or false"],
    [["guardrails", "update", id, "--set", "allowed_data_regions=x"], "allowed_data_regions.0: must be one of global"],
    [["guardrails", "update", id, "--block", "x", "--no-filters"], "--block and --no-filters exclude each other"],
    [["guardrails", "update", id, "--description", "x", "--no-description"], "--description and --no-description"],
    [["guardrails", "update", id, "--description", "x".repeat(1_001)], "description: at most 1000 characters"],
    [["guardrails", "delete"], "missing argument: GUARDRAIL"],
    [["guardrails", "assign", id], "missing argument: KEY"],
    [["guardrails", "assign", id, ...Array<string>(501).fill(hash)], "key_hashes: at most 500 elements"],
    [["end-users", "create"], "missing argument: USER"],
  ])("%j ends with exit code 2 and a line that names the error", async (argv, message) => {
    const { code, stdout, stderr } = await run(...argv);
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/^ +at /m);
    expect([code, stdout]).toEqual([2, ""]);
  });

  test.each([[["guardrails", "assignments", id]], [["guardrails", "show", id]], [["guardrails", "assign", id, hash]]])(
    "%j ends with exit code 1 when the guardrail does not exist",
    async (argv) => {
      expect(await run(...argv)).toEqual({ code: 1, stdout: "", stderr: "no such guardrail\n" });
    },
  );

  test("ends with exit code 1 and the address of a database that cannot be reached, without a stack trace", async () => {
    const { code, stderr } = await runAt("postgres://nobody@127.0.0.1:1/none", ["keys", "list"]);
    expect(stderr).toBe("the database cannot be reached: connect ECONNREFUSED 127.0.0.1:1\n");
    expect(code).toBe(1);
  });
});

describe("an invalid DATABASE_URL", () => {
  test.each(["127.0.0.1:5432/sluice", "mysql://127.0.0.1/sluice"])(
    "is named instead of looked up as a host: %s",
    async (url) => {
      expect(await runAt(url, ["keys", "list"])).toEqual({
        code: 1,
        stdout: "",
        stderr: "DATABASE_URL: must be postgres://user:password@host:port/database\n",
      });
    },
  );
});

describe("--help", () => {
  test.each([
    [["--help"], "end-users"],
    [["keys", "--help"], "rotate"],
    [["end-users", "--help"], "  deactivate  Marks an end user as inactive"],
    [["guardrails", "create", "--help"], "JavaScript's syntax"],
    [["end-users", "create", "-h"], "USER"],
  ])("prints the usage for %j", async (argv, text) => {
    const { code, stdout } = await runAt(undefined, argv);
    expect(stdout).toContain(text);
    expect(code).toBe(0);
  });
});

test("as a program, the command line prints answers on standard output and reports failures by its exit code", async () => {
  const cli = new URL("../../../admin-svc/bundle/cli.js", import.meta.url).pathname;
  const env = { ...process.env, DATABASE_URL: created.url };
  const { stdout } = await promisify(execFile)(process.execPath, [cli, "keys", "create", "--name", "x", "--json"], {
    env,
  });
  expect((await listed((JSON.parse(stdout) as KeyJson).hash))?.name).toBe("x");
  const failed = promisify(execFile)(process.execPath, [cli, "keys", "nonsense"], { env });
  await expect(failed).rejects.toMatchObject({ code: 2, stdout: "" });
});

test("schema migrate prints the schema version of the database, also when repeated", async () => {
  const first = await run("schema", "migrate");
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^schema \d{4}_\w+\n$/), stderr: "" });
  expect(await run("schema", "migrate")).toEqual(first);
});
