/** Checks references between the sections of the configuration file. */
import { cloudOf, cloudProblems } from "./clouds.ts";
import { dialectTraits } from "./provider.ts";
import type { ConfigFile } from "./schema.ts";

/** Finds duplicate ids, endpoints of unknown providers, and roles with unknown models. */
export function findInvalidReferences(file: ConfigFile): string[] {
  const problems: string[] = [];
  const known = new Set<string>();
  for (const [index, entry] of file.providers.entries()) {
    if (known.has(entry.id)) problems.push(`providers.${index}.id: ${entry.id} is used twice`);
    // Packages of the AI SDK know the address of their vendor, and the addresses of clouds have separate rules.
    const placed = entry.dialect === "echo" || entry.dialect.startsWith("ai-sdk:") || entry.base_url !== undefined;
    if (!placed && cloudOf(entry) === undefined) {
      problems.push(`providers.${index}.base_url: required for dialect ${entry.dialect}`);
    }
    const { clouds = [] } = dialectTraits(entry.dialect);
    problems.push(...cloudProblems(entry, clouds).map((problem) => `providers.${index}.${problem}`));
    known.add(entry.id);
  }
  const slugs = new Set<string>();
  for (const [index, entry] of file.models.entries()) {
    if (slugs.has(entry.id)) problems.push(`models.${index}.id: ${entry.id} is used twice`);
    slugs.add(entry.id);
    for (const [position, item] of entry.endpoints.entries()) {
      if (!known.has(item.provider)) {
        problems.push(`models.${index}.endpoints.${position}.provider: no provider is called ${item.provider}`);
      }
    }
  }
  const detectors = new Set<string>();
  for (const [index, { id }] of file.detectors.entries()) {
    if (detectors.has(id)) problems.push(`detectors.${index}.id: ${id} is used twice`);
    detectors.add(id);
  }
  for (const [role, settings] of Object.entries(file.internal_models)) {
    const model = settings?.model;
    if (model !== undefined && !slugs.has(model))
      problems.push(`internal_models.${role}.model: no model is called ${model}`);
  }
  const reader = file.models.find(({ id }) => id === file.internal_models.ocr?.model);
  if (reader && !reader.input_modalities.includes("file"))
    problems.push(
      `internal_models.ocr.model: ${reader.id} takes no files; name a model with file in its input_modalities`,
    );
  for (const [name, preset] of Object.entries(file.fusion.presets)) {
    if (preset === undefined) continue;
    const panelModels = preset.analysis_models.map((model, index) => [`analysis_models.${index}`, model] as const);
    for (const [field, model] of [...panelModels, ["model", preset.model] as const]) {
      if (model === undefined || slugs.has(model)) continue;
      problems.push(`fusion.presets.${name}.${field}: no model is called ${model}`);
    }
  }
  const engine = file.search.default;
  if (engine !== undefined && file.search.engines[engine] === undefined)
    problems.push(`search.default: search.engines has no ${engine}`);
  const moderator = file.internal_models.moderation?.provider;
  if (moderator !== undefined && !file.providers.some(({ id, base_url: url }) => id === moderator && url))
    problems.push(`internal_models.moderation.provider: no provider with a base_url is called ${moderator}`);
  return problems;
}
