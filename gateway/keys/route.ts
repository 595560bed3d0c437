/** /keys and /key: the keys of a workspace, and the one that asks. */
import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { IncomingMessage } from "node:http";
import { keyChange, keyQuery, newKey } from "@sluice/proto/contract/keys.js";
import { RateLimitsSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { KeySchema, KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { decimalOf } from "@sluice/proto/runtime/money.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import type { Accepted } from "@sluice/proto/runtime/validation/shape.js";
import { administration, notFound, readObject } from "../http/administration.ts";
import { decodeSegment, rawPath } from "../http/path.ts";
import { readQuery } from "../http/query.ts";
import { currentKeyJson, keyJson } from "./record.ts";

const { method } = KeyService;

/** A name and an end user at their longest, each character escaped, are 5 KB. */
const bodyLimitBytes = 16_384;
/** A change answers when every process has acknowledged it, which is bounded by 1 s; the rest is the database. */
const timeoutMs = 10_000;

export const listKeys = administration(async ({ admin, token }, caller, request) => {
  const query = readQuery(request, keyQuery);
  const input = create(method.listKeys.input, {
    offset: query.offset ?? 0,
    limit: query.limit ?? 0,
    includeDisabled: query.include_disabled ?? false,
    workspaceId: query.workspace_id ?? "",
  });
  const answer = await call(admin, method.listKeys, input, serviceMetadata(token, caller), timeoutMs);
  return { data: answer.keys.map(keyJson), total_count: Number(answer.totalCount) };
});

export const createKey = administration(async ({ admin, token, access }, caller, request) => {
  const body = await readObject(caller, request, bodyLimitBytes, newKey);
  const input = create(method.createKey.input, {
    name: body.name ?? "",
    workspaceId: body.workspace_id ?? "",
    ...valuesOf(body),
  });
  access.requireKnown(method.createKey.input, input);
  const answer = await call(admin, method.createKey, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { data: keyJson(answer.key), key: answer.secret };
});

export const getKey = administration(async ({ admin, token }, caller, request) => {
  const input = create(method.getKey.input, { keyHash: hashOf(request) });
  const answer = await call(admin, method.getKey, input, serviceMetadata(token, caller), timeoutMs);
  return { data: keyJson(answer.key) };
});

export const updateKey = administration(async ({ admin, token, access }, caller, request) => {
  const hash = hashOf(request);
  const body = await readObject(caller, request, bodyLimitBytes, keyChange);
  const { name, disabled, expires_at, external, limit, limit_reset } = body;
  const named = {
    name,
    disabled,
    expires_at,
    external_user: external,
    limit_usd: limit,
    limit_reset,
    "rate_limits.requests_per_minute": body.requests_per_minute,
    "rate_limits.tokens_per_minute": body.tokens_per_minute,
    "rate_limits.concurrent_requests": body.concurrent_requests,
  };
  const paths = Object.entries(named).flatMap(([path, value]) => (value === undefined ? [] : [path]));
  const key = create(KeySchema, { hash, name: name ?? "", disabled: disabled ?? false, ...valuesOf(body) });
  const input = create(method.updateKey.input, { key, updateMask: create(FieldMaskSchema, { paths }) });
  access.requireKnown(method.updateKey.input, input);
  const answer = await call(admin, method.updateKey, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { data: keyJson(answer.key) };
});

export const deleteKey = administration(async ({ admin, token, access }, caller, request) => {
  const input = create(method.deleteKey.input, { keyHash: hashOf(request) });
  const answer = await call(admin, method.deleteKey, input, serviceMetadata(token, caller), timeoutMs);
  access.note(answer.generation);
  return { deleted: true };
});

export const getCurrentKey = administration(async ({ admin, token }, caller) => {
  const input = create(method.getCurrentKey.input);
  const answer = await call(admin, method.getCurrentKey, input, serviceMetadata(token, caller), timeoutMs);
  return { data: currentKeyJson(answer.key) };
});

const valuesOf = ({
  expires_at: expiresAt,
  external,
  limit,
  limit_reset: limitReset,
  ...body
}: Accepted<typeof newKey | typeof keyChange>) => ({
  ...(typeof limit === "number" && { limitUsd: decimalOf(limit) }),
  limitReset: limitReset ?? "",
  ...(typeof expiresAt === "string" && { expiresAt: timestampFromDate(new Date(expiresAt)) }),
  ...(external && { externalUser: external.user }),
  rateLimits: create(RateLimitsSchema, {
    ...(typeof body.requests_per_minute === "number" && { requestsPerMinute: body.requests_per_minute }),
    ...(typeof body.tokens_per_minute === "number" && { tokensPerMinute: body.tokens_per_minute }),
    ...(typeof body.concurrent_requests === "number" && { concurrentRequests: body.concurrent_requests }),
  }),
});

const path = /^\/api\/v1\/keys\/([^/]+)$/;
const form = /^[0-9a-f]{64}$/;

/** As it is listed: another spelling of a hash names nothing. */
function hashOf(request: IncomingMessage): string {
  const segment = path.exec(rawPath(request))?.[1];
  const hash = segment === undefined ? "" : decodeSegment(segment, "hash");
  if (!form.test(hash)) throw notFound("Key not found");
  return hash;
}
