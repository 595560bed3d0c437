/** Finds the record that a request addresses by its own id or by its external id. */
import type { Kysely } from "kysely";
import { checkOnlyExternalId } from "../rules/external-id.ts";
import type { Database } from "../store/database.ts";
import { type ExternalId, findRecordByExternalId } from "../store/external-ids.ts";

/**
 * @param named the field with the record's own id; its text is empty when the external id is given
 * @returns hash or id of the record; an empty text when no record has the external id
 * @throws Fault INVALID_REQUEST when both ids are given
 */
export async function findTarget(
  database: Kysely<Database>,
  id: ExternalId,
  named: Readonly<Record<string, string>>,
): Promise<string> {
  const [[field, text] = ["", ""]] = Object.entries(named);
  if (id.externalId === "") return text;
  checkOnlyExternalId(id.externalId, text, field);
  return (await findRecordByExternalId(database, id)) ?? "";
}
