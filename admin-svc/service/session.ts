/** Sessions of the console: opened with a management key, found by their secret, ended by sign-out. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  EndSessionResponseSchema,
  OpenSessionResponseSchema,
  RecordEndedTurnResponseSchema,
  ResolveSessionResponseSchema,
  type Session,
  SessionSchema,
  type SessionService,
} from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import { randomBase62 } from "@sluice/proto/runtime/id.js";
import { hashKey } from "@sluice/proto/runtime/key.js";
import { requestIdIn, requireServiceToken } from "@sluice/proto/runtime/rpc/caller.js";
import { isKeyHash } from "../rules/key.ts";
import { type SessionRow, endSessions, openSession, recordEndedTurn, useSession } from "../store/sessions.ts";
import { administering } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { orRetryLater } from "./outage.ts";

/** Base62 digits of a secret: 43 x log2(62) = 256 bits. */
const secretLength = 43;

export function sessionService(deps: Deps): ServiceImpl<typeof SessionService> {
  const { writes, serviceToken } = deps;
  const administer = administering(deps);
  return {
    openSession: (_, context) => {
      requireServiceToken(context.requestHeader, serviceToken);
      return administer(context, async (administrator) => {
        const secret = randomBase62(secretLength);
        const hash = hashKey(secret);
        await openSession(writes, administrator, hash);
        return create(OpenSessionResponseSchema, { secret, ...toFound(await useSession(writes, hash)) });
      });
    },
    resolveSession: ({ sessionHash }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return orRetryLater(async () => {
        const row = isKeyHash(sessionHash) ? await useSession(writes, sessionHash) : undefined;
        return create(ResolveSessionResponseSchema, toFound(row));
      });
    },
    endSession: ({ sessionHash, all }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return orRetryLater(async () => {
        if (isKeyHash(sessionHash)) await endSessions(writes, sessionHash, all, requestIdIn(requestHeader) ?? null);
        return create(EndSessionResponseSchema);
      });
    },
    recordEndedTurn: ({ generationId }, context) => {
      requireServiceToken(context.requestHeader, serviceToken);
      return administer(context, async (administrator) => {
        await recordEndedTurn(writes, administrator, generationId);
        return create(RecordEndedTurnResponseSchema);
      });
    },
  };
}

const toFound = (row: SessionRow | undefined): { readonly session?: Session } =>
  row ? { session: toSession(row) } : {};

const toSession = (row: SessionRow): Session =>
  create(SessionSchema, {
    keyHash: row.key_hash,
    keyName: row.key_name,
    keyLabel: row.key_label,
    workspaceId: row.workspace_id,
    workspaceName: row.workspace_name,
    account: row.account,
    openedAt: timestampFromDate(row.opened_at),
    expiresAt: timestampFromDate(row.expires_at),
  });
