/** A million keys: the lookup of a request must cost the same as with a thousand keys. */
import type { Database } from "@sluice/admin-svc/store/database.js";
import { migrate } from "@sluice/admin-svc/store/postgres/migrate.js";
import { resolveKeys } from "@sluice/admin-svc/store/access.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { type Kysely, sql } from "kysely";
import pg from "pg";
import { type Figure, quantile, spreadLabel } from "./figure.ts";

const keys = 1_000_000;
const guardrails = 10_000;
/**
 * Factor between the two compared databases. The smaller one has more than one row, since in a table of a single row every index is as good as any.
 */
const fewer = 1_000;
const maxTimes = 1.2;
/** Additional index pages read in a million entries, compared with a thousand. */
const pagesOfHeight = 2;

interface Filled {
  readonly name: string;
  readonly database: Kysely<Database>;
  readonly hashes: readonly string[];
  /** The statement for a key lookup, as sent to Postgres. */
  readonly statement: () => { readonly text: string; readonly values: unknown[] };
}

async function fill(server: string, name: string, keyCount: number, guardrailCount: number): Promise<Filled> {
  await once(server, (client) => client.query(`create database ${name}`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  let last = { text: "", values: [] as unknown[] };
  const onStatement = ({ query }: { query: { sql: string; parameters: readonly unknown[] } }) => {
    if (query.sql.includes("policy_generation")) last = { text: query.sql, values: [...query.parameters] };
  };
  const database = openDatabase(url.href, migrationConnectionLimits, () => {}, { onStatement });
  await migrate(database);
  await sql`
    insert into guardrails (id, workspace_id, name, content_filters)
    select lpad(to_hex(n), 32, '0')::uuid, workspaces.id, 'g' || n, '[{"pattern": "secret", "label": null, "action": "block"}]'
    from workspaces, generate_series(1, ${guardrailCount}::int) as n`.execute(database);
  await database.transaction().execute(async (transaction) => {
    // Foreign keys are not checked: two million lookups would take minutes, and all referenced rows exist.
    await sql`set local session_replication_role = replica`.execute(transaction);
    await sql`
      insert into api_keys (hash, workspace_id, name, kind, label)
      select encode(sha256(n::text::bytea), 'hex'), workspaces.id, 'k' || n, 'inference', 'sk-sl-many'
      from workspaces, generate_series(1, ${keyCount}::int) as n`.execute(transaction);
    await sql`
      insert into guardrail_key_assignments (key_hash, guardrail_id)
      select encode(sha256(n::text::bytea), 'hex'), lpad(to_hex(1 + n % ${guardrailCount}::int), 32, '0')::uuid
      from generate_series(1, ${keyCount}::int) as n`.execute(transaction);
  });
  await sql`vacuum analyze`.execute(database);
  const { rows } = await sql<{ hash: string }>`select hash from api_keys order by hash limit 1000`.execute(database);
  return { name, database, hashes: rows.map(({ hash }) => hash), statement: () => last };
}

async function once(server: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Relation Name"?: string;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly PlanNode[];
}

/**
 * The plan of the last lookup, and its number of pages. Postgres reads a table of a few rows as a whole, which proves nothing about a larger table.
 */
async function explain(server: string, { name, statement }: Filled): Promise<{ plan: string; pages: number }> {
  const url = new URL(server);
  url.pathname = `/${name}`;
  const { text, values } = statement();
  let root: PlanNode | undefined;
  await once(url.href, async (client) => {
    await client.query("set enable_seqscan = off");
    const { rows } = await client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
      `explain (analyze, buffers, format json) ${text}`,
      values,
    );
    root = rows[0]?.["QUERY PLAN"][0]?.Plan;
  });
  if (!root) throw new Error("no plan");
  return { plan: shapeOf(root), pages: root["Shared Hit Blocks"] + root["Shared Read Blocks"] };
}

const shapeOf = (node: PlanNode): string => {
  const own = `${node["Node Type"]} ${node["Index Name"] ?? node["Relation Name"] ?? ""}`.trim();
  return node.Plans ? `${own} (${node.Plans.map(shapeOf).join(", ")})` : own;
};

/** @param server URL of the server on which two databases are created and dropped */
export async function measureManyKeys(server: string, asked: number): Promise<Figure[]> {
  const few = await fill(server, "sluice_few_keys", keys / fewer, guardrails / fewer);
  const many = await fill(server, "sluice_many_keys", keys, guardrails);
  const tookMs = new Map<Filled, number[]>([
    [few, []],
    [many, []],
  ]);
  for (let n = -100; n < asked; n++) {
    for (const [filled, list] of tookMs) {
      const at = performance.now();
      const hash = filled.hashes[(n + 100) % filled.hashes.length] as string;
      const key = (await resolveKeys(filled.database, [hash])).keys.get(hash);
      if (!key?.guardrail) throw new Error("a key without its guardrail");
      // Rounds with a negative number only warm both databases.
      if (n >= 0) list.push(performance.now() - at);
    }
  }
  const [fewPlan, manyPlan] = [await explain(server, few), await explain(server, many)];
  const [fewMs, manyMs] = [tookMs.get(few) ?? [], tookMs.get(many) ?? []];
  for (const { name, database } of [few, many]) {
    await database.destroy();
    await once(server, (client) => client.query(`drop database ${name} with (force)`));
  }
  const ratio = quantile(manyMs, 0.5) / quantile(fewMs, 0.5);
  return [
    {
      measure: `a key is resolved among ${keys} keys and ${guardrails} guardrails, against ${fewer} times fewer`,
      found: `${ratio.toFixed(2)}x: ${spreadLabel(manyMs)} against ${spreadLabel(fewMs)}`,
      goal: `p50 ${maxTimes}x`,
      reached: ratio <= maxTimes,
    },
    {
      measure: "the plan, and the pages that it reads",
      found: `${manyPlan.pages} pages by ${manyPlan.plan}; against ${fewPlan.pages} pages by ${fewPlan.plan}`,
      goal: `the same plan, ${pagesOfHeight} pages more for each index at most: the height of its tree`,
      reached:
        manyPlan.plan === fewPlan.plan &&
        manyPlan.pages <= fewPlan.pages + pagesOfHeight * manyPlan.plan.split("Index Scan").length,
    },
  ];
}
