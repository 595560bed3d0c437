/** The command `sessions` with its verb list. */
import { create } from "@bufbuild/protobuf";
import { toSessionJson } from "@sluice/proto/contract/records/sessions.js";
import { ListSessionsRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { UsageError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { listSessions } from "../store/ledger/sessions.ts";
import { formatUsd } from "./key-record.ts";
import { type Commands, throwAsUsageError, jsonOption, textOption, parseTimeOption } from "./terminal.ts";

export const sessions: Commands = {
  list: {
    usage: "[--tags TAGS] [--from TIME] [--to TIME] [--limit N] [--cursor C] [--json]",
    summary: "Lists the sessions of requests, the latest first, with what they cost.",
    details: [
      "TIME is a time with its zone or a day in UTC, for example 2026-11-21; the last 30 days without it. --to is not included.",
      "TAGS are pairs such as team=search,env=prod: only requests with all of them count.",
      "--cursor goes on after a page, which says how at its end. At most 100 are listed at once, 50 by default.",
      "calls list --session ID lists the requests of one.",
    ],
    async run(args, { database, author, print }) {
      const { asJson, ...query } = readSessionOptions(args);
      const { workspaceId } = await author();
      const request = create(ListSessionsRequestSchema, query);
      const page = await throwAsUsageError(async () => listSessions(await database(), workspaceId, request));
      const answer = { data: page.sessions.map(toSessionJson), next_cursor: page.nextCursor || null };
      for (const line of asJson ? [JSON.stringify(answer)] : sessionLines(answer)) print(line);
    },
  },
};

/** @throws UsageError for a wrong option */
export function readSessionOptions(args: string[]) {
  const { values } = readArguments(args, {
    tags: textOption,
    from: textOption,
    to: textOption,
    limit: textOption,
    cursor: textOption,
    ...jsonOption,
  });
  const { limit = "0", cursor = "", tags = "" } = values;
  if (!/^\d{1,3}$/.test(limit)) throw new UsageError("--limit: a number from 1 to 100");
  const from = parseTimeOption("--from", values.from) ?? "";
  const to = parseTimeOption("--to", values.to) ?? "";
  return { from, to, tags, limit: Number(limit), cursor, asJson: values.json === true };
}

/** Writes the answer of `GET /sessions` as a table. @returns the table's lines */
export function sessionLines({ data, next_cursor: next }: JsonObject): string[] {
  const cells = (data as readonly JsonObject[]).map((each) => [
    String(each["first_at"]).slice(0, 19),
    String(each["last_at"]).slice(0, 19),
    String(each["requests"]),
    String(each["failures"]),
    formatUsd(String(each["cost_usd"])),
    escapeUnprintable((each["key_name"] ?? (each["key_hash"] as string).slice(0, 16)) as string),
    escapeUnprintable((each["models"] as readonly string[]).join(", ")),
    escapeUnprintable(String(each["id"])),
  ]);
  const lines = table(["FIRST", "LAST", "REQUESTS", "FAILURES", "USD", "KEY", "MODELS", "ID"], cells);
  return typeof next === "string" ? [...lines, `more: --cursor ${next}`] : lines;
}
