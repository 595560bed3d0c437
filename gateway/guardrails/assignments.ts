/** POST /guardrails/{id}/assignments/keys and …/remove: which keys a guardrail holds for. */
import { create } from "@bufbuild/protobuf";
import type { IncomingMessage } from "node:http";
import { keyHashes } from "@sluice/proto/contract/administration.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { administration, readObject } from "../http/administration.ts";
import { guardrailOf } from "./id.ts";

/** 500 hashes of 64 digits are 34 KB. */
const bodyLimitBytes = 262_144;
/** A bulk operation answers when every process has acknowledged it, which is bounded by 1 s; the rest is the database. */
const timeoutMs = 10_000;

export const assignKeys = administration(async ({ admin, token, access }, caller, request) => {
  const method = GuardrailService.method.assignKeys;
  const input = create(method.input, await listed(request));
  const answer = await call(admin, method, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { assigned_count: answer.assignedCount };
});

export const unassignKeys = administration(async ({ admin, token, access }, caller, request) => {
  const method = GuardrailService.method.unassignKeys;
  const input = create(method.input, await listed(request));
  const answer = await call(admin, method, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { unassigned_count: answer.unassignedCount };
});

async function listed(request: IncomingMessage): Promise<{ guardrailId: string; keyHashes: string[] }> {
  const guardrailId = guardrailOf(request);
  const { key_hashes } = (await readObject(request, bodyLimitBytes, keyHashes)) as { key_hashes: string[] };
  return { guardrailId, keyHashes: key_hashes };
}
