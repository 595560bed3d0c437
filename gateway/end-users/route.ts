/** /end-users: who is registered, and whether as active. */
import { create } from "@bufbuild/protobuf";
import type { IncomingMessage } from "node:http";
import { endUserChange, endUserName, endUserQuery, newEndUser } from "@sluice/proto/contract/end-users.js";
import { type EndUser, EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { administration, notFound, readObject } from "../http/administration.ts";
import { decodeSegment, rawPath } from "../http/path.ts";
import { readQuery } from "../http/query.ts";
import { instant } from "@sluice/proto/runtime/instant.js";

const { method } = EndUserService;

/** The longest end user, each of its characters escaped as two halves, is 6 KB. */
const newBodyLimitBytes = 8_192;
const changeBodyLimitBytes = 4_096;
const timeoutMs = 5_000;

export const listEndUsers = administration(async ({ admin, token }, caller, request) => {
  const { offset = 0, limit = 0, user, include_inactive } = readQuery(request, endUserQuery);
  const input = create(method.listEndUsers.input, {
    offset,
    limit,
    includeInactive: include_inactive ?? false,
    ...(user !== undefined && { user }),
  });
  const answer = await call(admin, method.listEndUsers, input, serviceMetadata(token, caller), timeoutMs);
  return { data: answer.endUsers.map(endUserJson), total_count: Number(answer.totalCount) };
});

export const createEndUser = administration(async ({ admin, token }, caller, request) => {
  const { user } = await readObject(caller, request, newBodyLimitBytes, newEndUser);
  const input = create(method.createEndUser.input, { user });
  const { endUser } = await call(admin, method.createEndUser, input, serviceMetadata(token, caller), timeoutMs);
  return { data: endUserJson(endUser) };
});

export const getEndUser = administration(async ({ admin, token }, caller, request) => {
  const input = create(method.getEndUser.input, { user: userOf(request) });
  const { endUser } = await call(admin, method.getEndUser, input, serviceMetadata(token, caller), timeoutMs);
  return { data: endUserJson(endUser) };
});

export const updateEndUser = administration(async ({ admin, token }, caller, request) => {
  const user = userOf(request);
  const body = await readObject(caller, request, changeBodyLimitBytes, endUserChange);
  const input = create(method.updateEndUser.input, { user, isActive: body.is_active });
  const { endUser } = await call(admin, method.updateEndUser, input, serviceMetadata(token, caller), timeoutMs);
  return { data: endUserJson(endUser) };
});

export const deleteEndUser = administration(async ({ admin, token }, caller, request) => {
  const input = create(method.deleteEndUser.input, { user: userOf(request) });
  await call(admin, method.deleteEndUser, input, serviceMetadata(token, caller), timeoutMs);
  return undefined;
});

function endUserJson(endUser: EndUser | undefined): JsonObject {
  if (!endUser?.createdAt || !endUser.updatedAt) throw new Fault(FaultReason.INTERNAL);
  return {
    user: endUser.user,
    is_active: endUser.isActive,
    created_at: instant(endUser.createdAt),
    updated_at: instant(endUser.updatedAt),
  };
}

const path = /^\/api\/v1\/end-users\/([^/]+)$/;

function userOf(request: IncomingMessage): string {
  const segment = path.exec(rawPath(request))?.[1];
  if (segment === undefined) throw notFound("End user not found");
  const user = decodeSegment(segment, "user");
  // Clients and proxies resolve dot segments away, so that a request for one is hardly ever meant for it.
  if (user === "." || user === "..") {
    throw notFound("The end users . and .. cannot be addressed by path; use the filter of the end-user list");
  }
  checked((problems) => endUserName.check(user, "user", problems));
  return user;
}
