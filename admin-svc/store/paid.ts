/** Kinds of calls that a key pays for: those that answered its requests, and its judges beyond what the operator pays for one request. */
import { sql } from "kysely";
import type { UsageRecordsTable } from "./database.ts";

export const paidKinds = [
  "primary",
  "panel",
  "analyst",
  "charged_judge",
  "charged_moderation",
  "charged_classifier",
] as const satisfies readonly UsageRecordsTable["kind"][];

/** For a list in parentheses. */
export const paid = sql.join(paidKinds.map((kind) => sql.lit(kind)));
