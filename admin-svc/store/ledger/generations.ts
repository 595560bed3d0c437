/** Lists turns, latest first. Each filter has an index in the order of time, so that a page of a large table reads little more than its rows. */
import { type Kysely, type RawBuilder, type Selectable, sql } from "kysely";
import type { Database } from "../database.ts";
import type { TurnsTable } from "../tables/usage.ts";

/** A turn with the name of its key; null when the key is gone. */
export type TurnRow = Selectable<TurnsTable> & { readonly key_name: string | null };

/** Place in the list: the turn after which the next page begins. */
export interface TurnCursor {
  readonly openedAt: Date;
  readonly generationId: string;
}

/** Filters by the columns of `turns`; undefined filters nothing. */
export interface TurnFilter {
  readonly workspaceId: string;
  readonly keyHash?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly status?: number | undefined;
  readonly outcome?: string | undefined;
  readonly user?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly generationId?: string | undefined;
  readonly door?: string | undefined;
  readonly operation?: string | undefined;
  readonly guardrailId?: string | undefined;
  /** Included. */
  readonly from?: Date | undefined;
  /** Not included. */
  readonly to?: Date | undefined;
}

const columns: Readonly<Record<Exclude<keyof TurnFilter, "from" | "to">, string>> = {
  workspaceId: "turns.workspace_id",
  keyHash: "turns.key_hash",
  model: "model",
  provider: "provider",
  status: "http_status",
  outcome: "outcome",
  user: "turns.user",
  sessionId: "session_id",
  requestId: "request_id",
  generationId: "generation_id",
  door: "door",
  operation: "operation",
  guardrailId: "guardrail_id",
};

/** @param after the last turn of the page before; undefined for the first page */
export async function listTurns(
  database: Kysely<Database>,
  filter: TurnFilter,
  limit: number,
  after?: TurnCursor,
): Promise<readonly TurnRow[]> {
  const { rows } = await turnsQuery(filter, limit, after).execute(database);
  return rows;
}

/** The key is looked up for the rows of the page alone. */
export const turnsQuery = (filter: TurnFilter, limit: number, after?: TurnCursor): RawBuilder<TurnRow> => sql<TurnRow>`
  select page.*, api_keys.name as key_name
  from (
    select * from turns where ${sql.join(conditions(filter, after), sql` and `)}
    order by opened_at desc, generation_id desc limit ${limit}
  ) as page left join api_keys on api_keys.hash = page.key_hash
  order by opened_at desc, generation_id desc`;

function conditions(filter: TurnFilter, after: TurnCursor | undefined): RawBuilder<unknown>[] {
  const { from, to, ...equal } = filter;
  const given = Object.entries(equal).filter(([, value]) => value !== undefined);
  return [
    ...given.map(([name, value]) => sql`${sql.ref(columns[name as keyof typeof columns])} = ${value}`),
    // Indexes that leave out the most frequent value are used for the others only.
    ...(filter.status === undefined || filter.status === 200 ? [] : [sql`http_status <> 200`]),
    ...(filter.outcome === undefined || filter.outcome === "completed" ? [] : [sql`outcome <> 'completed'`]),
    ...(filter.operation === undefined || filter.operation === "turn" ? [] : [sql`operation <> 'turn'`]),
    ...(from === undefined ? [] : [sql`opened_at >= ${from}`]),
    ...(to === undefined ? [] : [sql`opened_at < ${to}`]),
    ...(after === undefined ? [] : [sql`(opened_at, generation_id) < (${after.openedAt}, ${after.generationId})`]),
  ];
}
