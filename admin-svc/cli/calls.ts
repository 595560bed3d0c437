/** The command `calls` with its verbs list, show and content. */
import { toGenerationJson } from "@sluice/proto/contract/records/usage-record.js";
import { toTurnJson } from "@sluice/proto/contract/records/generations.js";
import { GetGenerationResponseSchema } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { CommandError, UsageError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { create } from "@bufbuild/protobuf";
import type { Kysely } from "kysely";
import { type GenerationsQuery, pageOfTurns } from "../store/ledger/turn-pages.ts";
import { toGeneration } from "../store/ledger/turn-messages.ts";
import { toRecord } from "../store/ledger/usage-messages.ts";
import type { Database } from "../store/database.ts";
import { type TurnRow, listTurns } from "../store/ledger/generations.ts";
import { generationRecords } from "../store/ledger/usage.ts";
import { formatUsd } from "./key-record.ts";
import { findKeyHash, keyHelp } from "./key-reference.ts";
import { type Commands, throwAsUsageError, jsonOption, textOption, formatTime, parseTimeOption } from "./terminal.ts";

export const callFilters = {
  key: textOption,
  model: textOption,
  provider: textOption,
  status: textOption,
  outcome: textOption,
  user: textOption,
  session: textOption,
  "request-id": textOption,
  door: textOption,
  operation: textOption,
  guardrail: textOption,
  error: textOption,
  "fallback-from": textOption,
  task: textOption,
  tags: textOption,
  q: textOption,
  from: textOption,
  to: textOption,
  limit: textOption,
  cursor: textOption,
} as const;
type GivenFilters = { readonly [Name in keyof typeof callFilters]?: string | undefined };

export const calls: Commands = {
  list: {
    usage:
      "[--key KEY] [--model M] [--provider P] [--q TEXT] [--status N] [--error WORD] [--fallback-from P] [--outcome WORD] [--user U] [--session S] [--request-id ID] [--door D] [--operation O] [--task T] [--tags TAGS] [--guardrail ID] [--from TIME] [--to TIME] [--limit N] [--cursor C] [--json]",
    summary: "Lists requests to models, latest first, also those that were refused, with what they cost.",
    details: [
      "TIME is a time with its zone or a day in UTC, for example 2026-11-21; --to is not included.",
      "TEXT is part of the name of a key, a model, provider, end user, session or error, or the beginning of an id.",
      "WORD of --outcome is completed, incomplete, failed, cancelled, lost or refused, and of --error an error_type or provider_error.",
      "TAGS are pairs such as team=search,env=prod: requests with all of them.",
      "N of --status is an HTTP status, or a class such as 5xx.",
      "--fallback-from lists requests that went on to another call after a failure of the provider.",
      "--cursor goes on after a page, which says how at its end. At most 200 are listed at once, 50 by default.",
      keyHelp,
    ],
    async run(args, { database, author, print }) {
      const { values } = readArguments(args, { ...callFilters, ...jsonOption });
      const { workspaceId } = await author();
      const key = values.key === undefined ? undefined : await findKeyHash(await database(), workspaceId, values.key);
      const query = readCallFilters(values, key);
      const { rows, nextCursor } = await throwAsUsageError(async () =>
        pageOfTurns(await database(), workspaceId, query),
      );
      if (values.json === true) {
        const data = rows.map((row) => toTurnJson(toGeneration(row)));
        return print(JSON.stringify({ data, next_cursor: nextCursor ?? null }));
      }
      for (const line of turnTable(rows)) print(line);
      if (nextCursor !== undefined) print(`more: --cursor ${nextCursor}`);
    },
  },
  show: {
    usage: "ID [--json]",
    summary: "Shows a request with its calls to providers.",
    details: ["ID is the X-Generation-Id of its answer, or its X-Request-Id."],
    async run(args, { database, author, print }) {
      const { values, named } = readArguments(args, jsonOption, "ID");
      const { workspaceId } = await author();
      const turn = await findTurn(await database(), workspaceId, named.ID);
      const whose = { workspaceId, keyHash: turn.key_hash };
      const records = (await generationRecords(await database(), turn.generation_id, whose)).map(toRecord);
      const answer = create(GetGenerationResponseSchema, { records, generation: toGeneration(turn) });
      if (values.json === true) return print(JSON.stringify(toGenerationJson(answer)));
      for (const line of turnTable([turn])) print(line);
      const cells = records.map((record) => [
        String(record.attempt),
        record.provider,
        record.model,
        String(record.httpStatus),
        `${record.durationMs} ms`,
        record.costUsd === undefined ? "-" : formatUsd(record.costUsd),
      ]);
      for (const line of table(["CALL", "PROVIDER", "MODEL", "STATUS", "TIME", "USD"], cells)) print(line);
    },
  },
  content: {
    usage: "ID [--json]",
    summary: "Shows what was asked and answered, where the key captures it; the audit log keeps who reads it.",
    details: ["ID is the X-Generation-Id of its answer, or its X-Request-Id.", "Needs SLUICE_URL."],
    run() {
      throw new CommandError("calls content: admin-svc decrypts it, so set SLUICE_URL and SLUICE_MANAGEMENT_KEY");
    },
  },
};

/** @param key hash of the key whose calls are listed. @throws UsageError for a wrong option */
export const readCallFilters = (given: GivenFilters, key: string | undefined): GenerationsQuery => ({
  cursor: given.cursor,
  limit: wholeNumber("--limit", given.limit),
  from: parseTimeOption("--from", given.from),
  to: parseTimeOption("--to", given.to),
  key,
  model: given.model,
  provider: given.provider,
  status: readStatus(given.status),
  outcome: given.outcome,
  user: given.user,
  session_id: given.session,
  request_id: given["request-id"],
  door: given.door,
  operation: given.operation,
  guardrail_id: given.guardrail,
  error: given.error,
  fallback_from: given["fallback-from"],
  task: given.task,
  tags: given.tags,
  q: given.q,
});

/** @throws UsageError unless the text is a status such as 502 or a class such as 5xx */
function readStatus(given: string | undefined): string | undefined {
  if (given === undefined || /^[1-5](?:\d\d|xx)$/.test(given)) return given;
  throw new UsageError("--status: a status such as 502, or a class such as 5xx");
}

/** @throws UsageError unless the text is a whole number */
function wholeNumber(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^\d{1,9}$/.test(given)) throw new UsageError(`${option}: a number`);
  return Number(given);
}

