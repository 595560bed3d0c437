/** A checked request, in the form used by the dialects. */
import type { Plugin, ProviderPreferences } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { Door } from "@sluice/proto/contract/request/extensions.js";
import type { ParameterValues } from "@sluice/proto/contract/request/parameters.js";
import type { FileTexts } from "./file-text.ts";

/** An input item in its JSON form. Its type and the fields read by turn/parse are checked. */
export type InputItem = { readonly type: string; readonly [field: string]: unknown };

export interface FunctionTool {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  /** The JSON Schema as the client wrote it, byte for byte: numbers in it must not be rounded. "null" when there is none. */
  readonly parametersJson: string;
  readonly strict?: boolean;
  readonly async?: boolean;
  readonly deferLoading?: boolean;
  /** Prompt cache mark: the provider may cache up to this place. */
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
  /** Grammar as the client wrote it; absent when any text will do. */
  readonly formatJson?: string;
  readonly async?: boolean;
  /** Prompt cache mark: the provider may cache up to this place. */
  readonly cacheControl?: JsonObject;
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool run by the client. */
export type CallableTool = FunctionTool | CustomTool;

/** Tools under a common name, which also appears in their calls. */
export interface NamespaceTool {
  readonly type: "namespace";
  readonly name: string;
  readonly description: string;
  readonly tools: readonly CallableTool[];
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool known to the provider by its type, run by the provider or by the client. */
export interface HostedTool {
  readonly type: "hosted";
  /** Type in the neutral spelling, with `service:` instead of any alias of this prefix. */
  readonly kind: string;
  /** Type as the client spelled it. */
  readonly spelling: string;
  /** The whole tool as the client wrote it. */
  readonly json: string;
  /** Place in the input for a tool declared by an item; absent for tools of the list. */
  readonly path?: string;
  /** Present for the search of the plugin `web`, which is no tool of the client. */
  readonly isOfPlugin?: true;
  /** Present when the endpoint does not run this tool: then it is not sent. It stays in the list, so the other tools keep their paths. */
  readonly leftOut?: true;
  /** The function sent to a provider without this tool; absent when only the provider can run the tool. */
  readonly asFunction?: FunctionTool;
}

export type Tool = FunctionTool | CustomTool | NamespaceTool | HostedTool;

/** Names one of the request's tools. */
export interface ToolReference {
  /** function, custom, or the kind of a hosted tool. */
  readonly type: string;
  /** Absent for hosted tools. */
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
  /** Present when the instructions already ask for the object. */
  readonly isInstructed?: true;
}

export type TextFormat = { readonly type: "text" } | ObjectFormat | SchemaFormat;

export interface Reasoning {
  readonly effort?: string;
  /** The client requested thoughts by this very field. */
  readonly enabled?: true;
  readonly summary?: string;
  /** The client has not written `summary`: it follows from the budget, with which Claude shows its thoughts. */
  readonly isSummaryImplied?: true;
  /** Budget in tokens, at least 1. */
  readonly maxTokens?: number;
  readonly context?: string;
  readonly mode?: string;
}

/** A web page. */
export interface WebSource {
  readonly url: string;
  /** Title of the page; empty when it has none. */
  readonly title: string;
}

/** A stored file with search results. */
export interface FoundFile {
  /** The name under which the model may cite it. */
  readonly label: string;
  readonly fileId: string;
  readonly filename: string;
}

type OfKind = Exclude<Plugin["plugin"], { case: undefined }>;

/** Checked settings by plugin; a plugin not requested is absent. */
export type Plugins = { readonly [Kind in OfKind as Kind["case"]]?: Kind["value"] };

/** A condition on everything done in the turn so far. */
export type StopCondition =
  | { readonly type: "step_count_is"; readonly step_count: number }
  | { readonly type: "has_tool_call"; readonly tool_name: string }
  | { readonly type: "max_tokens_used"; readonly max_tokens: number }
  | { readonly type: "max_cost"; readonly max_cost_in_dollars: number }
  | { readonly type: "finish_reason_is"; readonly reason: string };

/** Settings of a request for the vectors of its input. Every item of such an input is a message of the user with one text. */
export interface EmbeddingSettings {
  readonly encodingFormat: "float" | "base64";
  /** Length of each vector; absent for the default of the model. */
  readonly dimensions?: number;
  /** The use of the vectors, in the words of the model's vendor. */
  readonly inputType?: string;
  /** Token ids instead of texts; the input is then empty. */
  readonly tokens?: readonly (readonly number[])[];
}

/** A checked request. An absent field is unset. */
export interface TurnRequest extends ParameterValues {
  /** Model slugs to try in order, without duplicates; the first is the requested model. */
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
  /** Absent when none was requested. */
  readonly plugins?: Plugins;
  /** Web pages read for the request: an answer with a link to one of them cites it. */
  readonly sources?: readonly WebSource[];
  /** Stored files found for the request: an answer that names one of them cites it. */
  readonly foundFiles?: readonly FoundFile[];
  /** Maximum number of pages of the file for a provider that charges by the page; absent when they were not counted. */
  readonly pages?: number;
  /** Texts of the request's files by their parts; absent before any file was read. */
  readonly files?: FileTexts;
  /** Present when service/fusion was requested: a panel answers first, then the models of the request. */
  readonly fused?: true;
  readonly maxToolCalls?: number;
  /** Conditions that stop Sluice's own tools, each sufficient; at least one. They replace `maxToolCalls`. */
  readonly stopServerToolsWhen?: readonly StopCondition[];
  readonly truncation?: "auto" | "disabled";
  /** Image options as a JSON object. */
  readonly imageConfigJson?: string;
  /** Asks for a cache mark at the last cacheable block. */
  readonly cacheControl?: { readonly ttl: "5m" | "1h" };
  /** Prompt cache options as a JSON object. */
  readonly promptCacheOptionsJson?: string;
  /** Predicted answer text (`prediction`), as a JSON object. */
  readonly predictionJson?: string;
  /** Names of beta features of Anthropic's API; at least one. */
  readonly anthropicBetas?: readonly string[];
  /** The provider's own edits of the conversation as JSON: an object (Anthropic) or an array (OpenAI). */
  readonly contextManagementJson?: string;
  /** API format of the client; absent means responses. */
  readonly door?: Door;
  /** Keyed hash of the end user for the provider's abuse reports. The identifier sent by the client reaches no provider. */
  readonly identityHash?: string;
  /** The request field with the end user; undefined when there was none. */
  readonly identityField?: "safety_identifier" | "user";
  /** Paths of unknown fields within items, tools and settings; absent for doors that report them themselves. */
  readonly ignoredFields?: readonly string[];
  /** JSON texts of unknown fields by name; a provider gets those allowed by its configuration. */
  readonly extraFields?: Readonly<Record<string, string>>;
  readonly echoUpstreamBody: boolean;
  readonly serviceMetadata: boolean;
  /** Present when the request permits Sluice to keep its prompt and answer. */
  readonly mayKeepContent?: true;
  /** Present for requests for vectors instead of an answer. */
  readonly embedding?: EmbeddingSettings;
}
