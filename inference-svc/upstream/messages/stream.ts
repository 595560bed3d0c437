/** Reads a Messages answer, as a stream or whole, as turn events: a whole message is a stream whose blocks begin complete. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Outcome, TurnEvent } from "../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { connectionLost, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import type { Emit, ItemStatus } from "../output.ts";
import { servedTier } from "../served.ts";
import { Blocks } from "./blocks.ts";
import { messagesError } from "./error.ts";
import { MessagesUsage } from "./usage.ts";
import { wholeInputs } from "./whole.ts";

/** Reasons to stop for which the answer is not whole; everything else is an end. A paused turn could only be gone on with by itself. */
const incomplete: ReadonlyMap<string, NonNullable<Outcome["reason"]>> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["model_context_window_exceeded", "max_output_tokens"],
  ["pause_turn", "max_output_tokens"],
  ["refusal", "content_filter"],
]);

export class MessagesTranslator implements Translator {
  readonly #emit: Emit;
  readonly #target: Target;
  readonly #blocks: Blocks;
  readonly #usage = new MessagesUsage();
  #stopReason: string | undefined;
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#emit = emit;
    this.#target = target;
    this.#blocks = new Blocks(request, emit);
  }

  get usage(): Outcome["usage"] {
    return this.#usage.usage;
  }

  get finished(): boolean {
    return this.#stopReason !== undefined;
  }

  event(name: string | undefined, data: string): void {
    const event = parseObject(data);
    switch (text(event.type) || (name ?? "")) {
      case "content_block_delta":
        if (isObject(event.delta)) this.#blocks.delta(event.delta, event.index);
        return;
      case "content_block_start":
        if (isObject(event.content_block)) this.#blocks.begin(event.content_block, event.index);
        return;
      case "content_block_stop":
        return this.#blocks.stop();
      case "message_start":
        return this.#usage.read(isObject(event.message) ? event.message.usage : undefined);
      case "message_delta":
        this.#usage.read(event.usage);
        return this.#stop(isObject(event.delta) ? event.delta : {});
      case "message_stop":
        return this.close();
      case "message":
        return this.#whole(event, data);
      case "error":
        throw providerFault(messagesError(undefined, event));
      default:
        // Pings, and what a later version brings: it may add events at any time.
        return this.#unknown(event);
    }
  }

  /** Gateways in between have their own errors. */
  #unknown(event: JsonObject): void {
    if (isObject(event.error)) throw providerFault(messagesError(undefined, event));
    if (event.type === undefined) throw providerFailed("neither a message nor an event");
  }

  #whole(message: JsonObject, data: string): void {
    const inputs = wholeInputs(message, data);
    for (const [index, block] of objects(message.content).entries()) {
      this.#blocks.begin(block, index, inputs.get(index));
      this.#blocks.stop();
    }
    this.#usage.read(message.usage);
    this.#stop(message);
    this.close();
  }

  #stop({ stop_reason, stop_details }: JsonObject): void {
    if (typeof stop_reason !== "string") return;
    this.#stopReason = stop_reason;
    const explanation = isObject(stop_details) ? text(stop_details.explanation) : "";
    if (stop_reason === "refusal" && explanation !== "") this.#blocks.refuse(explanation);
  }

  cut(): void {
    this.#stopReason = "model_context_window_exceeded";
    this.close();
  }

  close(): void {
    if (this.done) return;
    if (this.#stopReason === undefined) throw connectionLost();
    const reason = incomplete.get(this.#stopReason);
    const status: ItemStatus = reason ? "incomplete" : "completed";
    this.#blocks.end(status);
    this.done = true;
    const { usage, tier } = this.#usage;
    const outcome: Outcome = {
      status,
      ...(reason && { reason }),
      ...(usage && { usage }),
      serviceTier: servedTier(tier, this.#target),
    };
    this.#emit({ type: "end", outcome });
  }
}
