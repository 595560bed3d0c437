/** Records from before an upgrade, and the work that fills their sums. */
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { backfills, pendingBackfills } from "@sluice/admin-svc/store/ledger/backfills.js";
import { tryFold } from "@sluice/admin-svc/store/ledger/fold.js";
import { type Kysely, sql } from "kysely";

/** Does the work of admin-svc's worker until nothing is left to do. */
export async function fillPast(database: Kysely<Database>): Promise<void> {
  for (let [name] = await pendingBackfills(database); name !== undefined; [name] = await pendingBackfills(database)) {
    await backfills[name](database);
  }
  while ((await tryFold(database)) === "some");
}

const kinds = ["primary", "primary", "primary", "judge", "moderation", "panel", "analyst"];

/**
 * Adds calls as builds of migration 0018 stored them: turns of one to three calls over 30 days, with several keys, models and kinds. Their daily sums
 * are there, as those builds kept them.
 */
export async function insertPastCalls(database: Kysely<Database>, calls: number): Promise<void> {
  const kind = sql.raw(`(array[${kinds.map((each) => `'${each}'`).join(", ")}])[1 + n % ${kinds.length}]`);
  await sql`
    insert into usage_records (
      turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at, duration_ms, model, provider, upstream_model,
      service_tier, status, http_status, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, is_estimated, cost_usd, streamed,
      "user", session_id, kind
    )
    select md5('turn ' || n / 3)::uuid, 1 + n % 3, '00000000-0000-4000-8000-00000000abcd', n + 1, 'old', ${defaultWorkspaceId}, lpad(to_hex(n / 3 % 20), 64, '0'),
      'gen-' || n / 3, 'req_' || n / 3, date_trunc('milliseconds', now() - (${sql.lit(calls)} - n) * (interval '30 days' / ${sql.lit(calls)})), 100 + n % 900,
      'acme/model-' || n % 7, 'provider-' || n % 2, 'model', case when n % 5 = 0 then 'flex' else '' end, case when n % 11 = 0 then 'failed' else 'completed' end,
      case when n % 11 = 0 then 502 else 200 end, 100, 10, 0, 20, 5, n % 13 = 0, 0.001 + n * 0.000001, true, 'user-' || n % 40, 's-' || n / 9, ${kind}
    from generate_series(0, ${sql.lit(calls - 1)}) as n`.execute(database);
  const paid = sql`kind not in ('judge', 'moderation', 'classifier', 'ocr')`;
  const day = sql`(opened_at at time zone 'UTC')::date`;
  await sql`
    insert into key_days (key_hash, day, cost_usd, attempts)
    select key_hash, ${day}, sum(cost_usd), count(*) from usage_records where ${paid} group by 1, 2`.execute(database);
  await sql`
    insert into workspace_days (workspace_id, day, cost_usd, attempts)
    select workspace_id, ${day}, sum(cost_usd), count(*) from usage_records where ${paid} group by 1, 2`.execute(
    database,
  );
}
