/** An installation with models, keys, guardrails and a month of usage, so pages of the console have data. */
import { callChanges, turnChanges } from "@sluice/admin-svc/store/ledger/usage-rollup.js";
import { storeApart } from "@sluice/admin-svc/store/ledger/usage.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { sql } from "kysely";
import type { Installation } from "../../support/installation.ts";

const prices = (prompt: number, completion: number) => `{ prompt: "${prompt}", completion: "${completion}" }`;

/** Configuration of built-in models with realistic names and prices. */
export const showcase = `
providers:
  - { id: northwind, name: Northwind, dialect: echo, region: eu, data_policy: { retention: none, training: false } }
  - { id: meridian, name: Meridian, dialect: echo, region: us, data_policy: { training: false } }
models:
  - id: northwind/atlas-large
    name: Atlas Large
    context_length: 400000
    endpoints: [{ provider: northwind, pricing: ${prices(2500, 10_000)} }, { provider: meridian, pricing: ${prices(3000, 12_000)} }]
  - { id: northwind/atlas-mini, name: Atlas Mini, context_length: 128000, endpoints: [{ provider: northwind, pricing: ${prices(400, 1600)} }] }
  - { id: meridian/reason-2, name: Reason 2, context_length: 200000, endpoints: [{ provider: meridian, pricing: ${prices(1100, 4400)} }] }
`;

const models = ["northwind/atlas-large", "northwind/atlas-mini", "meridian/reason-2"];
const budgets = { "checkout-service": 20, "search-ranking": 7, "support-bot": 90 };
const turns = 60;

export async function fillInstallation(installation: Installation): Promise<void> {
  const keys = await Promise.all(Object.keys(budgets).map((name) => send(installation, "POST", "/keys", { name })));
  const guardrail = {
    name: "No secrets",
    description: "Keys and tokens stay with us",
    content_filter_builtins: [
      { slug: "secrets", action: "block" },
      { slug: "email", action: "redact" },
    ],
  };
  await send(installation, "POST", "/guardrails", guardrail);
  for (const n of [1, 2, 3]) await send(installation, "POST", "/end-users", { user: `customer-${n}` });
  for (let n = 0; n < turns; n++) {
    const body = {
      model: models[Math.floor(n / 3) % 3],
      input: "Tell me about water. ".repeat(1 + (n % 9)),
      max_output_tokens: 100,
      ...(n % 10 === 0 && { session_id: "checkout-run" }),
    };
    await send(installation, "POST", "/responses", body, keys[n % 3]?.key);
  }
  await limitKeys(installation, keys);
  await spread(installation);
}

/** Sets limits of keys after the turns, which none may refuse: their cost depends on the provider that routing draws. */
async function limitKeys(installation: Installation, keys: readonly Answer[]): Promise<void> {
  for (const [n, limit] of Object.values(budgets).entries()) {
    await send(installation, "PATCH", `/keys/${keys[n]?.data?.hash ?? ""}`, { limit, limit_reset: "monthly" });
  }
}

interface Answer {
  readonly key?: string;
  readonly data?: { readonly hash: string };
}

async function send(
  installation: Installation,
  method: string,
  path: string,
  body: object,
  key = installation.managementKey,
): Promise<Answer> {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

/** Spreads the records over the last 30 days, in the same way each time, and updates the sums. */
async function spread({ databaseUrl }: Installation): Promise<void> {
  const database = openDatabase(databaseUrl, { ...writeConnectionLimits, statementTimeoutMs: 0 }, () => {});
  try {
    let recorded = 0;
    while (recorded < turns) {
      const complete = database.selectFrom("all_turns").where("is_recorded", "=", true).where("attempts", ">", 0);
      ({ recorded } = await complete
        .select((columns) => columns.fn.countAll<number>().as("recorded"))
        .executeTakeFirstOrThrow());
    }
    await database.transaction().execute(async (transaction) => {
      // The records move to other days, for which the ledger has partitions only if they are recent.
      const whole = await transaction
        .selectFrom("ledger")
        .select("generation_id")
        .where("is_moved", "=", false)
        .execute();
      await storeApart(
        transaction,
        whole.map(({ generation_id: id }) => id),
      );
      await sql`lock table usage_changes, usage_sums`.execute(transaction);
      await sql`
        create temporary table moved on commit drop as select generation_id,
          (row_number() over (order by opened_at) * 7 % 31 * 29 / 30)::int * interval '1 day' as days from turns`.execute(
        transaction,
      );
      for (const table of ["turns", "usage_records"]) {
        await sql`
          update ${sql.table(table)} as record set opened_at = opened_at - days from moved
          where moved.generation_id = record.generation_id`.execute(transaction);
      }
      await sql`truncate usage_changes, usage_sums`.execute(transaction);
      await sql`insert into usage_changes ${callChanges(sql`usage_records`)}`.execute(transaction);
      await sql`insert into usage_changes ${turnChanges(sql`turns`)}`.execute(transaction);
    });
  } finally {
    await database.destroy();
  }
}
