/** From the messages that carry plugins back to their JSON form, which is what rules are written for. */
import type {
  AlignmentPlugin,
  AutoBetaRouterPlugin,
  AutoRouterPlugin,
  ContextCompressionPlugin,
  FusionPlugin,
  JevRouterPlugin,
  ParetoRouterPlugin,
  Plugin,
  WebFetchPlugin,
  WebPlugin,
} from "../gen/sluice/inference/v1/turn_pb.ts";
import type {
  AlignmentJson,
  AutoSettingsJson,
  ContextCompressionJson,
  FusionJson,
  JevRouterJson,
  ParetoRouterJson,
  PluginJson,
  WebFetchJson,
  WebJson,
} from "./plugin-json.ts";

/** For the checks of the JSON form; undefined for one of a kind that this build does not know. */
export function pluginJson({ plugin }: Plugin): PluginJson | undefined {
  switch (plugin.case) {
    case "alignment":
      return alignmentJson(plugin.value);
    case "autoRouter":
      return {
        id: "auto-router",
        ...autoSettingsJson(plugin.value),
        ...(plugin.value.pinModel && { pin_model: true }),
      };
    case "autoBetaRouter":
      return { id: "auto-beta-router", ...autoSettingsJson(plugin.value) };
    case "contextCompression":
      return contextCompressionJson(plugin.value);
    case "fileParser":
      return { id: "file-parser", ...(plugin.value.pdfEngine !== "" && { pdf: { engine: plugin.value.pdfEngine } }) };
    case "fusion":
      return fusionJson(plugin.value);
    case "jevRouter":
      return jevRouterJson(plugin.value);
    case "moderation":
      return { id: "moderation" };
    case "paretoRouter":
      return paretoRouterJson(plugin.value);
    case "responseHealing":
      return { id: "response-healing" };
    case "switchyardRouter": {
      const { algorithm } = plugin.value;
      return { id: "switchyard-router", ...(algorithm !== "" && { algorithm }) };
    }
    case "web":
      return webJson(plugin.value);
    case "webFetch":
      return webFetchJson(plugin.value);
    case undefined:
      return undefined;
  }
}

const alignmentJson = ({ rules, mode, instruct, maxRetries, threshold }: AlignmentPlugin): AlignmentJson => ({
  id: "alignment",
  rules,
  ...(mode !== "" && { mode }),
  ...(instruct !== undefined && { instruct }),
  ...(maxRetries !== undefined && { max_retries: maxRetries }),
  ...(threshold !== undefined && { threshold }),
});

const autoSettingsJson = (plugin: AutoBetaRouterPlugin | AutoRouterPlugin): AutoSettingsJson => ({
  ...(plugin.allowedModels.length > 0 && { allowed_models: plugin.allowedModels }),
  ...(plugin.excludedModels.length > 0 && { excluded_models: plugin.excludedModels }),
  ...(plugin.costTier !== "" && { cost_tier: plugin.costTier }),
  ...(plugin.costQualityTradeoff !== undefined && { cost_quality_tradeoff: plugin.costQualityTradeoff }),
});

const contextCompressionJson = ({ enabled, engine }: ContextCompressionPlugin): ContextCompressionJson => ({
  id: "context-compression",
  ...(enabled !== undefined && { enabled }),
  ...(engine !== "" && { engine }),
});

const fusionJson = (plugin: FusionPlugin): FusionJson => ({
  id: "fusion",
  ...(plugin.analysisModels.length > 0 && { analysis_models: plugin.analysisModels }),
  ...(plugin.model !== "" && { model: plugin.model }),
  ...(plugin.preset !== "" && { preset: plugin.preset }),
  ...(plugin.maxToolCalls !== undefined && { max_tool_calls: plugin.maxToolCalls }),
  ...(plugin.toolsJson.length > 0 && { tools: parsedTools(plugin.toolsJson) }),
});

/** What is no JSON is no array, and refused as such. */
function parsedTools(json: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(json));
  } catch {
    return null;
  }
}

const jevRouterJson = ({ costTier, models, allowedModels, excludedModels }: JevRouterPlugin): JevRouterJson => ({
  id: "jev-router",
  ...(costTier !== "" && { cost_tier: costTier }),
  ...(models.length > 0 && { models }),
  ...(allowedModels.length > 0 && { allowed_models: allowedModels }),
  ...(excludedModels.length > 0 && { excluded_models: excludedModels }),
});

const paretoRouterJson = ({ maxPrice, minCodingScore, priceSource }: ParetoRouterPlugin): ParetoRouterJson => ({
  id: "pareto-router",
  ...(maxPrice !== undefined && { max_price: maxPrice }),
  ...(minCodingScore !== undefined && { min_coding_score: minCodingScore }),
  ...(priceSource !== "" && { price_source: priceSource }),
});

const webJson = (message: WebPlugin): WebJson => ({
  id: "web",
  ...(message.engine !== "" && { engine: message.engine }),
  ...(message.maxResults !== undefined && { max_results: message.maxResults }),
  ...(message.maxUses !== undefined && { max_uses: message.maxUses }),
  ...(message.searchPrompt !== undefined && { search_prompt: message.searchPrompt }),
  include_domains: message.includeDomains,
  exclude_domains: message.excludeDomains,
});

const webFetchJson = (message: WebFetchPlugin): WebFetchJson => ({
  id: "web-fetch",
  allowed_domains: message.allowedDomains,
  blocked_domains: message.blockedDomains,
  ...(message.maxContentTokens !== undefined && { max_content_tokens: message.maxContentTokens }),
  ...(message.maxUses !== undefined && { max_uses: message.maxUses }),
});
