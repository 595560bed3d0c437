/** Converts stored guardrails to messages. */
import { enforcedGuardrail, guardrailRecord } from "@sluice/proto/contract/records/guardrail-record.js";
import type { Guardrail } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { GuardrailRecord } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import type { Kysely } from "kysely";
import type { Database } from "../store/database.ts";
import { externalIdsOf } from "../store/external-ids.ts";
import { type EnforcedGuardrail, type GuardrailRow, storedGuardrail } from "../store/guardrail-columns.ts";

/** Converts guardrails to messages that include their external ids. */
export async function guardrailMessages(
  database: Kysely<Database>,
  rows: readonly GuardrailRow[],
): Promise<GuardrailRecord[]> {
  const externalIds = await externalIdsOf(
    database,
    "guardrail",
    rows.map(({ id }) => id),
  );
  return rows.map((row) => guardrailRecord({ ...storedGuardrail(row), external_id: externalIds.get(row.id) }));
}

/** Converts a new guardrail, which has no external id yet. */
export const recordMessage = (row: GuardrailRow): GuardrailRecord => guardrailRecord(storedGuardrail(row));

export const enforcedMessage = (row: EnforcedGuardrail): Guardrail => enforcedGuardrail(storedGuardrail(row));
