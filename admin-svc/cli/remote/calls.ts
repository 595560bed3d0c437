/** calls, and usage series, on another Sluice installation. */
import { usageOperations } from "@sluice/proto/contract/operations/usage.js";
import { CommandError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { callFilters, readCallFilters } from "../calls.ts";
import { formatUsd } from "../key-record.ts";
import { jsonOption } from "../terminal.ts";
import { readSeriesOptions, seriesTitles } from "../usage-series.ts";
import type { RemoteSluice } from "./client.ts";
import type { RemoteCommand, RemoteCommands } from "./command.ts";
import { type Column, recordLines, recordTable } from "./print.ts";
import { findRemoteKey } from "./references.ts";

const columns: readonly Column[] = [
  ["AT", "created_at"],
  ["ID", "id"],
  ["KEY", "key_name"],
  ["MODEL", "model"],
  ["PROVIDER", "provider"],
  ["STATUS", "status"],
  ["OUTCOME", "outcome"],
  ["USD", "cost_usd"],
  ["TIME", "duration_ms"],
  ["ERROR", "error_type"],
  ["AT PROVIDER", "provider_error"],
  ["RULE", "rule"],
];

export const remoteCalls: RemoteCommands = {
  list: async (args, sluice) => {
    const { values } = readArguments(args, { ...callFilters, ...jsonOption });
    const key = values.key === undefined ? undefined : await findRemoteKey(sluice, values.key);
    const answer = await sluice.call(usageOperations.listGenerations, { query: { ...readCallFilters(values, key) } });
    if (values.json === true) return [JSON.stringify(answer)];
    const { data, next_cursor: next } = answer as { data: readonly JsonObject[]; next_cursor: string | null };
    const lines = recordTable(data, columns);
    return next === null ? lines : [...lines, `more: --cursor ${next}`];
  },
  show: async (args, sluice) => {
    const { values, named } = readArguments(args, jsonOption, "ID");
    const { provider_responses: calls, ...call } = await findCall(sluice, named.ID);
    if (values.json === true) return [JSON.stringify({ ...call, provider_responses: calls })];
    return recordLines({ ...call, provider_responses: (calls as readonly JsonObject[]).length });
  },
  content: async (args, sluice) => {
    const { values, named } = readArguments(args, jsonOption, "ID");
    const { id } = await findCall(sluice, named.ID);
    const { data } = await sluice.call(usageOperations.getGenerationContent, { query: { id: String(id) } });
    if (values.json === true) return [JSON.stringify(data)];
    const { request, answer, ...about } = data as JsonObject;
    return [...recordLines(about), ...contentLines("request", request), ...contentLines("answer", answer)];
  },
};

/** @param given null where there is none */
function contentLines(title: string, given: unknown): string[] {
  if (given === null) return [`${title}: none`];
  const { text, bytes, is_truncated: isTruncated } = given as JsonObject;
  const size = `${String(bytes)} bytes${isTruncated === true ? ", cut off" : ""}`;
  return [`${title} (${size}):`, ...String(text).split("\n").map(escapeUnprintable)];
}

/** @param id of the generation or of the request. @throws CommandError when there is none */
async function findCall(sluice: RemoteSluice, id: string): Promise<JsonObject> {
  const byRequest = await sluice.call(usageOperations.listGenerations, { query: { request_id: id, limit: 1 } });
  const [found] = byRequest["data"] as readonly JsonObject[];
  const query = found ? { request_id: id } : { id };
  const { data } = await sluice.call(usageOperations.getGeneration, { query }).catch((error: unknown) => {
    throw error instanceof CommandError ? new CommandError(`no such request: ${escapeUnprintable(id)}`) : error;
  });
  return data as JsonObject;
}

export const remoteSeries: RemoteCommand = async (args, sluice) => {
  const { asJson, step, by, from, to, limit } = readSeriesOptions(args);
  const query = { step, by: by || undefined, from: from || undefined, to: to || undefined, limit: limit || undefined };
  const answer = await sluice.call(usageOperations.getUsageSeries, { query });
  if (asJson) return [JSON.stringify(answer)];
  const points = [answer["data"], answer["totals"]].flatMap((list) => list as readonly JsonObject[]);
  return table(
    seriesTitles(by),
    points.map((point) => cellsOf(point, step, by)),
  );
};

const cellsOf = (point: JsonObject, step: string, by: string): string[] => [
  typeof point["at"] === "string" ? point["at"].slice(0, step === "day" ? 10 : 16) : "total",
  ...(by === "" ? [] : [nameOf(point)]),
  formatUsd(String(point["cost_usd"])),
  ...["requests", "failures", "attempts", "input_tokens", "output_tokens"].map((name) => String(point[name])),
  percentilesOf(point, "first_token_ms"),
  percentilesOf(point, "duration_ms"),
];

const nameOf = ({ is_other: isOther, name, value }: JsonObject): string =>
  isOther === true ? "(others)" : escapeUnprintable(((name ?? value ?? "-") as string).slice(0, 40));

const percentilesOf = (point: JsonObject, name: string): string =>
  point[`${name}_p50`] === null ? "-" : `${String(point[`${name}_p50`])} / ${String(point[`${name}_p95`])}`;
