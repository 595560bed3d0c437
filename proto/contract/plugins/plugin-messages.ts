/** Converts plugins of a request between JSON and protobuf messages. */
import { create } from "@bufbuild/protobuf";
import { type Plugin, PluginSchema } from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import type { PluginContract } from "./plugin-rules.ts";
import { pluginContracts } from "./plugins.ts";

/** A plugin of a request, accepted by the shape of `plugins`. */
export interface PluginJson extends JsonObject {
  readonly id: string;
  readonly enabled?: boolean;
}

interface CarriedPlugin {
  readonly id: string;
  readonly contract: PluginContract;
  /** Name of the case in the oneof of the message Plugin. */
  readonly oneofCase: string;
  /** Whether the message has the field `enabled`, for plugins that run by default. */
  readonly carriesEnabled: boolean;
}

const carried: readonly CarriedPlugin[] = Object.entries(pluginContracts).map(([id, contract]) => {
  const field = PluginSchema.fields.find(({ message }) => message === contract.descriptor);
  if (!field) throw new Error(`no case of the message Plugin carries the plugin ${id}`);
  const carriesEnabled = contract.descriptor.fields.some(({ name }) => name === "enabled");
  return { id, contract, oneofCase: field.localName, carriesEnabled };
});
const carriedById: ReadonlyMap<string, CarriedPlugin> = new Map(carried.map((plugin) => [plugin.id, plugin]));
const carriedByCase: ReadonlyMap<string, CarriedPlugin> = new Map(carried.map((plugin) => [plugin.oneofCase, plugin]));

/** Converts plugins to messages. A plugin with `enabled: false` is left out unless its message has that field. */
export const pluginMessages = (plugins: readonly PluginJson[]): Plugin[] =>
  plugins.flatMap((json) => {
    const plugin = carriedById.get(json.id);
    if (!plugin || (json.enabled === false && !plugin.carriesEnabled)) return [];
    const oneof = { case: plugin.oneofCase, value: plugin.contract.codec.message(json) };
    return [create(PluginSchema, { plugin: oneof as Plugin["plugin"] })];
  });

/** The JSON of a plugin, for checks by shape; undefined for a plugin unknown to this build. */
export function pluginJson({ plugin }: Plugin): PluginJson | undefined {
  const known = plugin.case && carriedByCase.get(plugin.case);
  return known ? { id: known.id, ...known.contract.codec.json(plugin.value) } : undefined;
}
