/**
 * Formats a batch of turns as log records of OpenTelemetry, in JSON over HTTP. Attributes have the same names as in
 * traces.
 */
import type { OtlpSettings } from "@sluice/proto/config/sinks/exports.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { version } from "@sluice/proto/lib/process/version.js";
import type { Message } from "../sinks/post.ts";
import type { ExportedBatch } from "./batch.ts";

export function otlpMessage({ url, headers }: OtlpSettings, { batch, turns }: ExportedBatch): Message {
  const service = { "service.name": "sluice", "service.namespace": "sluice", "service.version": version };
  const resource = { attributes: toAttributes(service) };
  const logRecords = turns.map((turn) => toLogRecord(turn, batch.workspace_id, batch.batch_at));
  return {
    url: `${url.replace(/\/+$/, "")}/v1/logs`,
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope: { name: "sluice" }, logRecords }] }] }),
  };
}

/** OpenTelemetry severity of a log record. */
const info = { severityNumber: 9, severityText: "INFO" };
const warn = { severityNumber: 13, severityText: "WARN" };
const troubles: ReadonlySet<unknown> = new Set(["failed", "lost", "refused"]);

/** Converts a turn to a log record, whose time is the end of the turn. */
function toLogRecord(turn: JsonObject, workspaceId: string, observedAt: Date): object {
  const { outcome, trace_id: traceId } = turn;
  const endedMs = Date.parse(String(turn["created_at"])) + Number(turn["duration_ms"]);
  return {
    timeUnixNano: toNanoseconds(endedMs),
    observedTimeUnixNano: toNanoseconds(observedAt.getTime()),
    ...(troubles.has(outcome) ? warn : info),
    eventName: "sluice.turn",
    body: { stringValue: `turn ${String(outcome)}` },
    attributes: toAttributes(attributesOfTurn(turn, workspaceId)),
    ...(typeof traceId === "string" && { traceId }),
  };
}

const toNanoseconds = (milliseconds: number): string => `${Math.round(milliseconds)}000000`;

const attributesOfTurn = (turn: JsonObject, workspaceId: string): JsonObject => ({
  "sluice.generation_id": turn["id"],
  "sluice.request_id": turn["request_id"],
  "sluice.workspace_id": workspaceId,
  "sluice.key_hash": turn["key_hash"],
  "sluice.key_name": turn["key_name"],
  "sluice.model": turn["requested_model"],
  "sluice.served_model": turn["model"],
  "sluice.endpoint_id": turn["endpoint_id"],
  "sluice.door": turn["door"],
  "sluice.operation": turn["operation"],
  "sluice.stream": turn["stream"],
  "sluice.outcome": turn["outcome"],
  "sluice.error_type": turn["error_type"],
  "sluice.provider_error": turn["provider_error"],
  "sluice.provider_code": turn["provider_code"],
  "sluice.guardrail.id": turn["guardrail_id"],
  "sluice.guardrail.rule": turn["rule"],
  "sluice.requests": turn["requests"],
  "sluice.attempts": turn["attempts"],
  // The cost is a string, which keeps every digit; in traces it is a number.
  "sluice.cost_usd": turn["cost_usd"],
  "sluice.is_estimated": turn["is_estimated"],
  "sluice.time_to_first_token": toSeconds(turn["first_token_ms"]),
  "sluice.duration": toSeconds(turn["duration_ms"]),
  "http.response.status_code": turn["status"],
  "gen_ai.provider.name": turn["provider"],
  "sluice.finish_reason": turn["finish_reason"],
  "gen_ai.usage.input_tokens": turn["input_tokens"],
  "gen_ai.usage.cache_read.input_tokens": turn["cached_tokens"],
  "gen_ai.usage.output_tokens": turn["output_tokens"],
  "gen_ai.usage.reasoning.output_tokens": turn["reasoning_tokens"],
  "user.id": turn["user"],
  "session.id": turn["session_id"],
  ...Object.fromEntries(
    Object.entries(turn["tags"] as JsonObject).map(([name, value]) => [`sluice.tag.${name}`, value]),
  ),
});

const toSeconds = (milliseconds: unknown): number | null =>
  typeof milliseconds === "number" ? milliseconds / 1_000 : null;

/** Attributes without a value are left out. */
const toAttributes = (values: JsonObject): readonly object[] =>
  Object.entries(values).flatMap(([key, value]) => {
    const typed = toValue(value);
    return typed === undefined ? [] : [{ key, value: typed }];
  });

function toValue(value: unknown): object | undefined {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value !== "number") return undefined;
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
