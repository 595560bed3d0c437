/** A request after its checks, in the form that the dialects read. */
import type { Plugin, ProviderPreferences } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Door } from "@sluice/proto/contract/request/extensions.js";
import type { ParameterValues } from "@sluice/proto/contract/request/parameters.js";
import type { FileTexts } from "./file-text.ts";

/** An input item in its JSON form. Its type and the fields that turn/parse reads have been checked. */
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
  /** Mark of a place up to which the provider may cache. */
  readonly cacheControl?: JsonObject;
  /** The tool in Anthropic's own form, as a JSON object. */
  readonly anthropicJson?: string;
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool whose input is text of any form. */
export interface CustomTool {
  readonly type: "custom";
  readonly name: string;
  readonly description?: string;
  /** Grammar as the client wrote it; absent when any text will do. */
  readonly formatJson?: string;
  readonly async?: boolean;
  /** Mark of a place up to which the provider may cache. */
  readonly cacheControl?: JsonObject;
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool that the client runs. */
export type CallableTool = FunctionTool | CustomTool;

/** Tools under a common name, which their calls carry. */
export interface NamespaceTool {
  readonly type: "namespace";
  readonly name: string;
  readonly description: string;
  readonly tools: readonly CallableTool[];
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool that the provider knows by its type: one that it runs itself, or one whose calls the client carries out. */
export interface HostedTool {
  readonly type: "hosted";
  /** Type in the neutral spelling: `service:` in the place of any alias of that prefix. */
  readonly kind: string;
  /** Type as the client spelled it. */
  readonly spelling: string;
  /** The whole tool as the client wrote it. */
  readonly json: string;
  /** Place in the input, for a tool that an item brought; absent for those of the list. */
  readonly path?: string;
  /** Present when the endpoint does not run this tool, so that it is not sent. It stays in the list, so that the other tools keep their paths. */
  readonly leftOut?: true;
  /** The function that a provider without this tool is sent in its place; absent when only the provider can run the tool. */
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

export type TextFormat = { readonly type: "text" } | { readonly type: "json_object" } | SchemaFormat;

export interface Reasoning {
  readonly effort?: string;
  /** The client asked for thoughts by this very field. */
  readonly enabled?: true;
  readonly summary?: string;
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

/** A stored file in which something was found. */
export interface FoundFile {
  /** The name by which the model was told to cite it. */
  readonly label: string;
  readonly fileId: string;
  readonly filename: string;
}

type OfKind = Exclude<Plugin["plugin"], { case: undefined }>;

/** Checked settings by plugin; a plugin that was not asked for is absent. */
export type Plugins = { readonly [Kind in OfKind as Kind["case"]]?: Kind["value"] };

/** A condition on everything that the turn has done so far. */
export type StopCondition =
  | { readonly type: "step_count_is"; readonly step_count: number }
  | { readonly type: "has_tool_call"; readonly tool_name: string }
  | { readonly type: "max_tokens_used"; readonly max_tokens: number }
  | { readonly type: "max_cost"; readonly max_cost_in_dollars: number }
  | { readonly type: "finish_reason_is"; readonly reason: string };

/** Settings of a request for the vectors of its input. Every item of such an input is a message of the user with one text. */
export interface EmbeddingSettings {
  readonly encodingFormat: "float" | "base64";
  /** Length of each vector; absent: that of the model. */
  readonly dimensions?: number;
  /** The use of the vectors, in the words of the model's vendor. */
  readonly inputType?: string;
  /** Token ids in the place of texts; the input is then empty. */
  readonly tokens?: readonly (readonly number[])[];
}

/** A checked request. An absent field is an unset one. */
export interface TurnRequest extends ParameterValues {
  /** Model slugs to try in order, without duplicates; the first is the requested one. */
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
  /** Absent when none was asked for. */
  readonly plugins?: Plugins;
  /** Web pages that were read for the request: an answer that links to one of them cites it. */
  readonly sources?: readonly WebSource[];
  /** Stored files that were found for the request: an answer that names one of them cites it. */
  readonly foundFiles?: readonly FoundFile[];
  /** Maximum number of pages that a provider reads of the file, where it charges by the page; absent when they were not counted. */
  readonly pages?: number;
  /** Texts of the request's files by their parts; absent before any file was read. */
  readonly files?: FileTexts;
  /** Present when service/fusion was asked for: a panel answers first, then the models of the request. */
  readonly fused?: true;
  readonly maxToolCalls?: number;
  /** Conditions of which each stops Sluice's own tools; at least one. They replace `maxToolCalls`. */
  readonly stopServerToolsWhen?: readonly StopCondition[];
  readonly truncation?: "auto" | "disabled";
  /** Image options as a JSON object. */
  readonly imageConfigJson?: string;
  /** Asks for a cache mark at the last cacheable block. */
  readonly cacheControl?: { readonly ttl: "5m" | "1h" };
  /** Prompt cache options as a JSON object. */
  readonly promptCacheOptionsJson?: string;
  /** Text that the answer will mostly repeat, as a JSON object. */
  readonly predictionJson?: string;
  /** Names of beta features of Anthropic's API; at least one. */
  readonly anthropicBetas?: readonly string[];
  /** The provider's own edits of the conversation as JSON: an object (Anthropic) or an array (OpenAI). */
  readonly contextManagementJson?: string;
  /** Format in which the client speaks; absent means responses. */
  readonly door?: Door;
  /** Keyed hash of the end user for the provider's abuse reports. The identifier that the client sent reaches no provider. */
  readonly identityHash?: string;
  /** The request field that named the end user; undefined when none did. */
  readonly identityField?: "safety_identifier" | "user";
  /** Paths of fields within items, tools and settings that the contract does not have; absent for the doors that name them themselves. */
  readonly ignoredFields?: readonly string[];
  /** JSON texts of fields that the contract does not have, by their names; a provider gets those that its configuration passes. */
  readonly extraFields?: Readonly<Record<string, string>>;
  readonly echoUpstreamBody: boolean;
  readonly serviceMetadata: boolean;
  /** Present when vectors are asked for instead of an answer. */
  readonly embedding?: EmbeddingSettings;
}
