/** A tool that Sluice runs: its description for the model, and the result of a call. Each tool has a file. */
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { ObjectShape } from "@sluice/proto/runtime/validation/shape.js";
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
  /** Types under which requests list it; the first is that of its items, with `service:` before it. */
  readonly kinds: readonly [string, ...string[]];
  /** A call costs something or changes something: an answer that fails after it is not asked for again. */
  readonly hasEffect: boolean;
  /** How clients know its calls, where these are not items of the tool's own type. */
  readonly items?: ToolItemForm;
  /**
   * Whether Sluice runs the entry of a request; any other entry stays as it is, for a provider or to be reported as one that nobody runs.
   * Absent for tools that Sluice runs wherever no provider does.
   */
  readonly takes?: (entry: JsonObject, isNative: () => boolean, request: TurnRequest) => boolean;
  /**
   * For one turn: what it counts, it counts there. Undefined where it has nothing to do: then the model is not told of it.
   * @throws Fault INVALID_REQUEST for settings that it cannot keep
   */
  open(settings: ToolSettings): OpenTool | undefined;
}

export interface ToolItemForm {
  /** Item type. */
  readonly type: string;
  readonly idPrefix: string;
  /** Status of a call that failed. */
  readonly failedStatus: string;
  /** A second item, with what the call gave; it names the call by `call_id`. */
  readonly output?: Pick<ToolItemForm, "type" | "idPrefix">;
}

export interface ToolSettings {
  /** Parameters of the tool's entry in the request, checked; empty when it has none. */
  readonly parameters: JsonObject;
  /** The whole entry, checked; empty when the tool is opened only for the history. */
  readonly entry: JsonObject;
  /** Path of the entry in the request, such as `tools.1`. */
  readonly path: string;
  /** The client's own request. */
  readonly request: TurnRequest;
  readonly scope: Scope;
}

export interface OpenTool {
  /** For the model: what it does, and when it is of use. */
  readonly description: string;
  /** A call with other arguments is not run; the model is told what is wrong. */
  readonly arguments: ObjectShape;
  /** Fields that every item of the tool has, since clients rely on them; made of the arguments, the item has them from its beginning. */
  readonly blank?: JsonObject | ((argumentsJson: string) => JsonObject);
  /** Name of the entry, where a request may list several of the kind: items carry it as `instance_name`. */
  readonly instance?: string;
  /** Settings of the entry that the tool cannot keep, for the receipt. */
  readonly notSent?: readonly DroppedField[];
  /** Tools of the request that the model is not told of before this one has found them. */
  readonly finds?: readonly DeferredTool[];
  /** The request as models are sent it where this tool is offered, for a tool that holds a part of the input back. */
  readonly told?: (request: TurnRequest) => TurnRequest;
  /** Milliseconds that a call may take, where that is more than the minute of all others. */
  readonly limitMs?: number;
  /**
   * There where clients are told of a call while it runs: in a stream its item begins before it is over. What they are told last, of the item as
   * they are shown it.
   */
  readonly ending?: (item: OutputItem) => readonly ItemEvent[];
  /** The item by which the client is asked for a call, which then does not run: the response ends, and a later request brings the decision. */
  readonly asks?: (argumentsJson: string) => AskedItem;
  /** Runs the call. An exception is a bug, and the model reads that the tool failed. */
  run(args: JsonObject, call: ToolCall): Promise<ToolResult>;
  /**
   * For tools whose calls can be suspended: the call that gave this state to the client, ready to go on.
   * @param outputs of the function calls that it waited for
   * @returns undefined for a state that the tool did not give for this entry of this caller
   */
  readonly resume?: (state: JsonObject, outputs: readonly InputItem[]) => ResumedCall | undefined;
  /** The item of an earlier response as the call that it was, for the model to read again. */
  recall(item: InputItem): RecalledCall;
}

export interface ResumedCall {
  /** Arguments of the call. */
  readonly args: JsonObject;
  readonly run: (call: ToolCall) => Promise<ToolResult>;
}

export interface AskedItem {
  readonly type: string;
  readonly idPrefix: string;
  readonly fields: JsonObject;
}

