/** Authorizes administrative operations. */
import type { HandlerContext } from "@connectrpc/connect";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { requireAllowedNetwork } from "@sluice/proto/lib/policy/allowed-networks.js";
import {
  callerKeyHash,
  invalidKey,
  isServiceToken,
  personIn,
  requestIdIn,
  serviceTokenHeader,
  workspaceHeader,
} from "@sluice/proto/lib/rpc/caller.js";
import { type Calling, callPath, callerAddress } from "@sluice/proto/lib/rpc/peer.js";
import type { Kysely } from "kysely";
import { AccountError } from "../store/account.ts";
import type { Author } from "../store/audit.ts";
import type { Database } from "../store/database.ts";
import { type KeyRow, findLiveKey } from "../store/keys.ts";
import { findWorkspaceState } from "../store/workspaces.ts";
import { withRetryableOutage } from "./outage.ts";
import type { Deps } from "./deps.ts";
import type { Report } from "./reports/reports.ts";

/**
 * The author of an administrative request. An administrator acts in one workspace at a time: that of its key, or
 * another named by an account-wide key.
 */
export type Administrator = Author & {
  readonly keyHash: string;
  /** Whether the key is account-wide; true also while it acts in another workspace. */
  readonly isAccountKey: boolean;
  /** Whether the workspace is deleted, and therefore read-only. */
  readonly isDeleted: boolean;
};

type CallerDeps = Pick<Deps, "reads" | "serviceToken" | "networkRefusals">;

/**
 * The key of a request, of either kind. Its allowed networks are checked here unless a Sluice process forwards the
 * request, which has checked them before. @throws Fault
 */
export async function requireKey(deps: CallerDeps, calling: Calling): Promise<KeyRow> {
  const { reads, serviceToken } = deps;
  const { requestHeader } = calling;
  const key = await findLiveKey(reads, callerKeyHash(requestHeader, serviceToken));
  if (!key) throw invalidKey();
  if (key.allowed_networks && !isServiceToken(requestHeader.get(serviceTokenHeader), serviceToken)) {
    await holdToNetworks(deps, calling, key, key.allowed_networks);
  }
  return key;
}

/**
 * Refuses a key used from an address outside its allowed networks. @throws Fault PERMISSION_DENIED, recorded in the
 * audit log for a management key
 */
async function holdToNetworks(
  { networkRefusals, serviceToken }: CallerDeps,
  calling: Calling,
  { kind, hash: keyHash, workspace_id: workspaceId }: KeyRow,
  networks: readonly string[],
): Promise<void> {
  const address = callerAddress(calling, serviceToken);
  try {
    requireAllowedNetwork(networks, address ?? "");
  } catch (error) {
    const author = { workspaceId, keyHash, program: "api", requestId: null, address } as const;
    if (kind === "management") await networkRefusals.note(author, callPath(calling));
    throw error;
  }
}

/**
 * The workspace that a key of either kind may read; an inference key may read only its own turns.
 * @returns `ownKeyHash` is undefined for a management key
 * @throws Fault
 */
export async function requireReader(deps: CallerDeps, calling: Calling) {
  const key = await requireKey(deps, calling);
  if (key.kind === "inference") return { workspaceId: key.workspace_id, ownKeyHash: key.hash };
  const { workspaceId } = await administratorOf(deps, calling, key);
  return { workspaceId, ownKeyHash: undefined };
}

/** Authenticates an administrator. It runs on every call, so a revoked key is refused at once. @throws Fault */
async function requireAdministrator(deps: CallerDeps, calling: Calling): Promise<Administrator> {
  const key = await requireKey(deps, calling);
  if (key.kind !== "management") {
    throw new Fault(FaultReason.PERMISSION_DENIED, "Only management keys can perform this operation");
  }
  return administratorOf(deps, calling, key);
}

