/** Numbers that replace repeated texts in the ledger, such as model names. */
import { type RawBuilder, sql } from "kysely";

/** SQL for the number of a name; null for an unknown name. @param name a text or an expression */
export const numberOf = (name: string | RawBuilder<unknown>): RawBuilder<number | null> =>
  sql`(select id from ledger_names where name = ${name}::text)`;
