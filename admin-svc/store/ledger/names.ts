/** Numbers of repeated texts in the ledger. */
import { type RawBuilder, sql } from "kysely";

/** The number of a name; null for a name that the ledger does not have. @param name a text or an expression */
export const numberOf = (name: string | RawBuilder<unknown>): RawBuilder<number | null> =>
  sql`(select id from ledger_names where name = ${name}::text)`;
