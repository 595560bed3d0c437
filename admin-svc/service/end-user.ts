/**
 * gRPC service for end users: register, read, activate and deactivate. The configuration file decides whether requests
 * of inactive end users are refused.
 */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateEndUserResponseSchema,
  DeleteEndUserResponseSchema,
  type EndUser,
  EndUserSchema,
  type EndUserService,
  GetEndUserResponseSchema,
  ListEndUsersResponseSchema,
  UpdateEndUserResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { throwProblems, invalid } from "@sluice/proto/lib/validation/problems.js";
import { checkEndUser } from "@sluice/proto/lib/validation/text.js";
import { type EndUserRow, createEndUser, findEndUser, pageOfEndUsers, updateEndUser } from "../store/end-users.ts";
import type { Author } from "../store/audit.ts";
import { asAdministrator, asReport } from "./caller.ts";
import { untilEnforced } from "./enforcement.ts";
import { pageFields, resolvePage } from "./reports/page.ts";
import type { Deps } from "./deps.ts";

/** Number of end users in a page when the request gives no limit. */
const defaultPageSize = 50;

export function endUserService(deps: Deps): ServiceImpl<typeof EndUserService> {
  const { reads, writes } = deps;
  const administer = asAdministrator(deps);
  const change = async (administrator: Author, user: string, isActive: boolean): Promise<EndUser> => {
    const changed = await updateEndUser(writes, administrator, user, isActive);
    if (changed) await untilEnforced(deps, administrator, changed);
    return endUserOf(changed?.row);
  };
  return {
    listEndUsers: ({ user, includeInactive, ...given }, context) =>
      asReport(deps, "user")(context, async ({ workspaceId }, database) => {
        const page = resolvePage(given, defaultPageSize);
        if (user !== undefined) checkName(user);
        const { rows, ...others } = await pageOfEndUsers(database, { workspaceId, user, includeInactive }, page);
        return create(ListEndUsersResponseSchema, { endUsers: rows.map(endUserOf), ...pageFields(others) });
      }),
    createEndUser: ({ user }, context) =>
      administer(context, async (administrator) => {
        checkName(user);
        const row = await createEndUser(writes, administrator, user);
        if (!row) throw new Fault(FaultReason.CONFLICT, "End user is registered already");
        return create(CreateEndUserResponseSchema, { endUser: endUserOf(row) });
      }),
    getEndUser: ({ user }, context) =>
      administer(context, async ({ workspaceId }) => {
        checkName(user);
        const row = await findEndUser(reads, workspaceId, user);
        return create(GetEndUserResponseSchema, { endUser: endUserOf(row) });
      }),
    updateEndUser: ({ user, isActive }, context) =>
      administer(context, async (administrator) => {
        checkName(user);
        if (isActive === undefined) throw invalid("is_active", "required");
        const endUser = await change(administrator, user, isActive);
        return create(UpdateEndUserResponseSchema, { endUser });
      }),
    deleteEndUser: ({ user }, context) =>
      administer(context, async (administrator) => {
        checkName(user);
        await change(administrator, user, false);
        return create(DeleteEndUserResponseSchema);
      }),
  };
}

const checkName = (user: string): void => throwProblems((problems) => checkEndUser("user", user, problems));

/** @throws Fault NOT_FOUND when the end user is not registered */
function endUserOf(row: EndUserRow | undefined): EndUser {
  if (!row) throw new Fault(FaultReason.NOT_FOUND, "End user not found");
  return create(EndUserSchema, {
    user: row.user,
    isActive: row.is_active,
    createdAt: timestamp(row.created_at_us),
    updatedAt: timestamp(row.updated_at_us),
  });
}

function timestamp(epochMicroseconds: string): Timestamp {
  const microseconds = BigInt(epochMicroseconds);
  return create(TimestampSchema, {
    seconds: microseconds / 1_000_000n,
    nanos: Number(microseconds % 1_000_000n) * 1_000,
  });
}
