/** Options of a fusion run, from the plugin `fusion` and the tool `service:fusion`; the tool takes precedence. */
import type { FusionPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { Reasoning, TurnRequest } from "../../turn/request.ts";
import { type ReasoningField, readToolReasoning } from "../model-tools/reasoning-field.ts";

/** Validated options of a fusion run; an absent member is unset. */
export interface FusionOptions {
  readonly panel?: readonly string[];
  readonly model?: string;
  readonly preset?: string;
  readonly maxToolCalls?: number;
  readonly tools?: readonly JsonObject[];
  /** Maximum output tokens of each model. */
  readonly maxTokens?: number;
  readonly reasoning?: Reasoning;
  readonly temperature?: number;
  readonly cacheControl?: TurnRequest["cacheControl"];
  /** Builds the path and message of a problem with an option. */
  readonly problem: (problemText: string, field?: string) => readonly [path: string, says: string];
}

export function pluginOptions(plugin: FusionPlugin | undefined): FusionOptions {
  const problem: FusionOptions["problem"] = (problemText, field) => [
    "plugins",
    ["fusion", field, problemText].filter(Boolean).join(": "),
  ];
  if (plugin === undefined) return { problem };
  const { analysisModels, model, preset, maxToolCalls, toolsJson } = plugin;
  return {
    ...(analysisModels.length > 0 && { panel: analysisModels }),
    ...(model !== "" && { model }),
    ...(preset !== "" && { preset }),
    ...(maxToolCalls !== undefined && { maxToolCalls }),
    ...(toolsJson.length > 0 && { tools: JSON.parse(Buffer.from(toolsJson).toString()) as readonly JsonObject[] }),
    problem,
  };
}

interface ToolFields {
  readonly analysis_models?: readonly string[];
  readonly model?: string;
  readonly max_tool_calls?: number;
  readonly max_completion_tokens?: number;
  readonly reasoning?: ReasoningField;
  readonly temperature?: number;
  readonly tools?: readonly JsonObject[];
  readonly cache_control?: { readonly ttl?: "5m" | "1h" };
}

/** @param path of the parameters, such as `tools.0.parameters` */
export function toolOptions(parameters: JsonObject, path: string): FusionOptions {
  const fields: ToolFields = parameters;
  const reasoning = readToolReasoning(fields.reasoning);
  return {
    ...(fields.analysis_models && { panel: fields.analysis_models }),
    ...(fields.model !== undefined && { model: fields.model }),
    ...(fields.max_tool_calls !== undefined && { maxToolCalls: fields.max_tool_calls }),
    ...(fields.tools && { tools: fields.tools }),
    ...(fields.max_completion_tokens !== undefined && { maxTokens: fields.max_completion_tokens }),
    ...(reasoning && { reasoning }),
    ...(fields.temperature !== undefined && { temperature: fields.temperature }),
    ...(fields.cache_control && { cacheControl: { ttl: fields.cache_control.ttl ?? "5m" } }),
    problem: (problemText, field) => [field === undefined ? path : `${path}.${field}`, problemText],
  };
}