/** @throws Fault NOT_FOUND for a workspace that the key may not access */
async function administratorOf(
  { reads, serviceToken }: CallerDeps,
  calling: Calling,
  key: KeyRow,
): Promise<Administrator> {
  const { requestHeader: headers } = calling;
  const requestId = requestIdIn(headers) ?? null;
  const person = personIn(headers, serviceToken);
  const { workspace_id: workspaceId, hash: keyHash, account: isAccountKey } = key;
  const own = { workspaceId, keyHash, isAccountKey, isDeleted: false } as const;
  const given = { program: "api", person, requestId, address: callerAddress(calling, serviceToken) } as const;
  const named = headers.get(workspaceHeader);
  if (named === null || named === workspaceId) return { ...own, ...given, ofAccount: isAccountKey };
  const state = isAccountKey ? await findWorkspaceState(reads, named) : undefined;
  if (!state) throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
  return { ...own, ...given, workspaceId: named, isDeleted: state.isDeleted, ofAccount: false };
}

/**
 * Wraps an operation: authorizes the administrator, and converts a database outage to a retryable Fault.
 * In a deleted workspace the Fault is NOT_FOUND.
 */
export const asAdministrator =
  (deps: CallerDeps) =>
  <Result>(context: Calling, work: (administrator: Administrator) => Promise<Result>): Promise<Result> =>
    asReader(deps)(context, (administrator) => {
      if (administrator.isDeleted) throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
      return work(administrator);
    });

/** Wraps a read-only operation in the same way, but also allows a deleted workspace. */
export const asReader =
  (deps: CallerDeps) =>
  <Result>(calling: Calling, work: (administrator: Administrator) => Promise<Result>): Promise<Result> =>
    withRetryableOutage(async () => {
      const administrator = await requireAdministrator(deps, calling);
      return await (async () => work(administrator))().catch(refused);
    });

/**
 * Wraps a report for an authorized administrator.
 * @param narrowedBy filters for a smaller report, as named in its error: "from and to"
 */
export const asReport = (deps: ReportDeps, narrowedBy: string) => reporting(deps, { narrowedBy, isOfRecords: false });

/**
 * Wraps a report of turns, calls, their sums or the audit log. It may be read from a standby server, and so lack the
 * latest records.
 */
export const asRecordReport = (deps: ReportDeps, narrowedBy: string) =>
  reporting(deps, { narrowedBy, isOfRecords: true });

type ReportDeps = CallerDeps & Pick<Deps, "reports">;

function reporting(deps: ReportDeps, kind: Pick<Report, "narrowedBy" | "isOfRecords">) {
  const read = asReader(deps);
  return <Result>(
    context: Calling & Pick<HandlerContext, "signal">,
    work: (administrator: Administrator, database: Kysely<Database>) => Promise<Result>,
  ): Promise<Result> =>
    read(context, (administrator) => {
      const report = { ...kind, workspaceId: administrator.workspaceId, signal: context.signal };
      return deps.reports.run(report, (database) => work(administrator, database));
    });
}

/**
 * Converts an error about account-wide rights. @throws Fault PERMISSION_DENIED for a change reserved to account-wide
 * administrators
 */
function refused(error: unknown): never {
  if (!(error instanceof AccountError)) throw error;
  throw new Fault(FaultReason.PERMISSION_DENIED, "Only management keys of the account can change its guardrails");
}

/** Refuses an administrator without permission for account-wide changes. @throws Fault PERMISSION_DENIED */
export function requireAccountKey({ isAccountKey }: Administrator, what: string): void {
  if (isAccountKey) return;
  throw new Fault(FaultReason.PERMISSION_DENIED, `Only management keys of the account can ${what}`);
}

/**
 * Id of the workspace that a report reads; undefined for all workspaces.
 * @param workspaceId the only requested workspace; empty for all
 * @throws Fault NOT_FOUND for a workspace outside the administrator's scope
 */
export function readableWorkspace(workspaceId: string, administrator: Administrator): string | undefined {
  if (administrator.isAccountKey) return workspaceId === "" ? undefined : workspaceId;
  requireOwnWorkspace(workspaceId, administrator);
  return administrator.workspaceId;
}

/**
 * Refuses a request naming another workspace with NOT_FOUND, so its existence stays hidden. @throws Fault
 * NOT_FOUND
 */
export function requireOwnWorkspace(workspaceId: string, administrator: Administrator): void {
  if (workspaceId === "" || workspaceId === administrator.workspaceId) return;
  throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
}
