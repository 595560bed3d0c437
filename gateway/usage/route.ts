/** /generation, /activity and /credits: what turns took, what was used in all, and what may be. */
import { create } from "@bufbuild/protobuf";
import { activityQuery, generationQuery, unlimitedCredits } from "@sluice/proto/contract/usage.js";
import { UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { administration } from "../http/administration.ts";
import { readQuery } from "../http/query.ts";
import { activityJson, generationJson } from "./record.ts";

const { method } = UsageService;
const timeoutMs = 5_000;

export const getGeneration = administration(async ({ admin, token }, caller, request) => {
  const { id } = readQuery(request, generationQuery);
  const input = create(method.getGeneration.input, { generationId: id });
  const answer = await call(admin, method.getGeneration, input, serviceMetadata(token, caller), timeoutMs);
  return { data: generationJson(answer.records) };
});

export const getCredits = administration(async ({ admin, token }, caller) => {
  const input = create(method.getCredits.input);
  const { totalUsd, usedUsd } = await call(admin, method.getCredits, input, serviceMetadata(token, caller), timeoutMs);
  const unlimited = totalUsd === undefined;
  const total = unlimited ? unlimitedCredits : Number(totalUsd);
  return { data: { total_credits: total, total_usage: Number(usedUsd), unlimited } };
});

export const listActivity = administration(async ({ admin, token }, caller, request) => {
  const query = readQuery(request, activityQuery);
  const input = create(method.listActivity.input, {
    date: query.date ?? "",
    keyHash: query.api_key_hash ?? "",
    workspaceId: query.workspace_id ?? "",
  });
  const answer = await call(admin, method.listActivity, input, serviceMetadata(token, caller), timeoutMs);
  return { data: answer.activities.map(activityJson) };
});
