/** The registration state of end users. */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type EndUserService,
  UpdateEndUserResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { checked, invalid } from "@sluice/proto/runtime/validation/problems.js";
import { checkEndUser } from "@sluice/proto/runtime/validation/text.js";
import { updateEndUser } from "../store/end-users.ts";
import { administering } from "./caller.ts";
import type { Parts } from "./parts.ts";

export function endUserService(parts: Parts): ServiceImpl<typeof EndUserService> {
  const { writes } = parts;
  const administer = administering(parts);
  return {
    updateEndUser: ({ user, isActive }, context) =>
      administer(context, async ({ workspaceId }) => {
        checked((problems) => checkEndUser("user", user, problems));
        if (isActive === undefined) throw invalid("is_active", "required");
        const row = await updateEndUser(writes, workspaceId, user, isActive);
        if (!row) throw new Fault(FaultReason.NOT_FOUND, "End user not found");
        return create(UpdateEndUserResponseSchema, {
          endUser: {
            user: row.user,
            isActive: row.is_active,
            createdAt: timestamp(row.created_at_us),
            updatedAt: timestamp(row.updated_at_us),
          },
        });
      }),
  };
}

function timestamp(epochMicroseconds: string): Timestamp {
  const microseconds = BigInt(epochMicroseconds);
  return create(TimestampSchema, {
    seconds: microseconds / 1_000_000n,
    nanos: Number(microseconds % 1_000_000n) * 1_000,
  });
}
