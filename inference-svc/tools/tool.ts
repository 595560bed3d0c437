/** A tool that the house runs itself: what the model is told of it, and what comes of a call. A file for each. */
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { ObjectShape } from "@sluice/proto/runtime/validation/shape.js";
import type { ItemEvent } from "../turn/relay.ts";
import type { CallableTool, InputItem, Source, TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import type { TurnSignal } from "../turn/signal.ts";
import type { OutputItem } from "../turn/turn.ts";
import type { HeldBack } from "./held-back.ts";

export interface ServerTool {
  /** Types under which requests list it; the first is that of its items, with `service:` before it. */
  readonly kinds: readonly [string, ...string[]];
  /** A call costs something or changes something: an answer that fails after it is not asked for again. */
  readonly hasEffect: boolean;
  /**
   * For one turn: what it counts, it counts there. Undefined where it has nothing to do: then the model is not told of it.
   * @throws Fault INVALID_REQUEST for settings that it cannot keep
   */
  open(settings: ToolSettings): OpenTool | undefined;
}

export interface ToolSettings {
  /** Of its entry among the tools, as they were checked; empty where it has none. */
  readonly parameters: JsonObject;
  /** Of the entry, as in the request: `tools.1`. */
  readonly path: string;
  /** As the client sent it. */
  readonly request: TurnRequest;
  readonly scope: Scope;
}

export interface OpenTool {
  /** For the model: what it does, and when it is of use. */
  readonly description: string;
  /** A call with other arguments is not run; the model is told what is wrong. */
  readonly arguments: ObjectShape;
  /** What its items have whatever comes of a call, where clients rely on that. */
  readonly blank?: JsonObject;
  /** Tools of the request that the model is not told of before this one has found them. */
  readonly finds?: readonly HeldBack[];
  /** Milliseconds that a call may take, where that is more than the minute of all others. */
  readonly limitMs?: number;
  /**
   * There where clients are told of a call while it runs: in a stream its item begins before it is over. What they are told last, of the item as
   * they are shown it.
   */
  readonly ending?: (item: OutputItem) => readonly ItemEvent[];
  /** What it throws is a bug: the model is told that the tool failed. */
  run(args: JsonObject, call: ToolCall): Promise<ToolResult>;
  /** The item of an earlier response as the call that it was, for the model to read again. */
  recall(item: InputItem): RecalledCall;
}

export interface ToolCall {
  readonly scope: Scope;
  /** Aborted when nobody waits for the result any more. */
  readonly signal: TurnSignal;
  /** For clients with a stream, where the tool has an `ending`; guardrails have looked at it. */
  readonly tell: (event: ItemEvent) => void;
}

export interface ToolResult {
  /** What the model reads. */
  readonly output: string;
  /** Of the item that the client is shown, beside type, id and status. */
  readonly item: JsonObject;
  /** There is no result: `output` says why. */
  readonly failed?: true;
  /** Tools of the request that were held back: from now on the model may call them. */
  readonly loads?: readonly CallableTool[];
  /** Pages of the web that it read: an answer that links to one of them cites it. */
  readonly sources?: readonly Source[];
}

export interface RecalledCall extends Pick<ToolResult, "output" | "loads"> {
  readonly args: JsonObject;
}

/** Of a tool that is opened only for what it gave in an earlier response: the request does not list it, and it will not run. */
export const isRecalled = ({ path }: ToolSettings): boolean => path === "input";

/** What the model reads of a call that gave nothing. */
export const errorOutput = (error: string): string => JSON.stringify({ error });

/** A hostile history holds thousands of searches; one takes up to some 30 milliseconds. */
const mostRepeated = 10;

/** Searches of earlier responses, made again where an item does not hold what they gave: each once, and no more than ten. */
export function repeatedSearches<Result>(search: (query: string) => Result): (query: string) => Result | undefined {
  const made = new Map<string, Result>();
  return (query) => {
    const known = made.get(query);
    if (known !== undefined || made.size >= mostRepeated) return known;
    const result = search(query);
    made.set(query, result);
    return result;
  };
}

/** Of those beyond that. */
export const notKept = JSON.stringify({ note: "What this gave is not kept. Call it again if it is needed." });
