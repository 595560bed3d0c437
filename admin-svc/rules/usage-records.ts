/**
 * Checks usage records and budget reservations before they are stored. An invalid record makes its whole batch fail;
 * the sender then sends the records one by one.
 */
import { uuidForm } from "@sluice/proto/lib/ids/uuid.js";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { activityQuery } from "@sluice/proto/contract/records/usage.js";
import {
  type RaiseBudgetRequest,
  type RecordUsageRequest,
  type ReleaseBudgetRequest,
  type ReserveBudgetRequest,
  type SettleHoldsRequest,
  type TurnRecord,
  TurnRecordSchema,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { maxTags, tagNameProblem, tagValueProblem } from "@sluice/proto/lib/turns/tags.js";
import { type Problems, throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { type Recorded, RecordReader } from "./record-reader.ts";

const maxRecords = 500;
const maxText = 1_024;
/** Maximum number of turns counted by one record. */
const maxCount = 1_000_000_000;
/** A task is one of a few words, never free text, because prompts must not be stored. */
const taskWord = /^[a-z_]{1,32}$/;
/** Range of a database column for amounts: up to 12 digits before the point and 12 after it. */
const decimal = /^\d{1,12}(?:\.\d{1,12})?$/;
const amountRule = "must be a decimal of at most 12 places";

const callTexts = [
  "instance",
  "keyHash",
  "generationId",
  "requestId",
  "model",
  "provider",
  "upstreamModel",
  "serviceTier",
  "door",
  "user",
  "sessionId",
  "finishReason",
] as const;

export interface ParsedRecords {
  readonly records: readonly Recorded<UsageRecord>[];
  readonly turns: readonly Recorded<TurnRecord>[];
}

const callReader = new RecordReader(UsageRecordSchema);
const turnReader = new RecordReader(TurnRecordSchema);

/** @throws Fault INVALID_REQUEST with every problem */
export function parseUsageRecords({
  recordsJson,
  turnsJson,
}: Pick<RecordUsageRequest, "recordsJson" | "turnsJson">): ParsedRecords {
  const records: Recorded<UsageRecord>[] = [];
  const turns: Recorded<TurnRecord>[] = [];
  throwProblems((problems) => {
    const count = recordsJson.length + turnsJson.length;
    if (count === 0) problems.add("records_json", "at least 1 record");
    if (count > maxRecords) return problems.add("records_json", `at most ${maxRecords} records`);
    for (const [index, json] of recordsJson.entries()) {
      const record = readRecord(callReader, json, `records_json.${index}`, problems);
      if (record) checkRecord(record, `records_json.${index}`, problems);
      if (record) records.push(record);
    }
    for (const [index, json] of turnsJson.entries()) {
      const turn = readRecord(turnReader, json, `turns_json.${index}`, problems);
      if (turn) checkTurn(turn, `turns_json.${index}`, problems);
      if (turn) turns.push(turn);
    }
  });
  return { records, turns };
}

/** @returns undefined for JSON that does not have the form of the record, which is added to the problems */
function readRecord<Desc extends DescMessage>(
  reader: RecordReader<Desc>,
  json: Uint8Array,
  path: string,
  problems: Problems,
): Recorded<MessageShape<Desc>> | undefined {
  try {
    return reader.read(json);
  } catch {
    problems.add(path, `must be a ${reader.schema.name} in JSON`);
    return undefined;
  }
}

function checkRecord(record: Recorded<UsageRecord>, path: string, problems: Problems): void {
  const { attempt = 0 } = record;
  for (const name of ["turnId", "bootId", "workspaceId"] as const) checkUuid(record[name], `${path}.${name}`, problems);
  for (const name of callTexts) {
    if (!isStorable(record[name] ?? "")) problems.add(`${path}.${name}`, `at most ${maxText} characters, no NUL`);
  }
  checkFigures(record, path, problems);
  if (!taskWord.test(record.task ?? "other")) problems.add(`${path}.task`, "must be a word");
  if (attempt < 1 || attempt > 32_767) problems.add(`${path}.attempt`, "must be between 1 and 32767");
  if (record.costUsd !== undefined && !decimal.test(record.costUsd)) problems.add(`${path}.costUsd`, amountRule);
}

function checkUuid(id: string | undefined, path: string, problems: Problems): void {
  if (!uuidForm.test(id ?? "")) problems.add(path, "must be a UUID");
}

/** Largest time that a JavaScript Date can have, in milliseconds since 1970. */
const maxTimeMs = 8_640_000_000_000_000;

function checkFigures(
  { httpStatus = 0, openedAtMs = 0 }: Pick<Recorded<UsageRecord>, "httpStatus" | "openedAtMs">,
  path: string,
  problems: Problems,
): void {
  if (httpStatus > 999) problems.add(`${path}.httpStatus`, "must be at most 999");
  if (!(Math.abs(Number(openedAtMs)) <= maxTimeMs)) problems.add(`${path}.openedAtMs`, "must be a time");
}

/**
 * Maximum length in characters of a text with an index: Postgres limits the size of index entries, and a character
 * takes up to four bytes.
 */
const maxIndexed = 512;
const turnTexts = [
  "instance",
  "keyHash",
  "generationId",
  "requestId",
  "door",
  "model",
  "errorType",
  "providerError",
  "providerCode",
  "guardrailId",
  "rule",
  "traceId",
  "user",
  "sessionId",
] as const;

function checkTurn(turn: Recorded<TurnRecord>, path: string, problems: Problems): void {
  for (const name of ["bootId", "workspaceId"] as const) checkUuid(turn[name], `${path}.${name}`, problems);
  for (const name of turnTexts) {
    if (!isStorable(turn[name] ?? "", maxIndexed)) {
      problems.add(`${path}.${name}`, `at most ${maxIndexed} characters, no NUL`);
    }
  }
  checkFigures(turn, path, problems);
  if (Number(turn.sequence ?? 0) === 0) problems.add(`${path}.sequence`, "must be at least 1");
  if ((turn.count ?? 0) > maxCount) problems.add(`${path}.count`, `must be at most ${maxCount}`);
}

/** @throws Fault INVALID_REQUEST with every problem */
export function checkReservation(request: ReserveBudgetRequest): void {
  checkAmount(request);
  throwProblems((problems) => {
    if (request.bootId !== "" && !uuidForm.test(request.bootId)) problems.add("bootId", "must be a UUID");
    for (const name of ["keyBesidesUsd", "workspaceBesidesUsd"] as const) {
      if (request[name] !== "" && !decimal.test(request[name])) problems.add(name, amountRule);
    }
    if (request.tags.length > maxTags) return problems.add("tags", `at most ${maxTags} tags`);
    for (const { name, value, besidesUsd, sharedBesidesUsd } of request.tags) {
      const problem = tagNameProblem(name) ?? tagValueProblem(value);
      if (problem !== undefined) problems.add("tags", problem);
      for (const amount of [besidesUsd, sharedBesidesUsd])
        if (amount !== "" && !decimal.test(amount)) problems.add("tags", amountRule);
    }
  });
}

/** @throws Fault INVALID_REQUEST with every problem */
export function checkSettlements({ calls }: SettleHoldsRequest): void {
  throwProblems((problems) => {
    if (calls.length === 0 || calls.length > maxRecords) return problems.add("calls", `1 to ${maxRecords} calls`);
    for (const call of calls) {
      checkCall(call, problems);
      if (call.costUsd !== "" && !decimal.test(call.costUsd)) problems.add("costUsd", amountRule);
    }
  });
}

/** @throws Fault INVALID_REQUEST for a malformed id or an overlong name */
export function checkProcessIds({
  bootId,
  instance = "",
}: {
  readonly bootId: string;
  readonly instance?: string;
}): void {
  throwProblems((problems) => {
    if (!uuidForm.test(bootId)) problems.add("bootId", "must be a UUID");
    if (!isStorable(instance)) problems.add("instance", `at most ${maxText} characters, no NUL`);
  });
}

/** @throws Fault INVALID_REQUEST with every problem */
export const checkBudgetRaise = (request: RaiseBudgetRequest): void => checkAmount(request);

function checkAmount({ amountUsd, ...call }: ReserveBudgetRequest | RaiseBudgetRequest): void {
  throwProblems((problems) => {
    checkCall(call, problems);
    if (!decimal.test(amountUsd)) problems.add("amountUsd", amountRule);
  });
}

/** @throws Fault INVALID_REQUEST for a malformed id */
export function checkRelease(call: ReleaseBudgetRequest): void {
  throwProblems((problems) => checkCall(call, problems));
}

function checkCall({ turnId, attempt }: Pick<ReserveBudgetRequest, "turnId" | "attempt">, problems: Problems): void {
  if (!uuidForm.test(turnId)) problems.add("turnId", "must be a UUID");
  if (attempt < 1 || attempt > 32_767) problems.add("attempt", "must be between 1 and 32767");
}

const isStorable = (text: string, max = maxText): boolean => text.length <= max && !text.includes("\0");

/** An empty text means no filter. @throws Fault INVALID_REQUEST for a malformed filter */
export function checkActivityFilter(filter: {
  readonly date?: string;
  readonly keyHash?: string;
  readonly door?: string;
  readonly tags?: string;
}): void {
  throwProblems((problems) => {
    const { keyHash, ...others } = filter;
    activityQuery.check({ ...others, api_key_hash: keyHash }, "", problems);
    if (problems.empty && filter.date !== undefined && !isDay(filter.date)) problems.add("date", "is not a day");
  });
}

/** Whether a text is an existing day: Date would take the 30th of February for a day of March. */
const isDay = (text: string): boolean => new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
