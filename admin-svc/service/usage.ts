/** gRPC service that reads the ledger: the calls of one turn, activity by day and model, and credits. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type Activity,
  ActivitySchema,
  GetCreditsResponseSchema,
  GetGenerationContentResponseSchema,
  GetGenerationResponseSchema,
  ListActivityResponseSchema,
  type UsageService,
} from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { callOperations } from "@sluice/proto/lib/ledger/call-operation.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { checkActivityFilter } from "../rules/usage-records.ts";
import { contentExpiry, readContent } from "../store/contents.ts";
import { workspaceAccounts } from "../store/ledger/spending.ts";
import { type ActivityRow, activityOf } from "../store/ledger/activity.ts";
import { generationRecords } from "../store/ledger/usage.ts";
import { listTurns } from "../store/ledger/generations.ts";
import { asRecordReport, asReader, requireOwnWorkspace, requireReader } from "./caller.ts";
import { openSealed } from "./contents.ts";
import { withRetryableOutage } from "./outage.ts";
import type { Deps } from "./deps.ts";
import { listGenerations } from "../store/ledger/turn-pages.ts";
import { getUsageSeries } from "../store/ledger/series-answer.ts";
import { getUsageChange } from "../store/ledger/usage-change.ts";
import { getUsageHealth } from "../store/ledger/health.ts";
import { listSessions } from "../store/ledger/sessions.ts";
import { toGeneration } from "../store/ledger/turn-messages.ts";
import { toRecord } from "../store/ledger/usage-messages.ts";

export function usageService(deps: Deps): ServiceImpl<typeof UsageService> {
  const { reads, writes, capture } = deps;
  const read = asReader(deps);
  return {
    getCredits: (_, context) =>
      read(context, async ({ workspaceId }) => {
        const [account] = await workspaceAccounts(reads, [workspaceId]);
        if (!account) throw new Fault(FaultReason.INTERNAL);
        return create(GetCreditsResponseSchema, {
          usedUsd: account.spent_usd,
          limitReset: account.limit_reset ?? "",
          ...(account.limit_usd !== null && { totalUsd: account.limit_usd }),
        });
      }),
    getGeneration: ({ generationId, requestId }, context) =>
      withRetryableOutage(async () => {
        const { workspaceId, ownKeyHash } = await requireReader(deps, context);
        const whose = { workspaceId, ...(ownKeyHash !== undefined && { keyHash: ownKeyHash }) };
        const named = namedTurn(generationId, requestId);
        const [turn] = isStorable(generationId + requestId) ? await listTurns(reads, { ...whose, ...named }, 1) : [];
        if (!turn) throw new Fault(FaultReason.NOT_FOUND, "Generation not found");
        const rows = await generationRecords(reads, turn.generation_id, { workspaceId, keyHash: turn.key_hash });
        const expiry = await contentExpiry(reads, { workspaceId, generationId: turn.generation_id });
        return create(GetGenerationResponseSchema, {
          records: rows.map(toRecord),
          generation: toGeneration(turn),
          ...(expiry && { contentExpiresAtMs: BigInt(expiry.getTime()) }),
        });
      }),
    getGenerationContent: ({ generationId, requestId }, context) =>
      read(context, async (administrator) => {
        const place = { workspaceId: administrator.workspaceId, ...namedTurn(generationId, requestId) };
        const row = isStorable(generationId + requestId) ? await readContent(writes, administrator, place) : undefined;
        if (!row) throw new Fault(FaultReason.NOT_FOUND, "No content of this generation is stored");
        return create(GetGenerationContentResponseSchema, {
          content: openSealed(row, capture()),
          expiresAtMs: BigInt(row.expires_at.getTime()),
        });
      }),
    listGenerations: (request, context) =>
      asRecordReport(deps, "from and to")(context, ({ workspaceId }, database) =>
        listGenerations(database, workspaceId, request),
      ),
    getUsageSeries: (request, context) =>
      asRecordReport(deps, "from and to, or a filter such as key")(context, ({ workspaceId }, database) =>
        getUsageSeries(database, workspaceId, request),
      ),
    getUsageChange: (request, context) =>
      asRecordReport(deps, "from and to, or a filter such as key")(context, ({ workspaceId }, database) =>
        getUsageChange(database, workspaceId, request),
      ),
    getUsageHealth: (request, context) =>
      asRecordReport(deps, "from and to")(context, ({ workspaceId }, database) =>
        getUsageHealth(database, workspaceId, request),
      ),
    listSessions: (request, context) =>
      asRecordReport(deps, "from and to")(context, ({ workspaceId }, database) =>
        listSessions(database, workspaceId, request),
      ),
    listActivity: ({ date, keyHash, workspaceId, byOperation, door, byDoor, byTask, tags }, context) =>
      asRecordReport(deps, "date or api_key_hash")(context, async (administrator, database) => {
        requireOwnWorkspace(workspaceId, administrator);
        const filter = {
          ...(date !== "" && { date }),
          ...(keyHash !== "" && { keyHash }),
          ...(door !== "" && { door }),
          ...(tags !== "" && { tags }),
        };
        checkActivityFilter(filter);
        const units = { byOperation, byDoor, byTask };
        const rows = await activityOf(database, { workspaceId: administrator.workspaceId, ...units, ...filter });
        return create(ListActivityResponseSchema, { activities: rows.map(activityMessage) });
      }),
  };
}

/** @throws Fault INVALID_REQUEST unless exactly one id is given */
function namedTurn(generationId: string, requestId: string) {
  if ((generationId === "") === (requestId === "")) throw invalid("id", "required, or request_id in its place");
  return generationId === "" ? { requestId } : { generationId };
}

const isStorable = (text: string): boolean => text.length <= 1_024 && !text.includes("\0");

const activityMessage = (row: ActivityRow): Activity =>
  create(ActivitySchema, {
    date: row.date,
    model: row.model,
    provider: row.provider,
    costUsd: row.cost_usd,
    serviceTier: row.service_tier,
    calls: BigInt(row.calls),
    requests: BigInt(row.requests),
    inputTokens: BigInt(row.input_tokens),
    outputTokens: BigInt(row.output_tokens),
    reasoningTokens: BigInt(row.reasoning_tokens),
    ...(row.operation !== null && { operation: callOperations[row.operation] }),
    door: row.door ?? "",
    ...(row.task !== null && { task: row.task }),
  });
