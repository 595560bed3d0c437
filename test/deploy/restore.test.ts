/** A restore of an earlier backup with a replay: the sums equal what the provider has served, also after kills of the processes and of the replay. */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parsePico, toDecimal } from "@sluice/proto/lib/ledger/money.js";
import pg from "pg";
import { type Installation, startInstallation, untilAllServe } from "../support/installation.ts";
import { bareEnvironment, eventually, root, runProgram } from "../support/processes.ts";

/** Calls that the provider has answered: tokens by the name in the prompt. */
const journal: { readonly key: string; readonly input: number; readonly output: number }[] = [];
let provider: Server;
let dataDir: string;
let installation: Installation | undefined;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "sluice-test-restore-"));
  provider = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await installation?.stop();
  provider.closeAllConnections();
  provider.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const key = /key-[a-z]+/.exec(text)?.[0] ?? "";
  const entry = { key, input: 1_000 + journal.length, output: 10 + (journal.length % 7) };
  journal.push(entry);
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "small",
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } }],
      usage: { prompt_tokens: entry.input, completion_tokens: entry.output, total_tokens: entry.input + entry.output },
    }),
  );
}

async function start(): Promise<Installation> {
  const { port } = provider.address() as AddressInfo;
  installation = await startInstallation({
    dataDir,
    embeddedPostgres: true,
    inferenceReplicas: 2,
    environment: { SLUICE_DRAIN_LIMIT_MS: "5000" },
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "http://127.0.0.1:${port}/v1"}
models:
  - {id: acme/small, endpoints: [{provider: acme, pricing: {prompt: "0.37", completion: "1.93"}}]}
`,
  });
  return installation;
}

interface TestKey {
  readonly name: string;
  readonly key: string;
  readonly hash: string;
}

async function createKey(name: string): Promise<TestKey> {
  const { stdout } = await (installation as Installation).admin(
    "keys",
    "create",
    "--name",
    name,
    "--limit",
    "5",
    "--json",
  );
  const { key, hash } = JSON.parse(stdout) as { readonly key: string; readonly hash: string };
  return { name, key, hash };
}

async function ask({ name, key }: TestKey): Promise<number> {
  const response = await fetch(`${(installation as Installation).baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/small", input: `I am ${name}` }),
  });
  await response.text();
  return response.status;
}

/** Turns of each key that were answered. */
async function serve(keys: readonly TestKey[], count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    const statuses = await Promise.all(keys.map(ask));
    expect(statuses).toEqual(keys.map(() => 200));
  }
}

const program = join(root, "deploy/local/admin.mjs");
const environment = () => ({ ...bareEnvironment(), SLUICE_DATA_DIR: dataDir });

async function admin(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(process.execPath, [program, ...args], {
    environment: environment(),
  });
  expect({ args, code, stderr: code === 0 ? "" : stderr }).toEqual({ args, code: 0, stderr: "" });
  return stdout;
}

async function kill(name: string): Promise<void> {
  const pid = (installation as Installation).pids()[name] as number;
  process.kill(pid, "SIGKILL");
  await eventually(() => ![undefined, pid].includes((installation as Installation).pids()[name]));
  await untilAllServe((installation as Installation).ports.gateway_health, 2);
}

/** Runs a replay that is killed after so many milliseconds, unless it has ended before. */
async function killedReplay(ms: number): Promise<void> {
  const child = spawn(process.execPath, [program, "ledger", "replay"], { env: environment(), stdio: "ignore" });
  const timer = setTimeout(() => child.kill("SIGKILL"), ms);
  await new Promise((resolve) => child.once("exit", resolve));
  clearTimeout(timer);
}

const rows = async (text: string, values: readonly unknown[] = []) => {
  const client = new pg.Client({ connectionString: (installation as Installation).databaseUrl });
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(text, [...values])).rows;
  } finally {
    await client.end();
  }
};

/** Cost in picodollars: 0.37 and 1.93 USD for a million tokens. */
const costOf = ({ input, output }: { readonly input: number; readonly output: number }): bigint =>
  BigInt(input) * 370_000n + BigInt(output) * 1_930_000n;

interface Sums {
  readonly calls: number;
  readonly usd: string;
}

function journalOf(key?: string): Sums {
  const own = journal.filter((entry) => key === undefined || entry.key === key);
  return { calls: own.length, usd: toDecimal(own.reduce((sum, entry) => sum + costOf(entry), 0n)) };
}

