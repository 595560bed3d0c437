/** For which calls a key pays: for those that answered its requests, alone or as a part of it. */
import { sql } from "kysely";
import type { UsageRecordsTable } from "./database.ts";

export const paidKinds = ["primary", "panel", "analyst"] as const satisfies readonly UsageRecordsTable["kind"][];

/** For a list in parentheses. */
export const paid = sql.join(paidKinds.map((kind) => sql.lit(kind)));
