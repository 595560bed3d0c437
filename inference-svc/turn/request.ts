/** What is asked for, checked and in the form that the dialects read. */
import type { ProviderPreferences } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

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

/** Tools under a common name; their calls carry it. */
export interface NamespaceTool {
  readonly type: "namespace";
  readonly name: string;
  readonly description: string;
  readonly tools: readonly (FunctionTool | CustomTool)[];
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
  readonly maxToolCalls?: number;
  readonly truncation?: "auto" | "disabled";
  /** JSON object. */
  readonly imageConfigJson?: string;
  /** Marks the last cacheable block. */
  readonly cacheControl?: { readonly ttl: "5m" | "1h" };
  /** JSON object. */
  readonly promptCacheOptionsJson?: string;
  /** Whom a provider may hold to account, as a keyed hash: what the client sent goes nowhere. */
  readonly identityHash?: string;
  readonly echoUpstreamBody: boolean;
  readonly serviceMetadata: boolean;
}
