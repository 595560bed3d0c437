/** What is asked for, checked and in the form that the dialects read. */
import type { Plugin, ProviderPreferences } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { FileTexts } from "./file-text.ts";

/** An input item in its JSON form; its kind and the fields named in turn/parse.ts have been checked. */
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
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool whose input is text of any form. */
export interface CustomTool {
  readonly type: "custom";
  readonly name: string;
  readonly description?: string;
  /** As the client wrote it; absent when any text will do. */
  readonly formatJson?: string;
  readonly async?: boolean;
  /** The whole tool as the client wrote it. */
  readonly json: string;
}

/** A tool that the client runs. */
export type CallableTool = FunctionTool | CustomTool;

/** Tools under a common name; their calls carry it. */
export interface NamespaceTool {
  readonly type: "namespace";
  readonly name: string;
  readonly description: string;
  readonly tools: readonly CallableTool[];
  /** As the client wrote it. */
  readonly json: string;
}

/** A tool that the provider runs itself. */
export interface HostedTool {
  readonly type: "hosted";
  /** Its type, in the neutral spelling: `service:` in the place of any alias of that prefix. */
  readonly kind: string;
  /** Its type as the client spelled it. */
  readonly spelling: string;
  /** As the client wrote it. */
  readonly json: string;
  /** The tool is not sent: the endpoint does not run it. It keeps its place, so that the others keep their paths. */
  readonly leftOut?: true;
}

export type Tool = FunctionTool | CustomTool | NamespaceTool | HostedTool;

/** One of the tools of the request. */
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

export type TextFormat =
  | { readonly type: "text" }
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly name: string;
      /** As the client wrote it. */
      readonly schemaJson: string;
      readonly description?: string;
      readonly strict?: boolean;
    };

export interface Reasoning {
  readonly effort?: string;
  readonly summary?: string;
  /** Budget in tokens, at least 1. */
  readonly maxTokens?: number;
  readonly context?: string;
  readonly mode?: string;
}

/** A page of the web. */
export interface Source {
  readonly url: string;
  /** Empty when it has none. */
  readonly title: string;
}

type OfKind = Exclude<Plugin["plugin"], { case: undefined }>;

/** Settings by plugin, checked; absent are those that were not asked for. */
export type Plugins = { readonly [Kind in OfKind as Kind["case"]]?: Kind["value"] };

/** Holds or does not hold of everything that the turn has done so far. */
export type StopCondition =
  | { readonly type: "step_count_is"; readonly step_count: number }
  | { readonly type: "has_tool_call"; readonly tool_name: string }
  | { readonly type: "max_tokens_used"; readonly max_tokens: number }
  | { readonly type: "max_cost"; readonly max_cost_in_dollars: number }
  | { readonly type: "finish_reason_is"; readonly reason: string };

/** Absent means unset. */
export interface TurnRequest {
  /** The slugs to try, in order, each once; the first is the one that was asked for. */
  readonly models: readonly string[];
  readonly input: readonly InputItem[];
  readonly instructions?: string;
  readonly stream: boolean;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly topLogprobs?: number;
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
  /** Where it may be served. */
  readonly provider?: ProviderPreferences;
  /** Absent when none was asked for. */
  readonly plugins?: Plugins;
  /** What was read on the web for it: an answer that links to one of them cites it. */
  readonly sources?: readonly Source[];
  /** What its files say, by their parts; absent where nobody has looked. */
  readonly files?: FileTexts;
  /** Set where service/fusion was asked for: a panel answers first, and the models of the request after it. */
  readonly fused?: true;
  readonly maxToolCalls?: number;
  /** Each by itself stops the tools of the house; at least one. In the place of `maxToolCalls`. */
  readonly stopServerToolsWhen?: readonly StopCondition[];
  readonly truncation?: "auto" | "disabled";
  /** JSON object. */
  readonly imageConfigJson?: string;
  /** Marks the last cacheable block. */
  readonly cacheControl?: { readonly ttl: "5m" | "1h" };
  /** JSON object. */
  readonly promptCacheOptionsJson?: string;
  /** Whom a provider may hold to account, as a keyed hash: what the client sent goes nowhere. */
  readonly identityHash?: string;
  /** The field in which the client names its end user; undefined where it names none. */
  readonly identityField?: "safety_identifier" | "user";
  readonly echoUpstreamBody: boolean;
  readonly serviceMetadata: boolean;
}