async function sumsOf(table: string, where = "true", values: readonly unknown[] = []): Promise<Sums> {
  const [row] = await rows(
    `select coalesce(sum(attempts), 0)::int as calls, coalesce(sum(cost_usd), 0)::text as usd from ${table} where ${where}`,
    values,
  );
  return { calls: Number(row?.["calls"]), usd: toDecimal(parsePico(row?.["usd"] ?? "0")) };
}

test("after a restore of an earlier backup and a replay, the sums equal the provider's journal", async () => {
  await start();
  const [one, two] = [await createKey("key-one"), await createKey("key-two")];
  await serve([one, two], 15);
  const archive = join(dataDir, "sluice.backup");
  await Promise.all([admin("backup", archive), serve([one, two], 5)]);

  const later = await createKey("key-later");
  await serve([one, two, later], 10);
  await kill("inference-svc");
  await serve([one, later], 10);
  await kill("inference-svc-1");
  await (installation as Installation).admin("keys", "revoke", two.hash);
  expect(await ask(two)).toBe(401);
  await serve([one, later], 10);
  await installation?.stop();

  const text = await admin("restore", archive);
  expect(text).toMatch(/the one of before is in .*cluster\.before-/);
  await start();
  // The backup lacks both changes: the later key does not exist, and the revocation is void.
  expect(await ask(later)).toBe(401);
  expect((await sumsOf("key_days")).calls).toBeLessThan(journal.length);
  const said = await installation?.logged("inference-svc", "the database was restored from a backup");
  expect(said).toContain(two.hash);
  const trial = await admin("ledger", "replay", "--dry-run");
  expect(trial).toMatch(new RegExp(`^${two.hash} +key-two +valid$`, "m"));
  expect(trial).toMatch(new RegExp(`^${later.hash} +- +unknown$`, "m"));
  await serve([one, two], 5);
  for (const ms of [700, 1_000, 1_300, 1_600]) {
    await killedReplay(ms);
    await kill("inference-svc");
    await serve([one, two], 2);
  }
  expect(await admin("ledger", "replay")).toMatch(/records were there already/);
  await eventually(async () => (await sumsOf("key_days")).calls === journal.length);
  // All records are stored by now, whatever the spools still hold.
  await admin("ledger", "replay");
  expect(await admin("ledger", "check")).toMatch(/0 charges without a record\n$/);
  for (const { name, hash } of [one, two, later]) {
    expect(await sumsOf("key_days", "key_hash = $1", [hash])).toEqual(journalOf(name));
    const [total] = await rows("select cost_usd::text as usd from key_totals where key_hash = $1", [hash]);
    expect(toDecimal(parsePico(total?.["usd"] ?? "0"))).toBe(journalOf(name).usd);
    for (const step of ["hour", "day"]) {
      const where = "dimension = 'key' and step = $1 and value = $2";
      await eventually(async () => (await sumsOf("usage_sums", where, [step, hash])).calls === journalOf(name).calls);
      expect(await sumsOf("usage_sums", where, [step, hash])).toEqual(journalOf(name));
    }
  }
  expect(await sumsOf("workspace_days")).toEqual(journalOf());
  const [turns] = await rows(
    "select count(*)::int as count, count(distinct generation_id)::int as ids from all_turns where outcome = 'completed'",
  );
  expect(turns).toEqual({ count: journal.length, ids: journal.length });
  const stored = await rows("select count(*)::int as count from all_calls");
  expect(await admin("ledger", "replay")).toMatch(/: 0 calls and 0 turns stored, /);
  expect(await rows("select count(*)::int as count from all_calls")).toEqual(stored);
  expect(await sumsOf("workspace_days")).toEqual(journalOf());
}, 400_000);

test("a backup overwrites no file, and a restore is refused while Sluice runs", async () => {
  const run = (...args: string[]) => runProgram(process.execPath, [program, ...args], { environment: environment() });
  const archive = join(dataDir, "sluice.backup");
  expect(await run("backup", archive)).toMatchObject({ code: 1, stderr: expect.stringContaining("exists already") });
  expect(await run("restore", archive)).toMatchObject({ code: 1, stderr: expect.stringContaining("stop it first") });
});

test("concurrent backups made while Sluice serves are complete", async () => {
  const names = ["one", "two", "three"];
  const archives = names.map((name) => join(dataDir, `${name}.backup`));
  await Promise.all(archives.map((archive) => admin("backup", archive)));
  const [{ count } = {}] = await rows("select count(*)::int as count from all_turns");
  await installation?.stop();
  for (const archive of archives) {
    await admin("restore", archive);
    await start();
    expect(await rows("select count(*)::int as count from all_turns")).toEqual([{ count }]);
    await installation?.stop();
  }
}, 300_000);
