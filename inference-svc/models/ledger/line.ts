/**
 * Lines of the spool about calls to providers: a letter and a JSON object, which begins with the turn and the attempt
 * of the call. Lines about turns are in `turn-line.ts`.
 *
 * - `o`: the start of a call
 * - `p`: what the call costs if the process is killed before it writes an end
 * - `e`: the end of the call, without the members in its line `o`
 * - `c`: start and end of a call together, as version 0.1.0 wrote them
 *
 * The members of `o` and `e` together are a UsageRecord in the JSON mapping of protobuf. They are concatenated by hand,
 * which takes a fraction of the time of JSON.stringify; texts chosen by a client are quoted.
 */
import { CallKind } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { callKind } from "@sluice/proto/lib/ledger/call-operation.js";
import type { CallCharge, CallEnd, CallSequence, CallStart, CallStatus, Tokens } from "./record.ts";

const statuses: Readonly<Record<CallStatus, string>> = {
  completed: "ATTEMPT_STATUS_COMPLETED",
  incomplete: "ATTEMPT_STATUS_INCOMPLETE",
  failed: "ATTEMPT_STATUS_FAILED",
  cancelled: "ATTEMPT_STATUS_CANCELLED",
  lost: "ATTEMPT_STATUS_LOST",
};

/** First members of every line about a call, which identify it. */
export const callName = ({ turnId, attempt }: Pick<CallStart, "turnId" | "attempt">): string =>
  `"turnId":"${turnId}","attempt":${attempt}`;

export function startLine(call: string, start: CallStart): string {
  const { user, sessionId, tags, door, task, operation, payer } = start;
  let line = `o{${call},"workspaceId":"${start.workspaceId}","keyHash":"${start.keyHash}","generationId":"${start.generationId}","requestId":${JSON.stringify(start.requestId)},"openedAtMs":${start.openedAtMs},"model":${quoteName(start.model)},"provider":${quoteName(start.provider)},"upstreamModel":${quoteName(start.upstreamModel)},"streamed":${start.streamed}`;
  if (user !== undefined) line += `,"user":${JSON.stringify(user)}`;
  if (sessionId !== undefined) line += `,"sessionId":${JSON.stringify(sessionId)}`;
  if (tags !== "") line += `,"tags":${JSON.stringify(tags)}`;
  if (door !== undefined) line += `,"door":${quoteName(door)}`;
  if (task !== undefined) line += `,"task":"${task}"`;
  // Most calls are for answers and paid by the key; these members are left out for them.
  if (operation !== "turn" || payer !== "key")
    line += `,"operation":"CALL_OPERATION_${operation.toUpperCase()}","payer":"CALL_PAYER_${payer.toUpperCase()}","kind":"CALL_KIND_${CallKind[callKind(start)]}"`;
  return `${line}}`;
}

export const chargeLine = (call: string, { tokens, costUsd }: CallCharge): string =>
  `p{${call},"tokens":${tokensJson(tokens)}${costMember(costUsd)}}`;

export function endLine(call: string, end: CallEnd, { bootId, sequence, instance }: CallSequence): string {
  const { tokens, firstMs, finishReason } = end;
  let line = `e{${call},"status":"${statuses[end.status]}","httpStatus":${end.httpStatus},"durationMs":${end.durationMs},"serviceTier":${quoteName(end.serviceTier)},"isEstimated":${end.isEstimated}`;
  if (tokens !== undefined) line += `,"tokens":${tokensJson(tokens)}`;
  line += costMember(end.costUsd);
  if (firstMs !== undefined) line += `,"firstMs":${firstMs}`;
  if (finishReason !== undefined) line += `,"finishReason":"${finishReason}"`;
  return `${line},"bootId":"${bootId}","sequence":${sequence},"instance":${quoteName(instance)}}`;
}

const costMember = (costUsd: string | undefined): string => (costUsd === undefined ? "" : `,"costUsd":"${costUsd}"`);

/**
 * Tokens as JSON. Few calls have more than input and output; for all others the zeros are part of the template, because
 * each part of a concatenated text takes 32 bytes.
 */
const tokensJson = ({ input, cached, cacheWrite, output, reasoning }: Tokens): string =>
  cached + cacheWrite + reasoning === 0
    ? `{"input":${input},"cached":0,"cacheWrite":0,"output":${output},"reasoning":0}`
    : `{"input":${input},"cached":${cached},"cacheWrite":${cacheWrite},"output":${output},"reasoning":${reasoning}}`;

/** JSON of names by their text. They come from the configuration file or a fixed list, so there are few. */
const names = new Map<string, string>();
const maxNames = 10_000;

export function quoteName(name: string): string {
  let json = names.get(name);
  if (json !== undefined) return json;
  if (names.size >= maxNames) names.clear();
  json = JSON.stringify(name);
  names.set(name, json);
  return json;
}

/** The charge a line states. */
export function parseCharge(line: string): CallCharge {
  const { tokens, costUsd } = JSON.parse(line.slice(1)) as CallCharge;
  return { tokens, costUsd };
}
