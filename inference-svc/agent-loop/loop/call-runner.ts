/** Runs the tool calls of one answer concurrently. A failed call gives an error result; it never fails the turn. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";
import { abortFault, throwIfAborted } from "../../turn/abort.ts";
import { ProgressBuffer } from "../../turn/progress-buffer.ts";
import type { InputItem } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { ToolCallNote } from "../../turn/trace.ts";
import { TurnAbort } from "../../turn/signal.ts";
import type { CalledTool } from "./model-answer.ts";
import { canonicalJson, readArguments } from "../call-arguments.ts";
import type { Limits } from "./loop-limits.ts";
import { type ToolResult, initialItemFields, errorOutput } from "../tool.ts";

/** Maximum concurrent calls of one answer. */
const maxConcurrent = 8;
const deadlineMs = 60_000;
/**
 * Copies of a tool output in memory: in the conversation, the client's item and the body of the next request, each with
 * up to two bytes per character.
 */
const copiesOfOutput = 6;
/** How often a model may repeat an identical call. */
const maxRepeats = 2;

/** A call under way. */
export interface RunningCall {
  readonly result: Promise<ToolResult>;
  /** Progress events of the tool. */
  readonly relay: ProgressBuffer;
}

interface CallContext {
  readonly input: readonly InputItem[];
  readonly relay: ProgressBuffer;
}

export class CallRunner {
  readonly #scope: Scope;
  readonly #log: Pick<Logger, "warn">;
  /** How often each call was made, by its tool and arguments. */
  readonly #made = new Map<string, number>();

  constructor(scope: Scope, log: Pick<Logger, "warn">) {
    this.#scope = scope;
    this.#log = log;
  }

  /**
   * Starts the calls in order.
   * @param input the conversation, including the answer with the calls
   * @param room maximum number of calls to run; the others fail, with this limit as the reason
   * @throws Fault from each result, when the turn is over
   */
  start(
    calls: readonly CalledTool[],
    input: readonly InputItem[],
    { room, limit }: Pick<Limits, "room" | "limit">,
  ): readonly RunningCall[] {
    const slots = new ConcurrencySlots(maxConcurrent);
    return calls.map((call, index) => {
      const refused = index >= room ? `the limit of ${limit} tool calls is reached` : undefined;
      const relay = new ProgressBuffer();
      const result = this.#run(call, refused, slots, { input, relay });
      // The results are awaited in order, and a later one may fail before it is awaited.
      result.catch(() => {});
      return { result, relay };
    });
  }

  async #run(
    call: CalledTool,
    refused: string | undefined,
    slots: ConcurrencySlots,
    within: CallContext,
  ): Promise<ToolResult> {
    const args = readArguments(call.argumentsJson, call.offer.open.arguments);
    const wrong = typeof args === "string" ? args : this.#repeated(call, args);
    const why = refused ?? wrong;
    if (why !== undefined || typeof args === "string") return this.#noted(call, "refused", failed(call, why ?? ""));
    const free = await slots.take(deadlineMs);
    try {
      const result = free ? await this.#within(call, args, within) : failed(call, late(deadlineMs));
      return this.#noted(call, result.failed ? "failed" : "completed", result);
    } catch (error) {
      if (this.#scope.signal.aborted) throw abortFault(this.#scope.signal);
      this.#log.warn({ request_id: this.#scope.requestId, tool: kindOf(call), err: error }, "server tool failed");
      // A fault's message, for example about a budget, is written for clients; messages of other errors may contain secrets.
      return this.#noted(call, "failed", failed(call, error instanceof Fault ? error.message : "the tool failed"));
    } finally {
      free?.();
    }
  }

  /** Notes the outcome of a call. @throws Fault when the turn ran out of memory */
  #noted(call: CalledTool, outcome: ToolCallNote["outcome"], result: ToolResult): ToolResult {
    this.#scope.held.grow(copiesOfOutput * result.output.length);
    (this.#scope.trace.toolCalls ??= []).push({ kind: kindOf(call), outcome });
    return result;
  }

  #repeated({ offer }: CalledTool, args: JsonObject): string | undefined {
    const key = `${offer.name} ${canonicalJson(args)}`;
    const made = (this.#made.get(key) ?? 0) + 1;
    this.#made.set(key, made);
    return made > maxRepeats ? "repeated: the same call was made twice before; use what it gave" : undefined;
  }

  /** Runs a call within its time limit. A tool may ignore the abort signal; its result is then not awaited. */
  async #within(call: CalledTool, args: JsonObject, { input, relay }: CallContext): Promise<ToolResult> {
    const { signal } = this.#scope;
    const { callId, offer, resume } = call;
    const { open } = offer;
    const limitMs = open.limitMs ?? deadlineMs;
    throwIfAborted(signal);
    const abort = new TurnAbort();
    let stop = () => {};
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<ToolResult>((resolve, reject) => {
      stop = () => {
        abort.abort(signal.reason);
        reject(abortFault(signal));
      };
      timer = setTimeout(() => {
        abort.abort(new Error(late(limitMs)));
        resolve(failed(call, late(limitMs)));
      }, limitMs);
    });
    signal.addEventListener("abort", stop);
    try {
      const within = {
        callId,
        scope: this.#scope,
        argumentsJson: call.argumentsJson.trim() || "{}",
        signal: abort,
        input,
        sendProgress: relay.push.bind(relay),
      };
      return await Promise.race([resume?.(within) ?? open.run(args, within), over]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }
}

const late = (limitMs: number): string => `it gave no result in ${limitMs / 1_000} seconds`;

const kindOf = ({ offer }: CalledTool): string => offer.tool.kinds[0];

const failed = ({ offer, argumentsJson }: CalledTool, error: string): ToolResult => ({
  output: errorOutput(error),
  item: { ...initialItemFields(offer.open, argumentsJson), error },
  failed: true,
});
