/** Secrets handled in administration are in no log, metric, answer, table or file of the installation except their proper place. */
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import pg from "pg";
import { type Installation, startInstallation } from "../../support/installation.ts";

const serviceToken = "canary-service-token-0123456789abcdef";
const secret = "canary-secret-0123456789abcdef0123456";
let installation: Installation;

beforeAll(async () => {
  installation = await startInstallation({
    environment: { SLUICE_SERVICE_TOKEN: serviceToken, SLUICE_SECRET: secret, SLUICE_LOG_LEVEL: "trace" },
  });
});
afterAll(() => installation?.stop());

const answers: string[] = [];

async function send(method: string, path: string, body?: unknown, key = installation.managementKey): Promise<string> {
  const answer = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return answer.text();
}

/**
 * Sends a request whose answer must show no secret of this test; a new key is shown once, in an answer not
 * collected here.
 */
async function quietly(...request: Parameters<typeof send>): Promise<void> {
  answers.push(await send(...request));
}

test("keys, tokens and passwords appear only in their proper place", async () => {
  const made = JSON.parse(await send("POST", "/keys", { name: "canary", limit: 5 })) as {
    key: string;
    data: { hash: string };
  };
  const { hash } = made.data;
  const forged = mintKey(KeyKind.MANAGEMENT);
  await quietly("PATCH", `/keys/${hash}`, { name: "renamed" });
  await quietly("GET", "/keys", undefined);
  await quietly("GET", "/key", undefined, made.key);
  await quietly("GET", "/keys", undefined, made.key);
  await quietly("GET", "/keys", undefined, forged);
  await quietly("POST", "/keys", { name: made.key.repeat(10) });
  await quietly("POST", "/keys", `{"name": "${forged}`);
  await quietly("PATCH", `/keys/${made.key}`, { disabled: true });
  await quietly("GET", `/guardrails/${forged}`);
  await quietly("POST", "/guardrails", { name: "g", [forged]: 1 });
  const { stdout } = await installation.admin("keys", "rotate", hash, "--json");
  const { key: rotated } = JSON.parse(stdout) as { key: string };
  await quietly("DELETE", `/keys/${hash}`);
  const password = new URL(installation.databaseUrl).password;
  // The middle: the ends are the visible label of a key.
  const middle = (key: string) => key.slice(12, -6);
  const secrets = [made.key, rotated, installation.managementKey, installation.apiKey, forged].map(middle);
  const canaries = [...secrets, serviceToken, secret, ...(password === "" ? [] : [password])];

  const ports = [
    installation.ports.gateway_health,
    installation.ports.inference_health,
    installation.ports.admin_health,
  ];
  const metrics = await Promise.all(
    ports.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
  );
  const places = {
    logs: await installation.allLogged(),
    metrics: metrics.join("\n"),
    database: await everyRow(),
    files: filesOf(installation.dataDir),
  };
  expect(places.database).toContain("renamed");
  for (const [place, text] of Object.entries(places)) {
    expect([place, canaries.filter((canary) => text.includes(canary))]).toEqual([place, []]);
  }
  const told = answers.join("\n");
  expect(secrets.filter((canary) => canary !== middle(forged) && told.includes(canary))).toEqual([]);
});

/** Rows of every table, the audit log included. */
async function everyRow(): Promise<string> {
  const client = new pg.Client({ connectionString: installation.databaseUrl });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = current_schema()",
    );
    const texts: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ text: string }>(`select t::text as text from "${name}" as t`);
      texts.push(...rows.map(({ text }) => text));
    }
    return texts.join("\n");
  } finally {
    await client.end();
  }
}

/** Files of the data folder, except for the three with secrets. */
function filesOf(folder: string): string {
  const kept = new Set(["keys.json", "secrets.json", "database.json"]);
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => !kept.has(path) && statSync(join(folder, path)).isFile())
    .map((path) => readFileSync(join(folder, path), "latin1"))
    .join("\n");
}
