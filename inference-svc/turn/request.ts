/** A checked request, in the form the dialects translate. */
import type { Plugin, ProviderPreferences } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { Door } from "@sluice/proto/contract/request/extensions.js";
import type { ParameterValues } from "@sluice/proto/contract/request/parameters.js";
import type { FileTexts } from "./file-text.ts";

/** An input item in its JSON form. Its type is checked, and so are the fields that turn/parse reads. */
export type InputItem = { readonly type: string; readonly [field: string]: unknown };

export interface FunctionTool {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  /** The JSON Schema byte for byte as the client wrote it, so numbers in it are not rounded. "null" when there is none. */
  readonly parametersJson: string;
  readonly strict?: boolean;
  readonly async?: boolean;
  readonly deferLoading?: boolean;
  /** Cache mark: the provider may cache the prompt up to this place. */
  readonly cacheControl?: JsonObject;
  /** The tool in Anthropic's own form, as a JSON object. */
  readonly anthropicJson?: string;
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool whose input is free text. */
export interface CustomTool {
  readonly type: "custom";
  readonly name: string;
  readonly description?: string;
  /** Grammar for the input as the client wrote it; absent when any text is allowed. */
  readonly formatJson?: string;
  readonly async?: boolean;
  /** Cache mark: the provider may cache the prompt up to this place. */
  readonly cacheControl?: JsonObject;
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool the client runs. */
export type CallableTool = FunctionTool | CustomTool;

/** Tools with a common name, which also appears in their calls. */
export interface NamespaceTool {
  readonly type: "namespace";
  readonly name: string;
  readonly description: string;
  readonly tools: readonly CallableTool[];
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool the provider knows by its type, whether the provider or the client runs it. */
export interface HostedTool {
  readonly type: "hosted";
  /** Type in the neutral spelling, with `service:` instead of another prefix with this meaning. */
  readonly kind: string;
  /** Type as the client spelled it. */
  readonly spelling: string;
  /** The whole tool as the client wrote it. */
  readonly json: string;
  /** Path in the input of a tool an item declares; absent for the request's list of tools. */
  readonly path?: string;
  /** Set for the search of the plugin `web`, which is not one of the client's tools. */
  readonly isOfPlugin?: true;
  /** Set when the tool is not sent, because the endpoint does not run it. The tool stays in the list, so the others keep their paths. */
  readonly leftOut?: true;
  /** The function sent to a provider without this tool; absent when only the provider can run the tool. */
  readonly asFunction?: FunctionTool;
}

export type Tool = FunctionTool | CustomTool | NamespaceTool | HostedTool;

/** Names one of the request's tools. */
export interface ToolReference {
  /** Kind of the tool: function, custom, or the type of a hosted tool. */
  readonly type: string;
  /** Name of the function or custom tool; absent for hosted tools. */
  readonly name?: string;
  readonly [field: string]: unknown;
}

export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  | { readonly type: "tool"; readonly tool: ToolReference }
  | { readonly type: "allowed_tools"; readonly mode: "auto" | "required"; readonly tools: readonly ToolReference[] };

export interface SchemaFormat {
  readonly type: "json_schema";
  readonly name: string;
  /** JSON Schema as the client wrote it. */
  readonly schemaJson: string;
  readonly description?: string;
  readonly strict?: boolean;
}

export interface ObjectFormat {
  readonly type: "json_object";
  /** Set when the instructions already require the object. */
  readonly isInstructed?: true;
}

export type TextFormat = { readonly type: "text" } | ObjectFormat | SchemaFormat;

export interface Reasoning {
  readonly effort?: string;
  /** Set when the client requested reasoning by this field, `enabled`. */
  readonly enabled?: true;
  readonly summary?: string;
  /** Set when the client has not written `summary`, and it follows from the budget, with which Claude shows its reasoning. */
  readonly isSummaryImplied?: true;
  /** Budget in tokens, at least 1. */
  readonly maxTokens?: number;
  readonly context?: string;
  readonly mode?: string;
}

/** A web page an answer may cite. */
export interface WebSource {
  readonly url: string;
  /** Title of the page; empty when it has none. */
  readonly title: string;
}

/** A stored file with search results. */
export interface FoundFile {
  /** Name under which the model may cite the file. */
  readonly label: string;
  readonly fileId: string;
  readonly filename: string;
}

type OfKind = Exclude<Plugin["plugin"], { case: undefined }>;

/** Checked settings of the plugins; a plugin that is not requested is absent. */
export type Plugins = { readonly [Kind in OfKind as Kind["case"]]?: Kind["value"] };

/** A condition on the turn so far, at which the agent loop stops. */
export type StopCondition =
  | { readonly type: "step_count_is"; readonly step_count: number }
  | { readonly type: "has_tool_call"; readonly tool_name: string }
  | { readonly type: "max_tokens_used"; readonly max_tokens: number }
  | { readonly type: "max_cost"; readonly max_cost_in_dollars: number }
  | { readonly type: "finish_reason_is"; readonly reason: string };

/** Settings of an embeddings request. Every item of its input is a user message with one text. */
export interface EmbeddingSettings {
  readonly encodingFormat: "float" | "base64";
  /** Length of each vector; absent for the default of the model. */
  readonly dimensions?: number;
  /** Purpose of the vectors, in the words of the model's vendor. */
  readonly inputType?: string;
  /** Token ids instead of texts; the input is then empty. */
  readonly tokens?: readonly (readonly number[])[];
}

/** A checked request. An absent field is unset. */
export interface TurnRequest extends ParameterValues {
  /** Slugs of the models to try in order, without duplicates; the first is the requested model. */
  readonly models: readonly string[];
  readonly input: readonly InputItem[];
  readonly instructions?: string;
  readonly stream: boolean;
  readonly parallelToolCalls?: boolean;
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice;
  readonly textFormat?: TextFormat;
  readonly verbosity?: string;
  readonly reasoning?: Reasoning;
  readonly include: readonly string[];
  readonly outputModalities: readonly string[];
  readonly sessionId?: string;
  readonly promptCacheKey?: string;
  readonly serviceTier?: string;
  /** Preferences and limits for the choice of endpoints. */
  readonly provider?: ProviderPreferences;
  /** Settings of plugins; absent when none was requested. */
  readonly plugins?: Plugins;
  /** Web pages read for the request; an answer with a link to one of them cites it. */
  readonly sources?: readonly WebSource[];
  /** Stored files found for the request; an answer that names one of them cites it. */
  readonly foundFiles?: readonly FoundFile[];
  /** Maximum number of the file's pages read, for a provider that charges per page; absent when they were not counted. */
  readonly pages?: number;
  /** Texts of the request's files, by the part of the file; absent before any file was read. */
  readonly files?: FileTexts;
  /** Set when service/fusion was requested: a panel answers before the models of the request. */
  readonly fused?: true;
  readonly maxToolCalls?: number;
  /** Conditions of which each stops Sluice's own tools; at least one. They replace `maxToolCalls`. */
  readonly stopServerToolsWhen?: readonly StopCondition[];
  readonly truncation?: "auto" | "disabled";
  /** Image options as a JSON object. */
  readonly imageConfigJson?: string;
  /** Requests a cache mark at the last block that can be cached. */
  readonly cacheControl?: { readonly ttl: "5m" | "1h" };
  /** Prompt cache options as a JSON object. */
  readonly promptCacheOptionsJson?: string;
  /** Predicted answer text (`prediction`), as a JSON object. */
  readonly predictionJson?: string;
  /** Names of beta features in Anthropic's API; at least one. */
  readonly anthropicBetas?: readonly string[];
  /** Edits of the conversation the provider makes, as JSON: an object (Anthropic) or an array (OpenAI). */
  readonly contextManagementJson?: string;
  /** API format of the client; absent means responses. */
  readonly door?: Door;
  /** Keyed hash of the end user, for the provider's abuse reports. The identifier the client sent reaches no provider. */
  readonly identityHash?: string;
  /** The request field that identified the end user; undefined when none did. */
  readonly identityField?: "safety_identifier" | "user";
  /** Paths of unknown fields within items, tools and settings; absent for doors that report them themselves. */
  readonly ignoredFields?: readonly string[];
  /** JSON texts of unknown fields by name; a provider gets those that its configuration allows. */
  readonly extraFields?: Readonly<Record<string, string>>;
  readonly echoUpstreamBody: boolean;
  readonly serviceMetadata: boolean;
  /** Set when the request allows Sluice to store its prompt and answer. */
  readonly mayKeepContent?: true;
  /** Set for an embeddings request. */
  readonly embedding?: EmbeddingSettings;
}
