/** /guardrails/{id}/assignments/keys, …/remove and /guardrails/assignments/keys: which key holds which guardrail. */
import { create } from "@bufbuild/protobuf";
import type { IncomingMessage } from "node:http";
import { keyHashes } from "@sluice/proto/contract/administration.js";
import { assignmentQuery } from "@sluice/proto/contract/guardrails.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import {
  type AdministrationCaller,
  type AdministrationParts,
  administration,
  readObject,
} from "../http/administration.ts";
import { readQuery } from "../http/query.ts";
import { guardrailOf } from "./id.ts";
import { assignmentJson } from "./record.ts";

/** 500 hashes of 64 digits are 34 KB. */
const bodyLimitBytes = 262_144;
/** A bulk operation answers when every process has acknowledged it, which is bounded by 1 s; the rest is the database. */
const timeoutMs = 10_000;

/** Of all guardrails. */
export const listAssignments = administration((parts, caller, request) => list(parts, caller, request, undefined));

export const listAssignmentsOfGuardrail = administration((parts, caller, request) =>
  list(parts, caller, request, guardrailOf(request)),
);

async function list(
  { admin, token }: AdministrationParts,
  caller: AdministrationCaller,
  request: IncomingMessage,
  guardrailId: string | undefined,
): Promise<JsonObject> {
  const { offset = 0, limit = 0 } = readQuery(request, assignmentQuery);
  const method = GuardrailService.method.listKeyAssignments;
  const input = create(method.input, { offset, limit, ...(guardrailId !== undefined && { guardrailId }) });
  const answer = await call(admin, method, input, serviceMetadata(token, caller), timeoutMs);
  return { data: answer.assignments.map(assignmentJson), total_count: Number(answer.totalCount) };
}

export const assignKeys = administration(async ({ admin, token, access }, caller, request) => {
  const method = GuardrailService.method.assignKeys;
  const input = create(method.input, await listed(caller, request));
  const answer = await call(admin, method, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { assigned_count: answer.assignedCount };
});

export const unassignKeys = administration(async ({ admin, token, access }, caller, request) => {
  const method = GuardrailService.method.unassignKeys;
  const input = create(method.input, await listed(caller, request));
  const answer = await call(admin, method, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { unassigned_count: answer.unassignedCount };
});

async function listed(
  caller: AdministrationCaller,
  request: IncomingMessage,
): Promise<{ guardrailId: string; keyHashes: string[] }> {
  const guardrailId = guardrailOf(request);
  const { key_hashes } = await readObject(caller, request, bodyLimitBytes, keyHashes);
  return { guardrailId, keyHashes: key_hashes };
}
