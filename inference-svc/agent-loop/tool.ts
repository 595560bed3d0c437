/** A tool run by Sluice: its description for the model, and the result of a call. Each tool has a file. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { ObjectShape } from "@sluice/proto/lib/validation/shape.js";
import type { ItemEvent } from "../turn/progress-buffer.ts";
import type {
  CallableTool,
  FoundFile,
  FunctionTool,
  HostedTool,
  InputItem,
  Tool,
  ToolReference,
  TurnRequest,
  WebSource,
} from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import type { TurnSignal } from "../turn/signal.ts";
import type { DroppedField } from "../turn/trace.ts";
import type { OutputItem } from "../turn/turn.ts";
import type { DeferredTool } from "./deferred-tools.ts";

export interface ServerTool {
  /** Types of the tool's entries in requests. The first, prefixed with `service:`, is the type of its items. */
  readonly kinds: readonly [string, ...string[]];
  /** Whether a call costs or changes something: after it, a failed answer is not retried. */
  readonly hasEffect: boolean;
  /** Form of the call items; absent when their type is the tool's type. */
  readonly items?: ToolItemForm;
  /**
   * Whether Sluice runs the entry of a request. Any other entry stays unchanged, for a provider or to be reported as
   * unsupported. Absent for tools Sluice runs whenever no provider does.
   */
  readonly takes?: (entry: JsonObject, isNative: () => boolean, request: TurnRequest) => boolean;
  /**
   * Opens the tool for one turn, with its counters. Undefined when the tool has nothing to do: the model then does not
   * see it.
   * @throws Fault INVALID_REQUEST for settings the tool cannot honor
   */
  open(settings: ToolSettings): OpenTool | undefined;
}

export interface ToolItemForm {
  /** Item type. */
  readonly type: string;
  readonly idPrefix: string;
  /** Item status of a failed call. */
  readonly failedStatus: string;
  /** Form of a second item for the call's result, with the call's id in `call_id`. */
  readonly output?: Pick<ToolItemForm, "type" | "idPrefix">;
}

export interface ToolSettings {
  /** Checked parameters of the tool's entry in the request; empty when it has none. */
  readonly parameters: JsonObject;
  /** The whole entry of the tool in the request, checked; empty when the tool is opened only to restore earlier calls. */
  readonly entry: JsonObject;
  /** Path of the entry in the request, such as `tools.1`. */
  readonly path: string;
  /** The request as the client sent it. */
  readonly request: TurnRequest;
  readonly scope: Scope;
}

export interface OpenTool {
  /** For the model: the tool's purpose, and when to use it. */
  readonly description: string;
  /** Shape of the arguments. A call with other arguments is not run; the model gets an error text. */
  readonly arguments: ObjectShape;
  /** Fields present in every item of the tool, as clients rely on them; fields made from the arguments are present from the item's start. */
  readonly blank?: JsonObject | ((argumentsJson: string) => JsonObject);
  /** `instance_name` of the tool's items, for kinds of which a request may list several entries. */
  readonly instance?: string;
  /** Unsupported settings of the entry, for the receipt. */
  readonly notSent?: readonly DroppedField[];
  /** Deferred tools of the request, hidden from the model until this tool finds them. */
  readonly finds?: readonly DeferredTool[];
  /** Changes the request sent to models when this tool is offered, for a tool that holds back part of the input. */
  readonly adaptRequest?: (request: TurnRequest) => TurnRequest;
  /** Time limit of a call in milliseconds, if longer than the default of one minute. */
  readonly limitMs?: number;
  /** For tools that stream progress: the last events of the call's item. `item` is the client's version of it. */
  readonly ending?: (item: OutputItem) => readonly ItemEvent[];
  /**
   * The approval request for a call that needs approval. The response then ends without running the call, and the
   * client's next request contains the decision.
   */
  readonly toApprovalRequest?: (argumentsJson: string) => ItemAwaitingCaller;
  /** Runs the call. An exception counts as a bug of the tool; the model only reads that the tool failed. */
  run(args: JsonObject, call: ToolCall): Promise<ToolResult>;
  /**
   * For tools with suspendable calls: restores a call from its state, ready to continue.
   * @param outputs outputs of the function calls for which the call was suspended
   * @returns undefined for a state not created by this entry for this caller
   */
  readonly resume?: (state: JsonObject, outputs: readonly InputItem[]) => ResumedCall | undefined;
  /** Restores the call from an item of an earlier response, for the model. */
  recall(item: InputItem): RestoredCall;
}

export interface ResumedCall {
  /** Arguments of the call. */
  readonly args: JsonObject;
  readonly run: (call: ToolCall) => Promise<ToolResult>;
}

export interface ItemAwaitingCaller {
  readonly type: string;
  readonly idPrefix: string;
  readonly fields: JsonObject;
}

