/**
 * Measures sums over time of ten million requests: `node test/dist/campaigns/bench/usage-series.js` (three minutes), or with another number of
 * requests. The requests spread over 30 days, 200 keys, 20 models and 1,000 end users. Their sums are computed from rows of a temporary table, which
 * no series reads.
 */
import { loadavg } from "node:os";
import { addSums, changeSums, turnChanges } from "@sluice/admin-svc/store/ledger/usage-rollup.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { sql } from "kysely";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { median } from "./measure/rounds.ts";

const turns = Number(process.argv[2] ?? 10_000_000);
const rounds = 11;
const dayMs = 86_400_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Fills the sums. A temporary table hides the real one of the same name, so the sums of its rows are computed like real ones. */
async function fill({ databaseUrl }: Installation): Promise<void> {
  const database = openDatabase(databaseUrl, { ...writeConnectionLimits, statementTimeoutMs: 0 }, () => {});
  await database.connection().execute(async (connection) => {
    await sql`create temporary table turns (like public.turns including defaults)`.execute(connection);
    await sql`
      insert into turns (
        generation_id, key_hash, workspace_id, request_id, opened_at, duration_ms, first_ms, door, operation, model, provider, service_tier,
        outcome, http_status, streamed, requests, attempts, cost_usd, input_tokens, cached_tokens, output_tokens, reasoning_tokens,
        is_estimated, last_attempt, is_recorded, "user"
      )
      select 'gen-' || n, md5((n % 200)::text) || md5((n % 200)::text), workspace_id, 'req_' || n,
        now() - n * (interval '30 days' / ${sql.lit(turns)}::float8), 900, 200, 'responses', 'turn', 'acme/model-' || n % 20, 'acme', 'default',
        case when n % 50 = 0 then 'refused' else 'completed' end, case when n % 50 = 0 then 403 else 200 end, true, 1, 1, 0.000123456789, 1200,
        400, 300, 10, false, 1, true, 'user-' || n % 1000
      from generate_series(1, ${sql.lit(turns)}) as n, (select workspace_id from api_keys where kind = 'inference' limit 1) as key`.execute(
      connection,
    );
    await sql`${addSums(changeSums(sql`(${turnChanges(sql`turns`)})`))}`.execute(connection);
    // Autovacuum would do this within a minute; until then the planner takes the table for empty.
    await sql`analyze usage_sums`.execute(connection);
  });
  await database.destroy();
}

async function measure({ baseUrl, managementKey }: Installation, query: string): Promise<void> {
  const took: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const began = performance.now();
    const response = await fetch(`${baseUrl}/usage/series?${query}`, {
      headers: { authorization: `Bearer ${managementKey}` },
    });
    const body = await response.text();
    if (response.status !== 200) throw new Error(body);
    took.push(performance.now() - began);
  }
  say(`${query}: median ${Math.round(median(took))} ms, most ${Math.round(Math.max(...took))} ms`);
}

say(`load average ${loadavg()[0]?.toFixed(1)}`);
const installation = await startInstallation({ embeddedPostgres: true });
try {
  say(`summing ${turns.toLocaleString("en")} requests`);
  await fill(installation);
  const week = new Date(Date.now() - 6 * dayMs).toISOString();
  for (const by of ["key", "model", "user", "status"]) await measure(installation, `step=day&by=${by}`);
  for (const by of ["key", "user"]) {
    await measure(installation, `step=hour&by=${by}`);
    await measure(installation, `step=hour&by=${by}&from=${week}`);
  }
} finally {
  await installation.stop();
}
