/** Runs the calls of one answer beside each other. Whatever goes wrong in one of them is its result. */
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { Logger } from "@sluice/proto/runtime/log/log.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { ConcurrencySlots } from "../../internal/concurrency-slots.ts";
import { abortFault, throwIfAborted } from "../../turn/abort.ts";
import { ProgressBuffer } from "../../turn/progress-buffer.ts";
import type { InputItem } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { ToolCallNote } from "../../turn/trace.ts";
import { TurnAbort } from "../../turn/signal.ts";
import type { CalledTool } from "./answer.ts";
import { canonicalJson, readArguments } from "../arguments.ts";
import type { Limits } from "./limits.ts";
import { type ToolResult, blankItem, errorOutput } from "../tool.ts";

/** Maximum number of calls of one answer that run at a time. */
const maxConcurrent = 8;
const deadlineMs = 60_000;
/** An output stands in the conversation, in the item that the client gets and in the body of the next call, with up to two bytes a character. */
const copiesOfOutput = 6;
/** The same call has not helped before. */
const maxRepeats = 2;

/** A call under way. */
export interface Running {
  readonly result: Promise<ToolResult>;
  /** Progress events of the tool. */
  readonly relay: ProgressBuffer;
}

interface CallContext {
  readonly input: readonly InputItem[];
  readonly relay: ProgressBuffer;
}

export class Runner {
  readonly #scope: Scope;
  readonly #log: Pick<Logger, "warn">;
  /** How often each call was made, by tool and arguments. */
  readonly #made = new Map<string, number>();

  constructor(scope: Scope, log: Pick<Logger, "warn">) {
    this.#scope = scope;
    this.#log = log;
  }

  /**
   * In the order of the calls.
   * @param input the conversation, and the answer that makes the calls
   * @param room how many of them may be run; the others are told of the limit
   * @throws Fault each of them, when the turn is over
   */
  start(
    calls: readonly CalledTool[],
    input: readonly InputItem[],
    { room, limit }: Pick<Limits, "room" | "limit">,
  ): readonly Running[] {
    const slots = new ConcurrencySlots(maxConcurrent);
    return calls.map((call, index) => {
      const refused = index >= room ? `the limit of ${limit} tool calls is reached` : undefined;
      const relay = new ProgressBuffer();
      const result = this.#run(call, refused, slots, { input, relay });
      // The results are awaited in order, so a later one may fail before anything awaits it.
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
      // The message of a fault, about a budget for example, is written for clients; messages of other errors may hold secrets.
      return this.#noted(call, "failed", failed(call, error instanceof Fault ? error.message : "the tool failed"));
    } finally {
      free?.();
    }
  }

  /** @throws Fault when the turn has failed for want of memory */
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

  /** A tool may ignore the signal; its result is not awaited then. */
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
        tell: relay.push.bind(relay),
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
  item: { ...blankItem(offer.open, argumentsJson), error },
  failed: true,
});
