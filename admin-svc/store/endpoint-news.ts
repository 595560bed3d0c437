/** News of endpoints for other admin-svc: nothing is stored, and processes not listening miss them. */
import { type Kysely, sql } from "kysely";
import type { Database } from "./database.ts";

export const endpointChannel = "sluice_endpoints";

/** @param payload at most 7,999 bytes */
export const notifyEndpointNews = (database: Kysely<Database>, payload: string): Promise<unknown> =>
  sql`select pg_notify(${endpointChannel}, ${payload})`.execute(database);
