/** Turns and calls in large numbers, written by SQL: enough for query plans to matter. */
import type { Database } from "@sluice/admin-svc/store/database.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type Kysely, sql } from "kysely";

export interface ManyTurns {
  readonly turns: number;
  readonly days: number;
  readonly keys: number;
  readonly users: number;
}

const turnsOfPortion = 20_000;

/** Hash of the key with a number. */
export const hashOfKey = (n: number): string => n.toString(16).padStart(64, "0");

const keyHash = (keys: number) => sql`lpad(to_hex(n % ${sql.lit(keys)}), 64, '0')`;

/**
 * Fills the ledger of the default workspace with turns of one call each, evenly over the days until now, and its sums. The turns are those of `fillTurns`, with
 * other ids.
 */
export async function fillLedger(database: Kysely<Database>, { turns, days, keys, users }: ManyTurns): Promise<void> {
  const openedAt = sql`date_trunc('milliseconds', now() - n * (interval '1 day' * ${sql.lit(days)} / ${sql.lit(turns)}))`;
  const name = (text: ReturnType<typeof sql>) => sql`(select id from ledger_names where name = ${text})`;
  await sql`
    insert into api_keys (hash, workspace_id, name, kind, label)
    select ${keyHash(keys)}, ${defaultWorkspaceId}, 'key-' || n, 'inference', 'sk-sl-many' from generate_series(0, ${sql.lit(keys - 1)}) as n
    on conflict do nothing`.execute(database);
  await sql`
    select open_ledger_day(each::date) from generate_series((now() at time zone 'UTC')::date - ${sql.lit(days)}::int, (now() at time zone 'UTC')::date, interval '1 day') as each
    where each::date not in (select day from ledger_days)`.execute(database);
  await sql`
    insert into ledger_names (name)
    select hash from api_keys
    union select 'acme/model-' || n from generate_series(0, 19) as n union select 'provider-' || n from generate_series(0, 19) as n
    union select unnest(array['model', 'flex', 'failed', 'cancelled', 'embed', 'chat', 'responses', 'many', ${defaultWorkspaceId}::text,
      '00000000-0000-4000-8000-00000000abce'])
    on conflict do nothing`.execute(database);
  // Sums are computed by transaction; a single one for all turns would keep the worker of the sums too long.
  for (let first = 1; first <= turns; first += turnsOfPortion) {
    await sql`
    insert into ledger (
      opened_at, cost_pico, call_sequence, turn_id, workspace, key, boot, instance, door, operation, outcome, model, provider, upstream_model, service_tier,
      call_status, duration_ms, first_ms, call_after_ms, call_ms, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, requests,
      attempts, attempt, last_attempt, http_status, call_http_status, streamed, is_estimated, is_requested_model, generation_id, request_id, "user", session_id
    )
    select ${openedAt}, 123456789, ${sql.lit(turns + 1)} - n, gen_random_uuid(), ${name(sql`${defaultWorkspaceId}::text`)}, key.id, ${name(sql`'00000000-0000-4000-8000-00000000abce'`)},
      ${name(sql`'many'`)}, case when n % 3 = 0 then ${name(sql`'chat'`)} else ${name(sql`'responses'`)} end,
      case when n % 50 = 0 then ${name(sql`'embed'`)} else 2 end,
      case when n % 33 = 0 then ${name(sql`'failed'`)} when n % 41 = 0 then ${name(sql`'cancelled'`)} else 1 end,
      model.id, provider.id, ${name(sql`'model'`)}, case when n % 7 = 0 then ${name(sql`'flex'`)} end, 1, 900, 200, 0, 900, 1200, 400, 0, 300, 10, 1, 1, 1, 1,
      case when n % 33 = 0 then 502 else 200 end, 200, true, false, true, 'gen_' || md5(n::text), 'req_l' || md5(n::text), 'user-' || n % ${sql.lit(users)},
      's-' || n / 6
    from generate_series(${sql.lit(first)}, ${sql.lit(Math.min(turns, first + turnsOfPortion - 1))}) as n
      join ledger_names as key on key.name = ${keyHash(keys)}
      join ledger_names as model on model.name = 'acme/model-' || n % 20
      join ledger_names as provider on provider.name = 'provider-' || n % 20`.execute(database);
  }
  // Rows are inserted by day, so those of a day are next to each other, as in real use.
  await sql`
    insert into key_days (key_hash, day, cost_usd, attempts)
    select key_hash, (opened_at at time zone 'UTC')::date, sum(cost_usd), count(*) from all_calls where written is not null group by 1, 2
    order by 2, 1 on conflict do nothing`.execute(database);
  await sql`
    insert into key_totals as known select key_hash, ${defaultWorkspaceId}, sum(cost_usd), max(opened_at) from all_calls where written is not null group by 1
    on conflict (key_hash) do update set cost_usd = excluded.cost_usd, last_used_at = excluded.last_used_at`.execute(
    database,
  );
  await sql`analyze`.execute(database);
}

