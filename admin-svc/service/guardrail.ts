/** Guardrails: made, shown, changed, deleted, given to keys. The answer to a change means that it is in force. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type ContentFilter, FilterAction } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  CreateGuardrailResponseSchema,
  DeleteGuardrailResponseSchema,
  GetGuardrailResponseSchema,
  type GuardrailRecord,
  GuardrailRecordSchema,
  type GuardrailService,
  ListGuardrailsResponseSchema,
  UpdateGuardrailResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import { type Filter, type GuardrailSettings, checkGuardrailSettings, isGuardrailId } from "../rules/guardrail.ts";
import {
  type GuardrailRow,
  createGuardrail,
  deleteGuardrail,
  findGuardrail,
  pageOfGuardrails,
  updateGuardrail,
} from "../store/guardrails.ts";
import { assignmentMethods, guardrailNotFound } from "./assignment.ts";
import { administering, requireOwn } from "./caller.ts";
import { masked } from "./mask.ts";
import { pageOf } from "./page.ts";
import type { Parts } from "./parts.ts";

/** Guardrails of a page when no limit is given. */
const usualPage = 50;

export function guardrailService(parts: Parts): ServiceImpl<typeof GuardrailService> {
  const { reads, writes, policy } = parts;
  const administer = administering(parts);

  return {
    ...assignmentMethods(parts),
    listGuardrails: ({ offset, limit, workspaceId }, context) =>
      administer(context, async (administrator) => {
        requireOwn(workspaceId, administrator);
        const page = pageOf({ offset, limit }, usualPage);
        const { rows, total } = await pageOfGuardrails(reads, administrator.workspaceId, page);
        return create(ListGuardrailsResponseSchema, { guardrails: rows.map(recordOf), totalCount: BigInt(total) });
      }),
    createGuardrail: ({ name, description, contentFilters, workspaceId }, context) =>
      administer(context, async (administrator) => {
        requireOwn(workspaceId, administrator);
        const settings = { name, description: description ?? null, contentFilters: filtersOf(contentFilters) };
        await checkGuardrailSettings(settings);
        const row = await createGuardrail(writes, administrator, settings);
        return create(CreateGuardrailResponseSchema, { guardrail: recordOf(row) });
      }),
    getGuardrail: ({ guardrailId }, context) =>
      administer(context, async ({ workspaceId }) => {
        const row = isGuardrailId(guardrailId) ? await findGuardrail(reads, workspaceId, guardrailId) : undefined;
        if (!row) throw guardrailNotFound();
        return create(GetGuardrailResponseSchema, { guardrail: recordOf(row) });
      }),
    updateGuardrail: ({ guardrail, updateMask }, context) =>
      administer(context, async (administrator) => {
        const id = guardrail?.id ?? "";
        if (!isGuardrailId(id)) throw guardrailNotFound();
        const settings = settingsOf(guardrail, updateMask?.paths ?? []);
        await checkGuardrailSettings(settings);
        const changed = await updateGuardrail(writes, administrator, id, settings);
        if (!changed) throw guardrailNotFound();
        await policy.enforced(changed);
        return create(UpdateGuardrailResponseSchema, {
          guardrail: recordOf(changed.row),
          generation: changed.generation,
        });
      }),
    deleteGuardrail: ({ guardrailId }, context) =>
      administer(context, async (administrator) => {
        const change = isGuardrailId(guardrailId)
          ? await deleteGuardrail(writes, administrator, guardrailId)
          : undefined;
        if (!change) throw guardrailNotFound();
        await policy.enforced(change);
        return create(DeleteGuardrailResponseSchema, { generation: change.generation });
      }),
  };
}

/** What the mask names, an absent description as null. @throws Fault INVALID_REQUEST */
const settingsOf = (guardrail: GuardrailRecord | undefined, mask: readonly string[]): GuardrailSettings =>
  masked<GuardrailSettings>(mask, {
    name: () => ({ name: guardrail?.name ?? "" }),
    description: () => ({ description: guardrail?.description ?? null }),
    content_filters: () => ({ contentFilters: filtersOf(guardrail?.contentFilters ?? []) }),
  });

/** @throws Fault INVALID_REQUEST */
const filtersOf = (filters: readonly ContentFilter[]): Filter[] =>
  filters.map(({ pattern, label, action }, index) => {
    if (action !== FilterAction.BLOCK) throw invalid(`content_filters.${index}.action`, "must be block");
    return { pattern, label: label === "" ? null : label, action: "block" };
  });

function recordOf(row: GuardrailRow): GuardrailRecord {
  return create(GuardrailRecordSchema, {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    contentFilters: row.content_filters.map(({ pattern, label }) => ({
      pattern,
      label: label ?? "",
      action: FilterAction.BLOCK,
    })),
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    ...(row.description !== null && { description: row.description }),
  });
}
