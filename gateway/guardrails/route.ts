/** /guardrails: what keys that hold one may not send. */
import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { guardrailChangeMessage, newGuardrailMessage } from "@sluice/proto/contract/guardrail-record.js";
import { guardrailChange, guardrailQuery, newGuardrail } from "@sluice/proto/contract/guardrails.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { administration, readObject } from "../http/administration.ts";
import { readQuery } from "../http/query.ts";
import { checkDetectors } from "./detectors.ts";
import { guardrailOf } from "./id.ts";
import { guardrailJson } from "./record.ts";

const { method } = GuardrailService;

/** Two patterns at their longest fit, however their characters are written; a hundred of 10,000 letters do as well. */
const bodyLimitBytes = 1_048_576;
/** A change answers when every process has acknowledged it, which is bounded by 1 s; the rest is the database. */
const timeoutMs = 10_000;

export const listGuardrails = administration(async ({ admin, token }, caller, request) => {
  const query = readQuery(request, guardrailQuery);
  const input = create(method.listGuardrails.input, {
    offset: query.offset ?? 0,
    limit: query.limit ?? 0,
    workspaceId: query.workspace_id ?? "",
  });
  const answer = await call(admin, method.listGuardrails, input, serviceMetadata(token, caller), timeoutMs);
  return { data: answer.guardrails.map(guardrailJson), total_count: Number(answer.totalCount) };
});

export const createGuardrail = administration(async ({ admin, token, access, detectors }, caller, request) => {
  const body = await readObject(caller, request, bodyLimitBytes, newGuardrail);
  checkDetectors(body, detectors);
  const input = newGuardrailMessage(body);
  access.requireKnown(method.createGuardrail.input, input);
  const answer = await call(admin, method.createGuardrail, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { data: guardrailJson(answer.guardrail) };
});

export const getGuardrail = administration(async ({ admin, token }, caller, request) => {
  const input = create(method.getGuardrail.input, { guardrailId: guardrailOf(request) });
  const answer = await call(admin, method.getGuardrail, input, serviceMetadata(token, caller), timeoutMs);
  return { data: guardrailJson(answer.guardrail) };
});

export const updateGuardrail = administration(async ({ admin, token, access, detectors }, caller, request) => {
  const id = guardrailOf(request);
  const body = await readObject(caller, request, bodyLimitBytes, guardrailChange);
  checkDetectors(body, detectors);
  const { guardrail, paths } = guardrailChangeMessage(id, body);
  const updateMask = create(FieldMaskSchema, { paths });
  const input = create(method.updateGuardrail.input, { guardrail, updateMask });
  access.requireKnown(method.updateGuardrail.input, input);
  const answer = await call(admin, method.updateGuardrail, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { data: guardrailJson(answer.guardrail) };
});

export const deleteGuardrail = administration(async ({ admin, token, access }, caller, request) => {
  const input = create(method.deleteGuardrail.input, { guardrailId: guardrailOf(request) });
  const answer = await call(admin, method.deleteGuardrail, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { deleted: true };
});
