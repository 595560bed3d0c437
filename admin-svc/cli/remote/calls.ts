/** The commands calls, sessions and usage on another Sluice installation over HTTP. */
import { usageOperations } from "@sluice/proto/contract/operations/usage.js";
import type { UsageFilterWords } from "@sluice/proto/contract/records/usage-series.js";
import { CommandError, escapeUnprintable, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { callFilters, readCallFilters } from "../calls.ts";
import { jsonOption } from "../terminal.ts";
import { readSessionOptions, sessionLines } from "../sessions.ts";
import {
  changeLines,
  healthLines,
  readChangeOptions,
  readHealthOptions,
  readSeriesOptions,
  seriesLines,
} from "../usage-series.ts";
import type { RemoteSluice } from "./client.ts";
import type { RemoteCommands } from "./command.ts";
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

/** @param given captured content in the form of the HTTP interface; null without content */
function contentLines(title: string, given: unknown): string[] {
  if (given === null) return [`${title}: none`];
  const { text, bytes, is_truncated: isTruncated } = given as JsonObject;
  const size = `${String(bytes)} bytes${isTruncated === true ? ", cut off" : ""}`;
  return [`${title} (${size}):`, ...String(text).split("\n").map(escapeUnprintable)];
}

/** @param id of the generation or of the request. @throws CommandError when no call has it */
async function findCall(sluice: RemoteSluice, id: string): Promise<JsonObject> {
  const byRequest = await sluice.call(usageOperations.listGenerations, { query: { request_id: id, limit: 1 } });
  const [found] = byRequest["data"] as readonly JsonObject[];
  const query = found ? { request_id: id } : { id };
  const { data } = await sluice.call(usageOperations.getGeneration, { query }).catch((error: unknown) => {
    throw error instanceof CommandError ? new CommandError(`no such request: ${escapeUnprintable(id)}`) : error;
  });
  return data as JsonObject;
}

/** Leaves out options that were not given, which have the value "" or 0. */
const givenOnly = (query: Readonly<Record<string, string | number>>) =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== "" && value !== 0));

async function filterQuery(sluice: RemoteSluice, { key, ...others }: UsageFilterWords) {
  return key === undefined ? others : { ...others, key: await findRemoteKey(sluice, key) };
}

export const remoteUsage: RemoteCommands = {
  series: async (args, sluice) => {
    const { asJson, filter, ...options } = readSeriesOptions(args);
    const query = { ...givenOnly(options), ...(await filterQuery(sluice, filter)) };
    const answer = await sluice.call(usageOperations.getUsageSeries, { query });
    return asJson ? [JSON.stringify(answer)] : seriesLines(answer, options);
  },
  change: async (args, sluice) => {
    const { asJson, filter, ...times } = readChangeOptions(args);
    const query = { ...givenOnly(times), ...(await filterQuery(sluice, filter)) };
    const answer = await sluice.call(usageOperations.getUsageChange, { query });
    return asJson ? [JSON.stringify(answer)] : changeLines(answer);
  },
  health: async (args, sluice) => {
    const { asJson, ...times } = readHealthOptions(args);
    const answer = await sluice.call(usageOperations.getUsageHealth, { query: givenOnly(times) });
    return asJson ? [JSON.stringify(answer)] : healthLines(answer);
  },
};

export const remoteSessions: RemoteCommands = {
  list: async (args, sluice) => {
    const { asJson, ...options } = readSessionOptions(args);
    const answer = await sluice.call(usageOperations.listSessions, { query: givenOnly(options) });
    return asJson ? [JSON.stringify(answer)] : sessionLines(answer);
  },
};
