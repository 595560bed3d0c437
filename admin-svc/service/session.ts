/**
 * gRPC service for console sessions: opened with a management key or for a signed-in person, found by their secret,
 * ended by signing out.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  EndSessionResponseSchema,
  FindConfigRefusalResponseSchema,
  type OpenSessionResponse,
  OpenSessionResponseSchema,
  type Person,
  PersonSchema,
  RecordEndedTurnResponseSchema,
  RecordNetworkRefusalResponseSchema,
  RecordRefusalResponseSchema,
  ResolvePersonResponseSchema,
  ResolveSessionResponseSchema,
  type Session,
  SessionSchema,
  type SessionService,
} from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import { isRole, permits } from "@sluice/proto/lib/policy/role.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { randomBase62 } from "@sluice/proto/lib/ids/id.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { requestIdIn, requireServiceToken } from "@sluice/proto/lib/rpc/caller.js";
import { type Calling, callerAddress } from "@sluice/proto/lib/rpc/peer.js";
import { isKeyHash } from "../rules/key.ts";
import { consoleKey, findKeyOfPeople } from "../store/console/key.ts";
import {
  type SessionRole,
  type SessionRow,
  endSessions,
  openSession,
  recordEndedTurn,
  recordRefusal,
  useSession,
} from "../store/console/sessions.ts";
import type { ChangeOrigin } from "../store/audit.ts";
import { defaultWorkspaceId } from "../store/database.ts";
import { findWorkspace } from "../store/workspaces.ts";
import { type Administrator, asAdministrator } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { withRetryableOutage } from "./outage.ts";

/** Number of base62 digits in a session's secret: 43 x log2(62) = 256 bits. */
const secretLength = 43;

export function sessionService(deps: Deps): ServiceImpl<typeof SessionService> {
  const { reads, writes, serviceToken } = deps;
  const administer = asAdministrator(deps);
  const originOf = (context: Calling): ChangeOrigin => ({
    requestId: requestIdIn(context.requestHeader) ?? null,
    address: callerAddress(context, serviceToken),
  });
  return {
    openSession: ({ person }, context) => {
      requireServiceToken(context.requestHeader, serviceToken);
      if (!person) return administer(context, (administrator) => open(deps, administrator));
      return withRetryableOutage(async () => {
        return await open(deps, await authorFor(deps, person, originOf(context)), person);
      });
    },
    resolveSession: ({ sessionHash, knowsRoles }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return withRetryableOutage(async () => {
        const row = isKeyHash(sessionHash) ? await useSession(writes, sessionHash) : undefined;
        const isKnown = knowsRoles || (row?.role !== undefined && isRole(row.role) && permits(row.role, "admin"));
        return create(ResolveSessionResponseSchema, isKnown ? toFound(row) : {});
      });
    },
    resolvePerson: ({ person = create(PersonSchema) }, context) => {
      requireServiceToken(context.requestHeader, serviceToken);
      return withRetryableOutage(async () => {
        const { keyHash } = await authorFor(deps, person, originOf(context));
        const row = await findKeyOfPeople(reads, keyHash);
        if (!row) throw disabledKey(keyHash);
        const { email, role, rule } = person;
        return create(ResolvePersonResponseSchema, { session: toSession({ ...row, person: email, role, rule }) });
      });
    },
    endSession: ({ sessionHash, all }, context) => {
      requireServiceToken(context.requestHeader, serviceToken);
      return withRetryableOutage(async () => {
        if (isKeyHash(sessionHash)) await endSessions(writes, sessionHash, all, originOf(context));
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
    recordRefusal: (refusal, context) => {
      requireServiceToken(context.requestHeader, serviceToken);
      return administer(context, async (administrator) => {
        await recordRefusal(writes, administrator, refusal);
        return create(RecordRefusalResponseSchema);
      });
    },
    recordNetworkRefusal: ({ call }, context) => {
      requireServiceToken(context.requestHeader, serviceToken);
      return administer(context, async (administrator) => {
        await deps.networkRefusals.note(administrator, call);
        return create(RecordNetworkRefusalResponseSchema);
      });
    },
    findConfigRefusal: (_, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      const refusal = deps.configRefusal();
      return create(FindConfigRefusalResponseSchema, refusal && { refusal });
    },
  };
}

/**
 * @param given role of a signed-in person; undefined for a session of a management key @throws Fault PERMISSION_DENIED
 */
async function open({ writes }: Deps, administrator: Administrator, given?: SessionRole): Promise<OpenSessionResponse> {
  const secret = randomBase62(secretLength);
  const hash = hashKey(secret);
  await openSession(writes, administrator, hash, given);
  const row = await useSession(writes, hash);
  if (!row) throw disabledKey(administrator.keyHash);
  return create(OpenSessionResponseSchema, { secret, session: toSession(row) });
}

const disabledKey = (hash: string): Fault =>
  new Fault(FaultReason.PERMISSION_DENIED, `The key ${hash}, with which people act in the console, is disabled`);

/**
 * The author of changes by a signed-in person, who acts with the console's key. @throws Fault NOT_FOUND,
 * INVALID_REQUEST
 */
async function authorFor(
  { reads, writes }: Deps,
  { email, workspace, account, role }: Person,
  origin: ChangeOrigin,
): Promise<Administrator> {
  if (email === "" || !isRole(role))
    throw new Fault(FaultReason.INVALID_REQUEST, "person: needs an e-mail address and a role");
  const found = await findWorkspace(reads, workspace === "" ? defaultWorkspaceId : workspace);
  if (!found) throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
  const author = { workspaceId: found.id, program: "api", person: email, ...origin, ofAccount: account } as const;
  const keyHash = await consoleKey(writes, { ...author, keyHash: null });
  return { ...author, keyHash, isAccountKey: account, isDeleted: false };
}

const toFound = (row: SessionRow | undefined): { readonly session?: Session } =>
  row ? { session: toSession(row) } : {};

type ShownSession = Omit<SessionRow, "opened_at" | "expires_at"> &
  Partial<Pick<SessionRow, "opened_at" | "expires_at">>;

const toSession = (row: ShownSession): Session =>
  create(SessionSchema, {
    keyHash: row.key_hash,
    keyName: row.key_name,
    keyLabel: row.key_label,
    workspaceId: row.workspace_id,
    workspaceName: row.workspace_name,
    account: row.account,
    ...(row.opened_at && { openedAt: timestampFromDate(row.opened_at) }),
    ...(row.expires_at && { expiresAt: timestampFromDate(row.expires_at) }),
    role: row.role,
    person: row.person ?? "",
    rule: row.rule ?? "",
  });
