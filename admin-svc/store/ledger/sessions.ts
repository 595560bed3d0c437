/**
 * Lists sessions by their last turn, latest first. Turns are read back in time, one period after another, until a page
 * is full.
 */
import { create } from "@bufbuild/protobuf";
import { defaultSessions, maxSessionModels, sessionsQuery } from "@sluice/proto/contract/records/sessions.js";
import {
  type ListSessionsRequest,
  type ListSessionsResponse,
  ListSessionsResponseSchema,
  type ListedSession,
  ListedSessionSchema,
} from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { type Tag, parseTags } from "@sluice/proto/lib/turns/tags.js";
import { invalid, throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { readCursor, writeCursor } from "../cursor.ts";
import type { Database } from "../database.ts";
import { hasTags, searchStretches } from "./generations.ts";
import { numberOf } from "./names.ts";

/** The query, with the field names of the HTTP interface. */
export interface SessionsQuery {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly tags?: string | undefined;
}

interface SessionPlace {
  readonly last_at: Date;
  readonly id: string;
}

interface SessionRow extends SessionPlace {
  readonly first_at: Date;
  readonly requests: string;
  readonly failures: string;
  readonly cost_usd: string;
  readonly models: readonly string[];
  readonly key_hash: string;
  readonly key_name: string | null;
}

/** Filter on turns by time and tags. */
interface Period {
  readonly workspaceId: string;
  readonly from: Date;
  readonly to: Date;
  /** Tags that a turn must all have; undefined for any turn. */
  readonly tags: readonly Tag[] | undefined;
}

const isTagged = ({ tags }: Period): RawBuilder<unknown> => (tags === undefined ? sql`true` : hasTags(tags));

const defaultPeriodMs = 30 * 86_400_000;
const order = [
  ["last_at", "time"],
  ["id", "text"],
] as const;
const scopeOf = (workspaceId: string) => ["sessions", workspaceId];

/** @throws Fault INVALID_REQUEST */
export async function listSessions(
  database: Kysely<Database>,
  workspaceId: string,
  request: ListSessionsRequest,
): Promise<ListSessionsResponse> {
  const query: SessionsQuery = {
    cursor: request.cursor || undefined,
    limit: request.limit || undefined,
    from: request.from || undefined,
    to: request.to || undefined,
    tags: request.tags || undefined,
  };
  throwProblems((problems) => sessionsQuery.check(query, "", problems));
  const { limit = defaultSessions } = query;
  const to = query.to === undefined ? new Date() : new Date(query.to);
  const from = query.from === undefined ? new Date(to.getTime() - defaultPeriodMs) : new Date(query.from);
  if (from >= to) throw invalid("from", "must be before to");
  const tags = query.tags === undefined ? undefined : parseTags(query.tags, "tags");
  const period = { workspaceId, from, to, tags };
  const { places, readTo } = await findSessions(database, period, limit + 1, query.cursor);
  const page = places.slice(0, limit);
  const last = places.length > limit ? page.at(-1) : readTo && { last_at: readTo, id: afterEveryId };
  const rows = await readSessions(database, period, page);
  return create(ListSessionsResponseSchema, {
    sessions: rows.map(toSession),
    nextCursor: last ? writeCursor(scopeOf(workspaceId), [String(last.last_at.getTime() * 1_000), last.id]) : "",
  });
}

/** A text that sorts after the id of every session. */
const afterEveryId = "\u{10ffff}";

interface FoundPlaces {
  readonly places: readonly SessionPlace[];
  /** Start of the read period; undefined when all turns were read. */
  readonly readTo: Date | undefined;
}

async function findSessions(
  database: Kysely<Database>,
  period: Period,
  limit: number,
  cursor: string | undefined,
): Promise<FoundPlaces> {
  const [us, id = ""] = cursor === undefined ? [] : readCursor(scopeOf(period.workspaceId), order, cursor);
  const after = us === undefined ? undefined : { last_at: new Date(Number(us) / 1_000), id };
  // Includes the time of the cursor, because further sessions may have ended at the same moment.
  const end = Math.min(period.to.getTime(), after === undefined ? Infinity : after.last_at.getTime() + 1);
  const { rows, readTo } = await searchStretches(database, period, {
    limit,
    latest: end,
    read: async (from, to, wanted) => {
      const stretch = { from, to: to ?? new Date(end) };
      return (await sessionsWithin(stretch, period, wanted, after).execute(database)).rows;
    },
  });
  return { places: rows, readTo };
}

/**
 * SQL for sessions whose last turn in the period is in the given range. Whether a session has a later turn is looked up
 * one session at a time, until there are enough.
 */
function sessionsWithin(
  { from, to }: Pick<Period, "from" | "to">,
  period: Period,
  limit: number,
  after: SessionPlace | undefined,
): RawBuilder<SessionPlace> {
  const ownTurns = sql`workspace_id = ${period.workspaceId} and ${isTagged(period)}`;
  const ownRows = sql`workspace = ${numberOf(period.workspaceId)} and not is_moved and ${isTagged(period)}`;
  const within = sql`session_id is not null and opened_at >= ${from} and opened_at < ${to}`;
  const later = sql`opened_at >= ${to} and opened_at < ${period.to}`;
  const follows =
    after === undefined
      ? sql`true`
      : sql`(last_at < ${after.last_at} or last_at = ${after.last_at} and id > ${after.id})`;
  return sql<SessionPlace>`
    with seen as materialized (
      select session_id collate "C" as id, max(opened_at) as last_at
      from (
        select session_id, opened_at from ledger where ${ownRows} and ${within}
        union all select session_id, opened_at from turns where ${ownTurns} and ${within}
      ) as turns_of_stretch group by 1
    )
    select id, last_at
    from (select * from seen where ${follows} order by last_at desc, id offset 0) as candidates
    where not exists (select from ledger where session_id = id and ${ownRows} and ${later} offset 0)
      and not exists (select from turns where session_id = id and ${ownTurns} and ${later} offset 0)
    limit ${limit}`;
}

async function readSessions(
  database: Kysely<Database>,
  period: Period,
  places: readonly SessionPlace[],
): Promise<readonly SessionRow[]> {
  if (places.length === 0) return [];
  const { workspaceId, from, to } = period;
  const { rows } = await sql<SessionRow>`
    with found as materialized (
      select session_id collate "C" as id, opened_at, generation_id, requests, outcome, cost_usd, model, key_hash from all_turns
      where session_id = any(${places.map(({ id }) => id)}::text[]) and workspace_id = ${workspaceId} and opened_at >= ${from} and opened_at < ${to}
        and ${isTagged(period)}
    ),
    models as (
      select id, array_agg(model order by requests desc, model) as models
      from (select id, model, sum(requests) as requests from found where model <> '' group by 1, 2) as used group by 1
    ),
    sums as (
      select id, min(opened_at) as first_at, max(opened_at) as last_at, sum(requests) as requests,
        coalesce(sum(requests) filter (where outcome in ('failed', 'lost', 'refused')), 0) as failures, sum(cost_usd) as cost_usd,
        (array_agg(key_hash order by opened_at desc, generation_id desc))[1] as key_hash
      from found group by 1
    )
    select sums.*, coalesce(models[1:${sql.lit(maxSessionModels)}], '{}') as models, api_keys.name as key_name
    from sums left join models using (id) left join api_keys on api_keys.hash = key_hash
    order by last_at desc, id`.execute(database);
  return rows;
}

const toSession = (row: SessionRow): ListedSession =>
  create(ListedSessionSchema, {
    id: row.id,
    firstAtMs: BigInt(row.first_at.getTime()),
    lastAtMs: BigInt(row.last_at.getTime()),
    requests: BigInt(row.requests),
    failures: BigInt(row.failures),
    costUsd: row.cost_usd,
    models: [...row.models],
    keyHash: row.key_hash,
    keyName: row.key_name ?? "",
  });
