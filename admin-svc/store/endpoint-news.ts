/**
 * Sends news about endpoints to other admin-svc processes by database notifications. Nothing is stored, so a process
 * that is not listening misses them.
 */
import { type Kysely, sql } from "kysely";
import type { Database } from "./database.ts";

export const endpointChannel = "sluice_endpoints";

/** @param payload at most 7,999 bytes, the limit of Postgres */
export const notifyEndpointNews = (database: Kysely<Database>, payload: string): Promise<unknown> =>
  sql`select pg_notify(${endpointChannel}, ${payload})`.execute(database);