/** @throws CommandError when no turn has this generation or request id */
async function findTurn(database: Kysely<Database>, workspaceId: string, id: string): Promise<TurnRow> {
  const [byId] = await listTurns(database, { workspaceId, generationId: id }, 1);
  const [turn] = byId ? [byId] : await listTurns(database, { workspaceId, requestId: id }, 1);
  if (!turn) throw new CommandError(`no such request: ${escapeUnprintable(id)}`);
  return turn;
}

const turnTable = (rows: readonly TurnRow[]): string[] =>
  table(
    ["AT", "ID", "KEY", "MODEL", "PROVIDER", "STATUS", "OUTCOME", "USD", "TOKENS", "TIME", "WHY"],
    rows.map((row) => [
      formatTime(row.opened_at),
      row.requests > 1 ? `${row.requests} requests` : row.generation_id,
      escapeUnprintable(row.key_name ?? row.key_hash.slice(0, 16)),
      escapeUnprintable(row.model || "-"),
      row.provider || "-",
      String(row.http_status),
      row.outcome,
      formatUsd(row.cost_usd),
      `${row.input_tokens} + ${row.output_tokens}`,
      `${row.duration_ms} ms`,
      escapeUnprintable(
        [row.error_type, row.provider_error, row.provider_code, row.rule].filter((word) => word !== null).join(": ") ||
          "-",
      ),
    ]),
  );
