/** PATCH /end-users/{user}: the registration state of an end user. */
import { create } from "@bufbuild/protobuf";
import { endUserChange, endUserName } from "@sluice/proto/contract/administration.js";
import { EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { administration, notFound, readObject } from "../http/administration.ts";
import { decodeSegment, rawPath } from "../http/path.ts";
import { instant } from "../http/time.ts";

const bodyLimitBytes = 4_096;
const timeoutMs = 5_000;

export const updateEndUser = administration(async ({ admin, token }, caller, request) => {
  const user = userOf(rawPath(request));
  const body = (await readObject(request, bodyLimitBytes, endUserChange)) as { is_active: boolean };
  const method = EndUserService.method.updateEndUser;
  const input = create(method.input, { user, isActive: body.is_active });
  const { endUser } = await call(admin, method, input, serviceMetadata(token, caller), timeoutMs);
  if (!endUser?.createdAt || !endUser.updatedAt) throw new Fault(FaultReason.INTERNAL);
  return {
    data: {
      user: endUser.user,
      is_active: endUser.isActive,
      created_at: instant(endUser.createdAt),
      updated_at: instant(endUser.updatedAt),
    },
  };
});

const path = /^\/api\/v1\/end-users\/([^/]+)$/;

function userOf(raw: string): string {
  const segment = path.exec(raw)?.[1];
  if (segment === undefined) throw notFound("End user not found");
  const user = decodeSegment(segment, "user");
  // Clients and proxies resolve dot segments away, so that a request for one is hardly ever meant for it.
  if (user === "." || user === "..") {
    throw notFound("The end users . and .. cannot be addressed by path; use the filter of the end-user list");
  }
  checked((problems) => endUserName.check(user, "user", problems));
  return user;
}
