/** News of endpoints on their way to other admin-svc: nothing is stored, and who does not listen misses them. */
import { type Kysely, sql } from "kysely";
import type { Database } from "./database.ts";

export const endpointChannel = "sluice_endpoints";

/** @param payload at most 7,999 bytes */
export const notifyNews = (database: Kysely<Database>, payload: string): Promise<unknown> =>
  sql`select pg_notify(${endpointChannel}, ${payload})`.execute(database);
