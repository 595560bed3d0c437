/** Gives fusion the models and presets of the catalogue. */
import type { FusionPresets } from "@sluice/proto/config/routers.js";
import { defaultPresets } from "./default-presets.ts";
import { panelTimeouts } from "./panel.ts";
import type { FusionRunDeps } from "./run.ts";
import type { SettingsParts } from "./settings.ts";
import type { Catalog } from "../../models/routing/catalog.ts";
import { permittedSlugs } from "../../models/routing/choose/permitted-endpoints.ts";
import { canOfferTool } from "../../agent-loop/opened-tools.ts";
import type { ToolDeps } from "../../agent-loop/tool.ts";
import type { CalledModels } from "../../agent-loop/called-models.ts";

export interface SettingsSources {
  readonly catalog: Catalog;
  readonly presets: FusionPresets;
  readonly tools: ToolDeps;
}

export const fusionSettings = ({ catalog, presets, tools }: SettingsSources): SettingsParts => ({
  presets: { ...defaultPresets(catalog), ...presets },
  hasModel: (slug) => catalog.find(slug) !== undefined,
  permitted: (slugs, { permissions }) => permittedSlugs(catalog, slugs, permissions),
  hasTool: (tool, models, scope) => canOfferTool(tool, models, scope, tools),
});

export const fusionRuns = (settings: SettingsParts, models: CalledModels): FusionRunDeps => ({
  ...models,
  settings,
  timeouts: panelTimeouts,
});
