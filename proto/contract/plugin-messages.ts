/** From the JSON form of plugins to the messages that carry them. */
import type {
  AlignmentPlugin,
  AutoBetaRouterPlugin,
  AutoRouterPlugin,
  ContextCompressionPlugin,
  FileParserPlugin,
  FusionPlugin,
  JevRouterPlugin,
  ParetoRouterPlugin,
  Plugin,
  UserLocation,
  WebFetchPlugin,
  WebPlugin,
} from "../gen/sluice/inference/v1/turn_pb.ts";
import type {
  AlignmentJson,
  AutoRouterJson,
  AutoSettingsJson,
  ContextCompressionJson,
  FileParserJson,
  FusionJson,
  JevRouterJson,
  ParetoRouterJson,
  PluginJson,
  WebFetchJson,
  WebJson,
} from "./plugin-json.ts";

type Carried = Exclude<Plugin["plugin"], { case: undefined }>;

/** What is turned off does not travel, unless it would be on by itself. */
export const pluginMessages = (plugins: readonly PluginJson[]): Plugin[] =>
  plugins
    .filter(({ id, enabled }) => enabled !== false || id === "context-compression")
    .map((json) => ({ $typeName: "sluice.inference.v1.Plugin", plugin: carried(json) }));

function carried(json: PluginJson): Carried {
  switch (json.id) {
    case "alignment":
      return { case: "alignment", value: alignmentMessage(json) };
    case "auto-router":
      return { case: "autoRouter", value: autoRouterMessage(json) };
    case "auto-beta-router":
      return {
        case: "autoBetaRouter",
        value: { $typeName: "sluice.inference.v1.AutoBetaRouterPlugin", ...autoSettings(json) },
      };
    case "context-compression":
      return { case: "contextCompression", value: contextCompressionMessage(json) };
    case "file-parser":
      return { case: "fileParser", value: fileParserMessage(json) };
    case "fusion":
      return { case: "fusion", value: fusionMessage(json) };
    case "jev-router":
      return { case: "jevRouter", value: jevRouterMessage(json) };
    case "moderation":
      return { case: "moderation", value: { $typeName: "sluice.inference.v1.ModerationPlugin" } };
    case "pareto-router":
      return { case: "paretoRouter", value: paretoRouterMessage(json) };
    case "response-healing":
      return { case: "responseHealing", value: { $typeName: "sluice.inference.v1.ResponseHealingPlugin" } };
    case "switchyard-router":
      return {
        case: "switchyardRouter",
        value: { $typeName: "sluice.inference.v1.SwitchyardRouterPlugin", algorithm: json.algorithm ?? "" },
      };
    case "web":
      return { case: "web", value: webMessage(json) };
    case "web-fetch":
      return { case: "webFetch", value: webFetchMessage(json) };
  }
}

const alignmentMessage = (json: AlignmentJson): AlignmentPlugin => ({
  $typeName: "sluice.inference.v1.AlignmentPlugin",
  rules: json.rules,
  mode: json.mode ?? "",
  instruct: json.instruct,
  maxRetries: json.max_retries,
  threshold: json.threshold,
});

const autoRouterMessage = (json: AutoRouterJson): AutoRouterPlugin => ({
  $typeName: "sluice.inference.v1.AutoRouterPlugin",
  ...autoSettings(json),
  pinModel: json.pin_model ?? false,
});

const autoSettings = (json: AutoSettingsJson): Omit<AutoBetaRouterPlugin, "$typeName"> => ({
  allowedModels: json.allowed_models ?? [],
  excludedModels: json.excluded_models ?? [],
  costTier: json.cost_tier ?? "",
  costQualityTradeoff: json.cost_quality_tradeoff,
});

const contextCompressionMessage = ({ enabled, engine = "" }: ContextCompressionJson): ContextCompressionPlugin => ({
  $typeName: "sluice.inference.v1.ContextCompressionPlugin",
  enabled,
  engine,
});

const fileParserMessage = ({ pdf }: FileParserJson): FileParserPlugin => ({
  $typeName: "sluice.inference.v1.FileParserPlugin",
  pdfEngine: pdf?.engine ?? "",
});

const fusionMessage = (json: FusionJson): FusionPlugin => ({
  $typeName: "sluice.inference.v1.FusionPlugin",
  analysisModels: json.analysis_models ?? [],
  model: json.model ?? "",
  preset: json.preset ?? "",
  maxToolCalls: json.max_tool_calls,
  toolsJson: json.tools === undefined ? new Uint8Array() : new TextEncoder().encode(JSON.stringify(json.tools)),
});

const jevRouterMessage = (json: JevRouterJson): JevRouterPlugin => ({
  $typeName: "sluice.inference.v1.JevRouterPlugin",
  costTier: json.cost_tier ?? "",
  models: json.models ?? [],
  allowedModels: json.allowed_models ?? [],
  excludedModels: json.excluded_models ?? [],
});

const paretoRouterMessage = (json: ParetoRouterJson): ParetoRouterPlugin => ({
  $typeName: "sluice.inference.v1.ParetoRouterPlugin",
  maxPrice: json.max_price,
  minCodingScore: json.min_coding_score,
  priceSource: json.price_source ?? "",
});

const webMessage = (json: WebJson): WebPlugin => ({
  $typeName: "sluice.inference.v1.WebPlugin",
  engine: json.engine ?? "",
  maxResults: json.max_results,
  maxUses: json.max_uses,
  searchPrompt: json.search_prompt,
  includeDomains: json.include_domains ?? [],
  excludeDomains: json.exclude_domains ?? [],
  ...(json.user_location && { userLocation: locationMessage(json.user_location) }),
});

const locationMessage = (json: NonNullable<WebJson["user_location"]>): UserLocation => ({
  $typeName: "sluice.inference.v1.UserLocation",
  city: json.city ?? "",
  country: json.country ?? "",
  region: json.region ?? "",
  timezone: json.timezone ?? "",
});

const webFetchMessage = (json: WebFetchJson): WebFetchPlugin => ({
  $typeName: "sluice.inference.v1.WebFetchPlugin",
  allowedDomains: json.allowed_domains ?? [],
  blockedDomains: json.blocked_domains ?? [],
  maxContentTokens: json.max_content_tokens,
  maxUses: json.max_uses,
});