export interface ToolCall {
  /** Id of the call as the model made it. */
  readonly callId: string;
  readonly scope: Scope;
  /** The arguments as the model wrote them; an empty object where it wrote nothing. */
  readonly argumentsJson: string;
  /** Aborted when the result is no longer needed. */
  readonly signal: TurnSignal;
  /** The conversation up to the call, and the answer that makes it. */
  readonly input: readonly InputItem[];
  /** For clients with a stream, where the tool has an `ending`; guardrails have looked at it. */
  readonly tell: (event: ItemEvent) => void;
}

export interface ToolResult {
  /** The output that the model reads. */
  readonly output: string;
  /** Fields of the item that the client gets, beside type, id and status. */
  readonly item: JsonObject;
  /** Fields of the second item, for tools that have one. */
  readonly outputItem?: JsonObject;
  /** There is no result: `output` says why. */
  readonly failed?: true;
  /** Tools of the request that were held back: from now on the model may call them. */
  readonly loads?: readonly CallableTool[];
  /** Pages of the web that it read: an answer that links to one of them cites it. */
  readonly sources?: readonly WebSource[];
  /** Files in which something was found: an answer that names one of them cites it. */
  readonly files?: readonly FoundFile[];
  /**
   * Function calls for the client, without which the call cannot go on: the response ends with them, and the model reads no output. The item
   * stays in progress.
   */
  readonly waitsFor?: readonly OutputItem[];
}

export interface RecalledCall extends Pick<ToolResult, "loads"> {
  /** Absent for an item that holds only what a call gave. */
  readonly args?: JsonObject;
  /** Absent for an item whose output is an item of its own. */
  readonly output?: string;
}

export interface ToolParts {
  /** Every tool that Sluice can run. */
  readonly tools: readonly ServerTool[];
  /**
   * Whether a provider of the request's models runs the tool.
   * @param beside the functions that the provider would be sent with it
   */
  readonly isNative: (request: TurnRequest, tool: HostedTool, beside?: readonly Tool[]) => boolean;
}

/** A tool as it is open for the turn. */
export interface Offer {
  readonly tool: Pick<ServerTool, "kinds" | "hasEffect">;
  readonly open: OpenTool;
  /** The name that the model calls. */
  readonly name: string;
  /** The tool's type in the client's spelling. */
  readonly spelling: string;
  readonly items: ToolItemForm;
  /** Whether a tool choice means it, for a tool of a source. */
  readonly isMeant?: (reference: ToolReference) => boolean;
}

/** The function that the model is told of. */
export function describeAsFunction(
  name: string,
  { description, arguments: args }: Pick<OpenTool, "description" | "arguments">,
): FunctionTool {
  const parametersJson = JSON.stringify(args.schema(new Map()));
  const head = JSON.stringify({ type: "function", name, description });
  // OpenAI would check a schema by the rules of strict ones, which these are not written for.
  const json = `${head.slice(0, -1)},"parameters":${parametersJson},"strict":false}`;
  return { type: "function", name, description, parametersJson, json };
}

/**
 * A name that no other tool has: tools of one kind are told apart by number, as they are from functions of the client.
 * @param taken gets the name
 */
export function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 1; taken.has(name); count++) name = `${wanted}__${count}`;
  taken.add(name);
  return name;
}

/**
 * Whether a tool that nothing here can run is offered all the same, and each call of it fails. Clients of the Messages format read the error in
 * the block of the result; a refusal would cost them the turn.
 */
export const failsByCall = ({ door }: Pick<TurnRequest, "door">): boolean => door === "messages";

/** Whether the tool is opened only to restore a call of an earlier response: it will not run. */
export const isRecalled = ({ path }: ToolSettings): boolean => path === "input";

/** Fields that every item of a call of the tool has. */
export const blankItem = ({ blank }: OpenTool, argumentsJson: string): JsonObject | undefined =>
  typeof blank === "function" ? blank(argumentsJson) : blank;

/** The output of a call that failed. */
export const errorOutput = (error: string): string => JSON.stringify({ error });

/** A hostile history holds thousands of searches; one takes up to some 30 milliseconds. */
const maxRepeated = 10;

/** Searches of earlier responses, made again where an item does not hold what they gave: each once, and no more than ten. */
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

/** Output of a restored search past the limit. */
export const notKept = JSON.stringify({ note: "What this gave is not kept. Call it again if it is needed." });
