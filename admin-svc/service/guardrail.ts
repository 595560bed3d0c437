/** Guardrails: created, read, changed, deleted, and assigned to keys. The answer to a change means that the change is in force. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { enforcedGuardrail, maskedSettings, storedSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import {
  CheckGuardrailResponseSchema,
  CreateGuardrailRequestSchema,
  CreateGuardrailResponseSchema,
  DeleteGuardrailResponseSchema,
  GetGuardrailResponseSchema,
  type GuardrailService,
  ListGuardrailsResponseSchema,
  UpdateGuardrailResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { checkGuardrailSettings, isGuardrailId } from "../rules/guardrail.ts";
import {
  createGuardrail,
  deleteGuardrail,
  findGuardrail,
  pageOfGuardrails,
  updateGuardrail,
} from "../store/guardrails.ts";
import { assignmentMethods, guardrailNotFound } from "./assignment.ts";
import { administering, requireOwn } from "./caller.ts";
import { untilEnforced } from "./enforcement.ts";
import { enforcedMessage, recordMessage } from "./guardrail-record.ts";
import { pageOf } from "./page.ts";
import type { Deps } from "./deps.ts";

/** Guardrails of a page when no limit is given. */
const defaultPageSize = 50;

export function guardrailService(deps: Deps): ServiceImpl<typeof GuardrailService> {
  const { reads, writes } = deps;
  const administer = administering(deps);

  return {
    ...assignmentMethods(deps),
    listGuardrails: ({ offset, limit, workspaceId }, context) =>
      administer(context, async (administrator) => {
        requireOwn(workspaceId, administrator);
        const page = pageOf({ offset, limit }, defaultPageSize);
        const { rows, total } = await pageOfGuardrails(reads, administrator.workspaceId, page);
        return create(ListGuardrailsResponseSchema, { guardrails: rows.map(recordMessage), totalCount: BigInt(total) });
      }),
    createGuardrail: (request, context) =>
      administer(context, async (administrator) => {
        requireOwn(request.workspaceId, administrator);
        const settings = { ...storedSettings(request), name: request.name };
        await checkGuardrailSettings(settings);
        const made = await createGuardrail(writes, administrator, settings);
        await untilEnforced(deps, administrator, made);
        return create(CreateGuardrailResponseSchema, {
          guardrail: recordMessage(made.row),
          generation: made.generation,
        });
      }),
    getGuardrail: ({ guardrailId }, context) =>
      administer(context, async ({ workspaceId }) => {
        const row = isGuardrailId(guardrailId) ? await findGuardrail(reads, workspaceId, guardrailId) : undefined;
        if (!row) throw guardrailNotFound();
        return create(GetGuardrailResponseSchema, { guardrail: recordMessage(row) });
      }),
    checkGuardrail: ({ guardrailId, guardrail }, context) =>
      administer(context, async ({ workspaceId }) => {
        if (guardrailId !== "") {
          const row = isGuardrailId(guardrailId) ? await findGuardrail(reads, workspaceId, guardrailId) : undefined;
          if (!row) throw guardrailNotFound();
          return create(CheckGuardrailResponseSchema, { guardrail: enforcedMessage(row) });
        }
        const request = guardrail ?? create(CreateGuardrailRequestSchema);
        const settings = { ...storedSettings(request), name: request.name };
        await checkGuardrailSettings(settings);
        return create(CheckGuardrailResponseSchema, { guardrail: enforcedGuardrail({ ...settings, id: "" }) });
      }),
    updateGuardrail: ({ guardrail, updateMask }, context) =>
      administer(context, async (administrator) => {
        const id = guardrail?.id ?? "";
        if (!isGuardrailId(id)) throw guardrailNotFound();
        const settings = maskedSettings(guardrail, updateMask?.paths ?? []);
        await checkGuardrailSettings(settings);
        const changed = await updateGuardrail(writes, administrator, id, settings);
        if (!changed) throw guardrailNotFound();
        await untilEnforced(deps, administrator, changed);
        return create(UpdateGuardrailResponseSchema, {
          guardrail: recordMessage(changed.row),
          generation: changed.generation,
        });
      }),
    deleteGuardrail: ({ guardrailId }, context) =>
      administer(context, async (administrator) => {
        const change = isGuardrailId(guardrailId)
          ? await deleteGuardrail(writes, administrator, guardrailId)
          : undefined;
        if (!change) throw guardrailNotFound();
        await untilEnforced(deps, administrator, change);
        return create(DeleteGuardrailResponseSchema, { generation: change.generation });
      }),
  };
}
