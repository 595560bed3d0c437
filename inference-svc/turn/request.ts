/** What is asked for, checked and in the form that the dialects read. */

/** An input item in its JSON form; its kind and the fields named in turn/parse.ts have been checked. */
export type InputItem = { readonly type: string; readonly [field: string]: unknown };

export interface FunctionTool {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  /** The JSON Schema as the client wrote it, byte for byte: numbers in it must not be rounded. "null" when there is none. */
  readonly parametersJson: string;
  readonly strict?: boolean;
}

export type ToolChoice = "auto" | "none" | "required" | { readonly type: "function"; readonly name: string };

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
  readonly tools: readonly FunctionTool[];
  readonly toolChoice?: ToolChoice;
  readonly textFormat?: TextFormat;
  readonly verbosity?: string;
  readonly reasoning?: Reasoning;
  readonly include: readonly string[];
  readonly outputModalities: readonly string[];
  readonly sessionId?: string;
  readonly promptCacheKey?: string;
  readonly serviceTier?: string;
  readonly echoUpstreamBody: boolean;
  readonly serviceMetadata: boolean;
}
