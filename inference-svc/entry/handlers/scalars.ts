/** Checks the scalar fields of a protobuf turn against the limits of the JSON API. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { Shape } from "@sluice/proto/lib/validation/shape.js";
import { pluginJson } from "@sluice/proto/contract/plugins/plugin-messages.js";
import { door } from "@sluice/proto/contract/request/extensions.js";
import { parameterList } from "@sluice/proto/contract/request/parameters.js";
import { preferencesJson } from "@sluice/proto/contract/request/preferences.js";
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { verbosity } from "@sluice/proto/contract/request/settings.js";

type Scalar = Exclude<keyof RunTurnRequest, `${string}Json` | `$${string}`>;

/** Checked fields other than parameters, with their names in the JSON form. Fields missing from the list have no limit beyond their type. */
const names = {
  model: "model",
  models: "models",
  include: "include",
  metadata: "metadata",
  modalities: "modalities",
  user: "user",
  safetyIdentifier: "safety_identifier",
  sessionId: "session_id",
  promptCacheKey: "prompt_cache_key",
  serviceTier: "service_tier",
  truncation: "truncation",
  anthropicBetas: "anthropic_betas",
} as const satisfies Partial<Record<Scalar, FieldName>>;

type FieldName = keyof typeof requestShape.fields;

const shapeOf = (name: FieldName): Shape => requestShape.fields[name];

const table = Object.entries(names).map(([field, name]) => ({
  field: field as Scalar,
  name,
  shape: shapeOf(name),
}));

/** Adds a problem for each invalid field, with the path of the field in the JSON form. */
export function checkScalars(request: RunTurnRequest, problems: Problems): void {
  requestShape.rules.also?.(together(request), "", problems);
  for (const { field, name, shape } of table) {
    const value = request[field];
    // An empty string stands for an unset field here; in fields where it is a value, it violates no limit.
    if (value !== undefined && value !== "") shape.check(value, name, problems);
  }
  for (const { field, name, form, shape } of parameterList) {
    const value = form.fromField(request[field]);
    if (value !== undefined) shape.check(value, name, problems);
  }
  if (request.textVerbosity !== "") verbosity.check(request.textVerbosity, "text.verbosity", problems);
  const { cacheControl, provider } = request;
  if (request.door !== "") door.check(request.door, "door", problems);
  if (provider) shapeOf("provider").check(preferencesJson(provider), "provider", problems);
  if (cacheControl && cacheControl.ttl !== "")
    shapeOf("cache_control").check({ type: "ephemeral", ttl: cacheControl.ttl }, "cache_control", problems);
  if (request.plugins.length > 0) checkPlugins(request.plugins, problems);
}

/** Fields that must be checked together, because their limits depend on each other. */
const together = ({ model, models, maxToolCalls, stopServerToolsWhenJson: stop }: RunTurnRequest) => ({
  model,
  models,
  max_tool_calls: maxToolCalls,
  stop_server_tools_when: stop.length > 0 ? stop : undefined,
});

/** Reports plugins unknown to this build. Other checks of plugins run only when all are known. */
function checkPlugins(messages: RunTurnRequest["plugins"], problems: Problems): void {
  const plugins = messages.map(pluginJson);
  const unknown = plugins.flatMap((plugin, index) => (plugin ? [] : [index]));
  for (const index of unknown) problems.add(`plugins.${index}`, "a plugin that this build does not know");
  if (unknown.length === 0) shapeOf("plugins").check(plugins, "plugins", problems);
}
