/** Turns and calls in large numbers, written by SQL: a table large enough for plans to matter. */
import type { Database } from "@sluice/admin-svc/store/database.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type Kysely, sql } from "kysely";

export interface ManyTurns {
  readonly turns: number;
  readonly days: number;
  readonly keys: number;
  readonly users: number;
}

/** Hash of a key by its number. */
export const hashOfKey = (n: number): string => n.toString(16).padStart(64, "0");

const keyHash = (keys: number) => sql`lpad(to_hex(n % ${sql.lit(keys)}), 64, '0')`;

/**
 * Fills `turns` and `usage_records` of the default workspace with turns of one call each, evenly over the days until now. Each model has its own
 * provider, so no row combines a model with another model's provider. Triggers note them as they do for a batch.
 */
export async function fillTurns(database: Kysely<Database>, { turns, days, keys, users }: ManyTurns): Promise<void> {
  const openedAt = sql`date_trunc('milliseconds', now() - n * (interval '1 day' * ${sql.lit(days)} / ${sql.lit(turns)}))`;
  const rows = sql`generate_series(1, ${sql.lit(turns)}) as n`;
  await sql`
    insert into api_keys (hash, workspace_id, name, kind, label)
    select ${keyHash(keys)}, ${defaultWorkspaceId}, 'key-' || n, 'inference', 'sk-sl-many' from generate_series(0, ${sql.lit(keys - 1)}) as n
    on conflict do nothing`.execute(database);
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
    from ${rows}`.execute(database);
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