/**
 * Fills `turns` and `usage_records` of the default workspace with turns of one call each, evenly over the days until now. Each model has its own
 * provider, so no row combines a model with another model's provider. Triggers record the turns like those of a batch.
 */
export async function fillTurns(database: Kysely<Database>, { turns, days, keys, users }: ManyTurns): Promise<void> {
  const openedAt = sql`date_trunc('milliseconds', now() - n * (interval '1 day' * ${sql.lit(days)} / ${sql.lit(turns)}))`;
  const rows = sql`generate_series(1, ${sql.lit(turns)}) as n`;
  await sql`
    insert into api_keys (hash, workspace_id, name, kind, label)
    select ${keyHash(keys)}, ${defaultWorkspaceId}, 'key-' || n, 'inference', 'sk-sl-many' from generate_series(0, ${sql.lit(keys - 1)}) as n
    on conflict do nothing`.execute(database);
  await database.transaction().execute(async (transaction) => {
    // This setting switches off the trigger that keeps an earlier build from storing calls of the ledger again.
    await sql`select set_config('sluice.reads_ledger', 'on', true)`.execute(transaction);
    await sql`
    insert into usage_records (
      turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at, duration_ms, model, provider,
      upstream_model, service_tier, status, http_status, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
      is_estimated, cost_usd, streamed, "user", session_id, door, operation, payer, in_turn
    )
    select gen_random_uuid(), 1, '00000000-0000-4000-8000-00000000abcd', n, 'many', ${defaultWorkspaceId}, ${keyHash(keys)}, 'gen-' || md5(n::text), 'req_' || md5(n::text),
      ${openedAt}, 900, 'acme/model-' || n % 20, 'provider-' || n % 20, 'model', case when n % 7 = 0 then 'flex' else '' end, 'completed', 200, 1200, 400, 0, 300, 10,
      false, 0.000123456789, true, 'user-' || n % ${sql.lit(users)}, 's-' || n / 6, case when n % 3 = 0 then 'chat' else 'responses' end,
      case when n % 50 = 0 then 'embed' else 'turn' end, 'key', true
    from ${rows}`.execute(transaction);
  });
  await sql`
    insert into turns (
      generation_id, key_hash, workspace_id, request_id, opened_at, duration_ms, first_ms, door, operation, requested_model, model, provider, service_tier,
      outcome, http_status, error_type, guardrail_id, streamed, "user", session_id, requests, attempts, cost_usd, input_tokens, cached_tokens, output_tokens,
      reasoning_tokens, is_estimated, last_attempt, is_recorded, log_sequence
    )
    select 'gen-' || md5(n::text), ${keyHash(keys)}, ${defaultWorkspaceId}, 'req_' || md5(n::text), ${openedAt}, 900, 200,
      case when n % 3 = 0 then 'chat' else 'responses' end, case when n % 50 = 0 then 'embed' else 'turn' end, 'acme/model-' || n % 20,
      'acme/model-' || n % 20, 'provider-' || n % 20, case when n % 7 = 0 then 'flex' else '' end,
      case when n % 33 = 0 then 'failed' when n % 41 = 0 then 'cancelled' else 'completed' end, case when n % 33 = 0 then 502 else 200 end, null, null, true,
      'user-' || n % ${sql.lit(users)}, 's-' || n / 6, 1, 1, 0.000123456789, 1200, 400, 300, 10, false, 1, true, nextval('ledger_log')
    from ${rows}`.execute(database);
  await sql`
    insert into key_days (key_hash, day, cost_usd, attempts)
    select key_hash, (opened_at at time zone 'UTC')::date, sum(cost_usd), count(*) from usage_records group by 1, 2
    on conflict do nothing`.execute(database);
  await sql`analyze`.execute(database);
}
