/** Settings of a fusion run: the request's options take precedence over the preset, and the preset over the defaults. */
import { serviceTools } from "@sluice/proto/contract/tools/service-tools.js";
import type { FusionPresets, PresetName } from "@sluice/proto/config/routers.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { isPermittedTool } from "../../agent-loop/permitted-tools.ts";
import type { HostedTool, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { FusionOptions } from "./fusion-options.ts";

export interface FusionSettings {
  /** Slugs of the 1 to 8 models that answer; repetitions are allowed. */
  readonly panel: readonly string[];
  /** Slug of the analyst model, which compares the answers. */
  readonly model: string;
  /** Maximum number of tool calls of each model. */
  readonly maxToolCalls: number;
  /** Maximum output tokens of each model. */
  readonly maxTokens: number;
  /** Tools of every model of the panel, and of the analyst. */
  readonly tools: readonly HostedTool[];
  /** Tool types that are unavailable, or that the key may not use. */
  readonly leftOut: readonly string[];
  /** Request settings of every call; `temperature` applies only to panel members. */
  readonly manner: Pick<TurnRequest, "reasoning" | "cacheControl" | "temperature">;
}

export interface SettingsParts {
  readonly presets: FusionPresets;
  /** Whether the catalogue has a model with this slug. */
  readonly hasModel: (slug: string) => boolean;
  /** Filters models by the permissions of the key. @throws Fault PERMISSION_DENIED when the key may use none of them */
  readonly permitted: (slugs: readonly string[], scope: Scope) => readonly string[];
  /** Whether all these models can use the tool. */
  readonly hasTool: (tool: HostedTool, models: readonly string[], scope: Scope) => boolean;
}

const standardPreset: PresetName = "general-high";
/** Default of the maximum number of tool calls. */
const standardToolCalls = 4;
const standardTools = ["service:web_search", "service:web_fetch"];
const standardTokens = 16_000;
/** Tools that call other models. They are refused within a fusion run: nested runs would cost without end. */
const withOtherModels: ReadonlySet<string> = new Set(["service:fusion", "service:advisor", "service:subagent"]);

/**
 * @param all all sources of options by precedence, at least one
 * @param usual slug of the default analyst model; empty for none
 * @throws Fault INVALID_REQUEST, with a hint about the operator's settings; PERMISSION_DENIED for models and named
 * tools the key may not use
 */
export function settingsOf(
  all: readonly [FusionOptions, ...FusionOptions[]],
  parts: SettingsParts,
  scope: Scope,
  usual = "",
): FusionSettings {
  const problems = new Problems();
  const wish = new Wished(all, problems);
  const name = (wish.of("preset") ?? standardPreset) as PresetName;
  const preset = parts.presets[name];
  const members = wish.of("panel") ?? preset?.analysis_models ?? [];
  const named = wish.of("model") ?? preset?.model ?? preset?.analysis_models[0];
  const model = named ?? usual;
  if (members.length === 0 || model === "") {
    const missing = members.length === 0 ? "analysis_models" : "model";
    const problemText = `there is no preset ${name}, and the request names no ${missing}; the operator of this service sets fusion.presets.${name}`;
    wish.refuse("preset", problemText);
  }
  for (const [index, slug] of members.entries()) {
    if (!parts.hasModel(slug)) wish.refuse("panel", unknown(slug), `analysis_models.${index}`);
  }
  if (named !== undefined && !parts.hasModel(named)) wish.refuse("model", unknown(named), "model");
  const panel = parts.permitted(members, scope);
  parts.permitted([model], scope);
  const wanted = wish.of("tools");
  if (wanted) checkTools(wanted, wish);
  problems.throwIfAny();
  const models = [...new Set([...panel, model])].filter(parts.hasModel);
  const possible = (wanted ?? standardTools.map((type) => ({ type }))).map(hosted);
  const { permissions } = scope;
  const isPermitted = (tool: HostedTool) => permissions === undefined || isPermittedTool(tool, permissions);
  const tools = possible.filter((tool) => isPermitted(tool) && parts.hasTool(tool, models, scope));
  const leftOut = possible.filter((tool) => !tools.includes(tool)).map(({ kind }) => kind);
  // Tools named by the client must be available; default tools may be missing.
  if (wanted) for (const kind of leftOut) wish.refuse("tools", `${kind} is not available for these models`);
  problems.throwIfAny();
  const reasoning = wish.of("reasoning");
  const temperature = wish.of("temperature");
  const cacheControl = wish.of("cacheControl");
  return {
    panel,
    model,
    maxToolCalls: wish.of("maxToolCalls") ?? standardToolCalls,
    maxTokens: wish.of("maxTokens") ?? standardTokens,
    tools,
    leftOut,
    manner: {
      ...(reasoning && { reasoning }),
      ...(temperature !== undefined && { temperature }),
      ...(cacheControl && { cacheControl }),
    },
  };
}

type Field = Exclude<keyof FusionOptions, "problem">;

/** Merges several sources of options by precedence. */
class Wished {
  readonly #all: readonly [FusionOptions, ...FusionOptions[]];
  readonly #problems: Problems;

  constructor(all: readonly [FusionOptions, ...FusionOptions[]], problems: Problems) {
    this.#all = all;
    this.#problems = problems;
  }

  of<Of extends Field>(field: Of): FusionOptions[Of] | undefined {
    return this.#from(field)?.[field];
  }

  /** Reports a problem with an option where the option was set, or at the first source if it is unset. */
  refuse(field: Field, problemText: string, path?: string): void {
    this.#problems.add(...(this.#from(field) ?? this.#all[0]).problem(problemText, path));
  }

  #from(field: Field): FusionOptions | undefined {
    return this.#all.find((each) => each[field] !== undefined);
  }
}

const unknown = (slug: string): string =>
  slug.startsWith("service/") ? `${slug} stands for models itself` : `no model is called ${slug}`;

function checkTools(entries: readonly JsonObject[], wish: Wished): void {
  for (const [index, entry] of entries.entries()) {
    const type = String(entry["type"]);
    const path = `tools.${index}`;
    const refuse = (problemText: string) => wish.refuse("tools", problemText, `${path}.type`);
    if (withOtherModels.has(type)) refuse(`${type} cannot be used within fusion`);
    else if (serviceTools[type] === undefined) refuse(`${type} is no tool of the service`);
    else checkTool(type, entry, path, wish);
  }
}

/** Checks a tool by its shape in a request. */
function checkTool(type: string, entry: JsonObject, path: string, wish: Wished): void {
  const inner = new Problems();
  serviceTools[type]?.check(entry, path, inner);
  try {
    inner.throwIfAny();
  } catch (error) {
    wish.refuse("tools", (error as Error).message);
  }
}

const hosted = (entry: JsonObject): HostedTool => {
  const kind = String(entry["type"]);
  return { type: "hosted", kind, spelling: kind, json: JSON.stringify(entry) };
};
