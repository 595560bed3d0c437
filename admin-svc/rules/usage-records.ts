/**
 * Checks usage records and budget reservations before they are stored. A batch with an invalid record is refused as a whole, and its sender
 * repeats the records one by one.
 */
import { fromJsonString } from "@bufbuild/protobuf";
import { activityQuery } from "@sluice/proto/contract/records/usage.js";
import {
  type RaiseBudgetRequest,
  type ReleaseBudgetRequest,
  type ReserveBudgetRequest,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type Problems, checked } from "@sluice/proto/runtime/validation/problems.js";

const maxRecords = 500;
const maxText = 1_024;
/** A word and never a text: prompts are not stored. */
const taskWord = /^[a-z_]{1,32}$/;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Amount as its column holds it: up to 12 digits before the point and 12 after it. */
const decimal = /^\d{1,12}(?:\.\d{1,12})?$/;

const texts = ["instance", "keyHash", "generationId", "requestId", "model", "provider", "upstreamModel"] as const;

/** @throws Fault INVALID_REQUEST with every problem */
export function readUsageRecords(recordsJson: readonly Uint8Array[]): readonly UsageRecord[] {
  const records: UsageRecord[] = [];
  checked((problems) => {
    if (recordsJson.length === 0) problems.add("records_json", "at least 1 record");
    if (recordsJson.length > maxRecords) return problems.add("records_json", `at most ${maxRecords} records`);
    for (const [index, json] of recordsJson.entries()) {
      const record = recordOf(json);
      if (!record) problems.add(`records_json.${index}`, "must be a UsageRecord in JSON");
      else checkRecord(record, `records_json.${index}`, problems);
      if (record) records.push(record);
    }
  });
  return records;
}

/** Ignores fields of a newer process. */
function recordOf(json: Uint8Array): UsageRecord | undefined {
  try {
    const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString("utf8");
    return fromJsonString(UsageRecordSchema, text, { ignoreUnknownFields: true });
  } catch {
    return undefined;
  }
}

function checkRecord(record: UsageRecord, path: string, problems: Problems): void {
  for (const name of ["turnId", "bootId", "workspaceId"] as const) {
    if (!uuid.test(record[name])) problems.add(`${path}.${name}`, "must be a UUID");
  }
  for (const name of texts)
    if (!isStorable(record[name])) problems.add(`${path}.${name}`, `at most ${maxText} characters, no NUL`);
  for (const name of ["user", "sessionId", "finishReason"] as const) {
    if (!isStorable(record[name] ?? "")) problems.add(`${path}.${name}`, `at most ${maxText} characters, no NUL`);
  }
  if (!taskWord.test(record.task ?? "other")) problems.add(`${path}.task`, "must be a word");
  if (record.attempt < 1 || record.attempt > 32_767) problems.add(`${path}.attempt`, "must be between 1 and 32767");
  if (record.httpStatus > 999) problems.add(`${path}.httpStatus`, "must be at most 999");
  if (record.costUsd !== undefined && !decimal.test(record.costUsd)) {
    problems.add(`${path}.costUsd`, "must be a decimal of at most 12 places");
  }
}

/** @throws Fault INVALID_REQUEST with every problem */
export const checkReservation = (request: ReserveBudgetRequest): void => checkAmount(request);

/** @throws Fault INVALID_REQUEST with every problem */
export const checkRaise = (request: RaiseBudgetRequest): void => checkAmount(request);

function checkAmount({ amountUsd, ...call }: ReserveBudgetRequest | RaiseBudgetRequest): void {
  checked((problems) => {
    checkCall(call, problems);
    if (!decimal.test(amountUsd)) problems.add("amountUsd", "must be a decimal of at most 12 places");
  });
}

/** @throws Fault INVALID_REQUEST */
export function checkRelease(call: ReleaseBudgetRequest): void {
  checked((problems) => checkCall(call, problems));
}

function checkCall({ turnId, attempt }: Pick<ReserveBudgetRequest, "turnId" | "attempt">, problems: Problems): void {
  if (!uuid.test(turnId)) problems.add("turnId", "must be a UUID");
  if (attempt < 1 || attempt > 32_767) problems.add("attempt", "must be between 1 and 32767");
}

const isStorable = (text: string): boolean => text.length <= maxText && !text.includes("\0");

/** An empty text means no filter. @throws Fault INVALID_REQUEST */
export function checkActivityFilter(filter: {
  readonly date?: string;
  readonly keyHash?: string;
  readonly door?: string;
}): void {
  checked((problems) => {
    activityQuery.check({ date: filter.date, api_key_hash: filter.keyHash, door: filter.door }, "", problems);
    if (problems.empty && filter.date !== undefined && !isDay(filter.date)) problems.add("date", "is not a day");
  });
}

/** Date would read the 30th of February as a day of March. */
const isDay = (text: string): boolean => new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
