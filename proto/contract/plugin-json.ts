/** Plugins of a request as their JSON form writes them. */

export interface AlignmentJson {
  readonly id: "alignment";
  readonly rules: string[];
  readonly mode?: string;
  readonly instruct?: boolean;
  readonly max_retries?: number;
  readonly threshold?: number;
}

export interface AutoSettingsJson {
  readonly allowed_models?: string[];
  readonly excluded_models?: string[];
  readonly cost_tier?: string;
  readonly cost_quality_tradeoff?: number;
}

export interface AutoRouterJson extends AutoSettingsJson {
  readonly id: "auto-router";
  readonly pin_model?: boolean;
}

interface AutoBetaRouterJson extends AutoSettingsJson {
  readonly id: "auto-beta-router";
}

export interface ContextCompressionJson {
  readonly id: "context-compression";
  readonly enabled?: boolean;
  readonly engine?: string;
}

export interface FileParserJson {
  readonly id: "file-parser";
  readonly pdf?: { readonly engine?: string };
}

export interface FusionJson {
  readonly id: "fusion";
  readonly analysis_models?: string[];
  readonly model?: string;
  readonly preset?: string;
  readonly max_tool_calls?: number;
  readonly tools?: unknown;
}

export interface ParetoRouterJson {
  readonly id: "pareto-router";
  readonly max_price?: number;
  readonly min_coding_score?: number;
  readonly price_source?: string;
}

interface SwitchyardRouterJson {
  readonly id: "switchyard-router";
  readonly algorithm?: string;
}

export interface JevRouterJson {
  readonly id: "jev-router";
  readonly cost_tier?: string;
  readonly models?: string[];
  readonly allowed_models?: string[];
  readonly excluded_models?: string[];
}

interface ModerationJson {
  readonly id: "moderation";
}

interface ResponseHealingJson {
  readonly id: "response-healing";
}

export interface WebJson {
  readonly id: "web";
  readonly engine?: string;
  readonly max_results?: number;
  readonly max_uses?: number;
  readonly search_prompt?: string;
  readonly include_domains?: string[];
  readonly exclude_domains?: string[];
  readonly user_location?: Readonly<
    Record<"city" | "country" | "region" | "timezone", string | null | undefined>
  > | null;
}

export interface WebFetchJson {
  readonly id: "web-fetch";
  readonly allowed_domains?: string[];
  readonly blocked_domains?: string[];
  readonly max_content_tokens?: number;
  readonly max_uses?: number;
}

/** As the shape of `plugins` lets it through. */
export type PluginJson = (
  | AlignmentJson
  | AutoRouterJson
  | AutoBetaRouterJson
  | ContextCompressionJson
  | FileParserJson
  | FusionJson
  | JevRouterJson
  | ModerationJson
  | ParetoRouterJson
  | ResponseHealingJson
  | SwitchyardRouterJson
  | WebJson
  | WebFetchJson
) & {
  readonly enabled?: boolean;
};
