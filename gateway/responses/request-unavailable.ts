/** The fields of a request that do not reach a turn: checked, and refused by name wherever ignoring them would change the answer. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { Fields, isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";

const pluginIds = new Set([
  "alignment",
  "auto-beta-router",
  "auto-router",
  "context-compression",
  "file-parser",
  "fusion",
  "jev-router",
  "moderation",
  "pareto-router",
  "response-healing",
  "switchyard-router",
  "web",
  "web-fetch",
]);
/** Strict objects without a field `enabled`. */
const alwaysOn = new Set(["alignment", "jev-router"]);

const preferences = new Set([
  "order",
  "only",
  "ignore",
  "allow_fallbacks",
  "require_parameters",
  "data_collection",
  "zdr",
  "enforce_distillable_text",
  "quantizations",
  "sort",
  "max_price",
  "preferred_min_throughput",
  "preferred_max_latency",
]);

const stopConditions = new Set(["step_count_is", "has_tool_call", "max_tokens_used", "max_cost", "finish_reason_is"]);
const routes = new Set(["fallback", "sort"]);
const cacheTypes = new Set(["ephemeral"]);
const cacheTtls = new Set(["5m", "1h"]);
const cacheModes = new Set(["explicit"]);
const truncations = new Set(["auto", "disabled"]);

const notYet = "is not available yet";

export function checkUnavailable(fields: Fields, problems: Problems): void {
  checkConstants(fields);
  checkPlugins(fields, problems);
  checkProvider(fields);
  checkTruncation(fields);
  checkCaching(fields, problems);
  checkStopConditions(fields, problems);
  fields.word("route", routes, "nullable");
  checkTrace(fields, problems);
  checkPrompt(fields, problems);
  if (fields.object("image_config")) fields.problem("image_config", notYet);
}

/** Nothing is stored, so whatever builds on something stored has one possible value. */
function checkConstants(fields: Fields): void {
  if (fields.raw("previous_response_id", "nullable") !== undefined) {
    fields.problem("previous_response_id", "previous_response_id is not supported; send the full history in input");
  }
  if (fields.boolean("store", "nullable") === true) fields.problem("store", "must be false: responses are not stored");
  if (fields.boolean("background", "nullable") === true) {
    fields.problem("background", "must be false: responses are not stored");
  }
}

function checkPlugins(fields: Fields, problems: Problems): void {
  for (const [index, entry] of (fields.array("plugins") ?? []).entries()) {
    const path = `plugins.${index}`;
    if (!isObject(entry)) {
      problems.add(path, "must be an object");
      continue;
    }
    const plugin = new Fields(entry, path, problems);
    const id = plugin.requiredString("id");
    if (id === undefined) continue;
    const enabled = alwaysOn.has(id) || plugin.boolean("enabled") !== false;
    if (!pluginIds.has(id)) plugin.problem("id", `unknown plugin ${id.slice(0, 64)}`);
    else if (enabled) problems.add(path, `plugin ${id} ${notYet}`);
  }
}

function checkProvider(fields: Fields): void {
  const provider = fields.object("provider", "nullable") ?? {};
  for (const [key, value] of Object.entries(provider)) {
    const path = `provider.${key.slice(0, 64)}`;
    if (!preferences.has(key)) fields.problem(path, "unknown preference");
    else if (value !== null) fields.problem(path, notYet);
  }
}

/** A word, or an object that carries the word as its type. */
function checkTruncation(fields: Fields): void {
  const value = fields.raw("truncation", "nullable");
  if (value === undefined) return;
  const word = isObject(value) ? value["type"] : value;
  if (typeof word !== "string" || !truncations.has(word)) {
    fields.problem("truncation", "must be one of auto, disabled");
  } else if (word === "auto") {
    fields.problem("truncation", `auto ${notYet}`);
  }
}

function checkCaching(fields: Fields, problems: Problems): void {
  const control = fields.object("cache_control");
  if (control) {
    const inner = new Fields(control, "cache_control", problems);
    if (inner.requiredString("type") !== undefined) inner.word("type", cacheTypes);
    inner.word("ttl", cacheTtls);
  }
  const options = fields.object("prompt_cache_options", "nullable");
  if (options) {
    const inner = new Fields(options, "prompt_cache_options", problems);
    if (inner.requiredString("mode") !== undefined) inner.word("mode", cacheModes);
    inner.string("ttl", "nullable");
  }
}

function checkTrace(fields: Fields, problems: Problems): void {
  const trace = new Fields(fields.object("trace") ?? {}, "trace", problems);
  for (const name of ["trace_id", "trace_name", "span_name", "generation_name", "parent_span_id"]) trace.string(name);
}

function checkPrompt(fields: Fields, problems: Problems): void {
  const prompt = fields.object("prompt", "nullable");
  if (prompt) new Fields(prompt, "prompt", problems).requiredString("id");
}

/** One condition, or several of which any one stops. */
function checkStopConditions(fields: Fields, problems: Problems): void {
  const value = fields.raw("stop_server_tools_when");
  if (value === undefined) return;
  const conditions: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (conditions.length === 0) fields.problem("stop_server_tools_when", "at least 1 condition");
  for (const [index, condition] of conditions.entries()) {
    const path = Array.isArray(value) ? `stop_server_tools_when.${index}` : "stop_server_tools_when";
    if (!isObject(condition)) problems.add(path, "must be a condition object");
    else {
      const inner = new Fields(condition, path, problems);
      if (inner.requiredString("type") !== undefined) inner.word("type", stopConditions);
    }
  }
}

/** Stored prompts are looked up, and none is there; for a request that is right otherwise. @throws Fault NOT_FOUND */
export function refusePrompt(fields: Fields): void {
  const prompt = fields.object("prompt", "nullable");
  if (!prompt) return;
  throw new Fault(
    FaultReason.NOT_FOUND,
    `prompt ${String(prompt["id"]).slice(0, 256)} not found: no prompts are stored`,
    {
      origin: FaultOrigin.CLIENT,
      metadata: { error_type: "not_found", param: "prompt" },
    },
  );
}
