/**
 * Line of the spool about a turn: the letter `t` and a TurnRecord in the JSON mapping of protobuf. Versions that do not
 * know the letter skip the line.
 */
import { FilterAction } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { CallOperation, TurnOutcome } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import type { TurnFacts } from "@sluice/proto/lib/turns/turn-facts.js";
import { quoteName } from "./line.ts";
import type { CallSequence } from "./record.ts";

export function turnLine(turn: TurnFacts, { bootId, sequence, instance }: CallSequence): string {
  const { firstMs, user, sessionId } = turn;
  let line = `t{"generationId":"${turn.generationId}","requestId":${JSON.stringify(turn.requestId)},"workspaceId":"${turn.workspaceId}","keyHash":"${turn.keyHash}","openedAtMs":${turn.openedAtMs},"durationMs":${turn.durationMs},"door":${quoteName(turn.door)},"operation":"CALL_OPERATION_${CallOperation[turn.operation]}","model":${JSON.stringify(turn.model)},"outcome":"TURN_OUTCOME_${TurnOutcome[turn.outcome]}","httpStatus":${turn.httpStatus},"streamed":${turn.streamed}`;
  if (firstMs !== undefined) line += `,"firstMs":${firstMs}`;
  if (user !== undefined) line += `,"user":${JSON.stringify(user)}`;
  if (sessionId !== undefined) line += `,"sessionId":${JSON.stringify(sessionId)}`;
  if (turn.tags !== "") line += `,"tags":${JSON.stringify(turn.tags)}`;
  if (turn.traceId !== "") line += `,"traceId":"${turn.traceId}"`;
  if (turn.count > 1) line += `,"count":${turn.count}`;
  // Most turns have no failures and findings, and then no further members.
  if (turn.errorType !== "" || turn.guardrailId !== "") line += failureMembers(turn);
  return `${line},"bootId":"${bootId}","sequence":${sequence},"instance":${quoteName(instance)}}`;
}

function failureMembers(turn: TurnFacts): string {
  const { errorType, guardrailId, guardrailAction, rule } = turn;
  const provider =
    turn.providerError === ""
      ? ""
      : `,"providerError":"${turn.providerError}","providerCode":${JSON.stringify(turn.providerCode)}`;
  return `${provider},"errorType":"${errorType}","guardrailId":"${guardrailId}","guardrailAction":"FILTER_ACTION_${FilterAction[guardrailAction]}","rule":${JSON.stringify(rule)}`;
}
