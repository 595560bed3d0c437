/** Lists and shows turns. */
import { create } from "@bufbuild/protobuf";
import { defaultGenerations, generationsQuery } from "@sluice/proto/contract/records/generations.js";
import {
  type ListGenerationsRequest,
  type ListGenerationsResponse,
  ListGenerationsResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { parseTags } from "@sluice/proto/lib/turns/tags.js";
import type { Kysely } from "kysely";
import { readCursor, writeCursor } from "../cursor.ts";
import type { Database } from "../database.ts";
import {
  type TurnCursor,
  type TurnFilter,
  type TurnRow,
  type TurnRows,
  listTurns,
  searchTurns,
} from "./generations.ts";
import { isLikeId, readSearch } from "./turn-search.ts";
import { toGeneration } from "./turn-messages.ts";

/** Filters, with the names of the HTTP interface; an undefined filter matches everything. */
export type GenerationsQuery = Partial<
  Record<
    | "cursor"
    | "from"
    | "to"
    | "key"
    | "model"
    | "provider"
    | "outcome"
    | "user"
    | "session_id"
    | "request_id"
    | "door"
    | "operation"
    | "guardrail_id"
    | "status"
    | "error"
    | "fallback_from"
    | "task"
    | "tags"
    | "q",
    string | undefined
  >
> & { readonly limit?: number | undefined };

export interface TurnsPage {
  readonly rows: readonly TurnRow[];
  /**
   * Cursor of the next page; undefined after the last page. When a search is slow, a page has fewer rows than its
   * limit, or none.
   */
  readonly nextCursor: string | undefined;
}

/** @throws Fault INVALID_REQUEST */
export async function pageOfTurns(
  database: Kysely<Database>,
  workspaceId: string,
  query: GenerationsQuery,
): Promise<TurnsPage> {
  throwProblems((problems) => generationsQuery.check(query, "", problems));
  const after = query.cursor === undefined ? undefined : readTurnCursor(workspaceId, query.cursor);
  const limit = query.limit ?? defaultGenerations;
  // Reads one row more than the page has, to know whether there is another page.
  const { rows, readTo } = await findTurns(database, toFilter(workspaceId, query), query.q, limit + 1, after);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (rows.length > limit && last) return { rows: page, nextCursor: cursorAfter(workspaceId, last) };
  return {
    rows: page,
    nextCursor: readTo && cursorAfter(workspaceId, { opened_at: readTo, generation_id: beforeEveryId }),
  };
}

async function findTurns(
  database: Kysely<Database>,
  filter: TurnFilter,
  q: string | undefined,
  limit: number,
  after: TurnCursor | undefined,
): Promise<TurnRows> {
  for (const name of ["generationId", "requestId"] as const) {
    if (q === undefined || !isLikeId(q) || filter[name] !== undefined) continue;
    const rows = await listTurns(database, { ...filter, [name]: q }, limit, after);
    if (rows.length > 0) return { rows, readTo: undefined };
  }
  const searched = q === undefined ? filter : { ...filter, text: await readSearch(database, filter.workspaceId, q) };
  if (hasSeveralFilters(searched)) return await searchTurns(database, searched, limit, after);
  return { rows: await listTurns(database, searched, limit, after), readTo: undefined };
}

/** A text that sorts before the id of every turn. */
const beforeEveryId = "!";

const unindexed = new Set<string>(["provider", "door", "statusClass", "error", "fallbackFrom", "task", "tags", "text"]);

/** Whether no single index covers all filters. */
const hasSeveralFilters = (filter: TurnFilter): boolean => {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  if (given.some(([name]) => unindexed.has(name))) return true;
  return given.filter(([name]) => !["workspaceId", "from", "to"].includes(name)).length > 1;
};

export async function listGenerations(
  database: Kysely<Database>,
  workspaceId: string,
  request: ListGenerationsRequest,
): Promise<ListGenerationsResponse> {
  const { rows, nextCursor = "" } = await pageOfTurns(database, workspaceId, toQuery(request));
  return create(ListGenerationsResponseSchema, { generations: rows.map(toGeneration), nextCursor });
}

/** Converts a request message, in which 0 and the empty text mean no filter. */
const toQuery = (request: ListGenerationsRequest): GenerationsQuery => ({
  cursor: request.cursor || undefined,
  limit: request.limit || undefined,
  from: request.from || undefined,
  to: request.to || undefined,
  key: request.keyHash || undefined,
  model: request.model || undefined,
  provider: request.provider || undefined,
  status: request.statusClass === 0 ? String(request.status || "") || undefined : `${request.statusClass}xx`,
  outcome: request.outcome || undefined,
  user: request.user || undefined,
  session_id: request.sessionId || undefined,
  request_id: request.requestId || undefined,
  door: request.door || undefined,
  operation: request.operation || undefined,
  guardrail_id: request.guardrailId || undefined,
  error: request.error || undefined,
  fallback_from: request.fallbackFrom || undefined,
  task: request.task || undefined,
  tags: request.tags || undefined,
  q: request.search || undefined,
});

const toDate = (time: string | undefined): Date | undefined => (time === undefined ? undefined : new Date(time));

const toFilter = (workspaceId: string, query: GenerationsQuery): TurnFilter => ({
  workspaceId,
  keyHash: query.key,
  model: query.model,
  provider: query.provider,
  ...(query.status?.endsWith("xx") === true
    ? { statusClass: Number(query.status[0]) }
    : { status: query.status === undefined ? undefined : Number(query.status) }),
  outcome: query.outcome,
  user: query.user,
  sessionId: query.session_id,
  requestId: query.request_id,
  door: query.door,
  operation: query.operation,
  guardrailId: query.guardrail_id,
  error: query.error,
  fallbackFrom: query.fallback_from,
  task: query.task,
  tags: query.tags === undefined ? undefined : parseTags(query.tags, "tags"),
  from: toDate(query.from),
  to: toDate(query.to),
});

const order = [
  ["opened_at", "time"],
  ["generation_id", "text"],
] as const;

/**
 * Identifies the list in a cursor, without its filters: turns are always in the order of their times, so a cursor stays
 * valid with other filters.
 */
const scopeOf = (workspaceId: string) => ["generations", workspaceId];

const cursorAfter = (workspaceId: string, { opened_at: at, generation_id: id }: PlacedTurn): string =>
  writeCursor(scopeOf(workspaceId), [String(at.getTime() * 1_000), id]);

type PlacedTurn = Pick<TurnRow, "opened_at" | "generation_id">;

/** Decodes the position of a cursor. @throws Fault INVALID_REQUEST for a cursor of another list */
function readTurnCursor(workspaceId: string, cursor: string): TurnCursor {
  const [us, generationId = ""] = readCursor(scopeOf(workspaceId), order, cursor);
  return { openedAt: new Date(Number(us) / 1_000), generationId };
}