export interface ToolCall {
  /** Call id assigned by the model. */
  readonly callId: string;
  readonly scope: Scope;
  /** The arguments as JSON text of the model; an empty object if the model wrote none. */
  readonly argumentsJson: string;
  /** Aborted when the result is no longer needed. */
  readonly signal: TurnSignal;
  /** The conversation up to the call, including the answer with the call. */
  readonly input: readonly InputItem[];
  /** Sends a progress event to the client of a stream, after the guardrails. For tools with an `ending`. */
  readonly sendProgress: (event: ItemEvent) => void;
}

export interface ToolResult {
  /** The output the model reads. */
  readonly output: string;
  /** Fields of the client's item in addition to type, id and status. */
  readonly item: JsonObject;
  /** Fields of the second item, for tools with two items per call. */
  readonly outputItem?: JsonObject;
  /** Set when the call failed; `output` contains the reason. */
  readonly failed?: true;
  /** Deferred tools found by the call: from now on the model may call them. */
  readonly loads?: readonly CallableTool[];
  /** Web pages read by the call: an answer with a link to one of them cites it. */
  readonly sources?: readonly WebSource[];
  /** Files found by the call: an answer with the name of one of them cites it. */
  readonly files?: readonly FoundFile[];
  /** Function calls for the client on which this call waits: the response ends with them, and the model reads no output. The item stays in progress. */
  readonly waitsFor?: readonly OutputItem[];
}

export interface RestoredCall extends Pick<ToolResult, "loads"> {
  /** Arguments of the call; absent for an item with only a result. */
  readonly args?: JsonObject;
  /** Output of the call; absent for an item with a separate output item. */
  readonly output?: string;
}

export interface ToolDeps {
  /** Every tool Sluice can run. */
  readonly tools: readonly ServerTool[];
  /**
   * Whether a provider of the request's models runs the tool.
   * @param beside the functions sent to the provider together with the tool
   */
  readonly isNative: (request: TurnRequest, tool: HostedTool, beside?: readonly Tool[]) => boolean;
}

/** A tool opened for the turn. */
export interface Offer {
  readonly tool: Pick<ServerTool, "kinds" | "hasEffect">;
  readonly open: OpenTool;
  /** Function name of the tool. */
  readonly name: string;
  /** The tool's type in the client's spelling. */
  readonly spelling: string;
  readonly items: ToolItemForm;
  /** Whether a tool choice refers to this tool; only for tools of a source. */
  readonly isMeant?: (reference: ToolReference) => boolean;
}

/** The function offered to the model. */
export function describeAsFunction(
  name: string,
  { description, arguments: args }: Pick<OpenTool, "description" | "arguments">,
): FunctionTool {
  const parametersJson = JSON.stringify(args.schema(new Map()));
  const head = JSON.stringify({ type: "function", name, description });
  // `strict: false`, since OpenAI would otherwise check the schema by its strict rules, and the schema does not follow them.
  const json = `${head.slice(0, -1)},"parameters":${parametersJson},"strict":false}`;
  return { type: "function", name, description, parametersJson, json };
}

/**
 * An unused function name: a number distinguishes tools of one kind from each other and from functions of the client.
 * @param taken gets the name
 */
export function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 1; taken.has(name); count++) name = `${wanted}__${count}`;
  taken.add(name);
  return name;
}

/**
 * Whether an unavailable tool is offered nevertheless and each call of it fails. Clients of the Messages format read
 * the error in the result block; rejecting the request would cost them the turn.
 */
export const failsOnCall = ({ door }: Pick<TurnRequest, "door">): boolean => door === "messages";

/** Whether the tool is opened only to restore a call of an earlier response, not to run. */
export const isForRestoredCalls = ({ path }: ToolSettings): boolean => path === "input";

/** Fields present in every item of a call of the tool. */
export const initialItemFields = ({ blank }: OpenTool, argumentsJson: string): JsonObject | undefined =>
  typeof blank === "function" ? blank(argumentsJson) : blank;

/** The output of a failed call. */
export const errorOutput = (error: string): string => JSON.stringify({ error });

/** Maximum searches repeated for one request, against hostile histories with thousands of them; one search takes up to some 30 milliseconds. */
const maxRepeated = 10;

/** Repeats searches of earlier responses with items that lack the results: each query once, and at most ten queries. */
export function repeatedSearches<Result>(search: (query: string) => Result): (query: string) => Result | undefined {
  const made = new Map<string, Result>();
  return (query) => {
    const known = made.get(query);
    if (known !== undefined || made.size >= maxRepeated) return known;
    const result = search(query);
    made.set(query, result);
    return result;
  };
}

/** Output of an earlier search that was not repeated because of the limit. */
export const resultNotStored = JSON.stringify({ note: "What this gave is not kept. Call it again if it is needed." });
