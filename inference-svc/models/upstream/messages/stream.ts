/** Converts a Messages answer, as a stream or whole, to turn events. The blocks of a whole message are complete from their beginning. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Outcome, TurnEvent } from "../../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { connectionLost, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import type { Emit, ItemStatus } from "../events/item-writer.ts";
import { answerEnd } from "../events/answer-end.ts";
import { servedTier } from "../events/service-tier.ts";
import { MessagesOutputItems } from "./output-items.ts";
import { messagesError } from "./error.ts";
import { MessagesUsage } from "./usage.ts";
import { matchingStop } from "../translate/extensions.ts";
import { findArguments } from "../translate/written-arguments.ts";

/**
 * Outcomes by the stop reasons of incomplete answers; any other reason is a normal end. A paused turn is incomplete,
 * because continuing it would take another request.
 */
const incomplete: ReadonlyMap<string, Pick<Outcome, "reason" | "detail">> = new Map<
  string,
  Pick<Outcome, "reason" | "detail">
>([
  ["max_tokens", { reason: "max_output_tokens" }],
  ["model_context_window_exceeded", { reason: "max_output_tokens", detail: "model_context_window_exceeded" }],
  ["pause_turn", { reason: "max_output_tokens", detail: "pause_turn" }],
  ["refusal", { reason: "content_filter" }],
]);
const complete: Pick<Outcome, "reason" | "detail"> = {};

export class MessagesTranslator implements Translator {
  readonly #emit: Emit;
  readonly #target: Target;
  readonly #blocks: MessagesOutputItems;
  readonly #usage = new MessagesUsage();
  readonly #stopTexts: TurnRequest["stop"];
  #stopReason: string | undefined;
  #stopSequence: string | undefined;
  #category: string | undefined;
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#emit = emit;
    this.#stopTexts = request.stop;
    this.#target = target;
    this.#blocks = new MessagesOutputItems(request, target, emit);
  }

  get usage(): Outcome["usage"] {
    return this.#usage.usage;
  }

  get finished(): boolean {
    return this.#stopReason !== undefined;
  }

  event(name: string | undefined, data: string): void {
    const event = parseObject(data);
    const type = text(event.type) || (name ?? "");
    switch (type) {
      case "content_block_delta":
        if (isObject(event.delta)) this.#blocks.delta(event.delta, event.index);
        return;
      case "content_block_start":
        if (isObject(event.content_block)) this.#blocks.begin(event.content_block, event.index);
        return;
      case "content_block_stop":
        return this.#blocks.stop();
      case "message_start":
        // A proxy has repeated the request in the middle of an answer: the new text would follow a broken half of the
        // old one.
        if (this.#blocks.hasBegun) throw providerFailed("a second beginning amid an answer");
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
        // These are pings, and events of later versions, which may come at any time.
        return this.#unknown(event, type);
    }
  }

  /** Handles an event of an unknown type. Gateways in between send errors in other forms. */
  #unknown(event: JsonObject, type: string): void {
    if (isObject(event.error)) throw providerFault(messagesError(undefined, event));
    // An empty object is a keep-alive of a proxy.
    if (type === "" && Object.keys(event).length > 0) throw providerFailed("neither a message nor an event");
  }

  #whole(message: JsonObject, data: string): void {
    const blocks = objects(message.content);
    const hasCalls = blocks.some(({ type }) => type === "tool_use");
    const inputs = hasCalls ? findArguments(data, ["content"], ["input"]) : undefined;
    for (const [index, block] of blocks.entries()) {
      this.#blocks.begin(block, index, inputs?.get(index)?.toString("utf8"));
      this.#blocks.stop();
    }
    this.#usage.read(message.usage);
    // Some servers give no stop reason. A message that came as one JSON text was not cut.
    const reason = message.stop_reason ?? (blocks.length > 0 ? "end_turn" : undefined);
    this.#stop({ ...message, stop_reason: reason });
    this.close();
  }

  #stop({ stop_reason, stop_sequence, stop_details }: JsonObject): void {
    if (typeof stop_reason !== "string") return;
    this.#stopReason = stop_reason;
    this.#stopSequence = matchingStop(this.#stopTexts, stop_sequence);
    const explanation = isObject(stop_details) ? text(stop_details.explanation) : "";
    this.#category = (stop_reason === "refusal" && isObject(stop_details) && text(stop_details.category)) || undefined;
    if (stop_reason === "refusal" && explanation !== "") this.#blocks.refuse(explanation);
  }

  cut(): void {
    this.#stopReason = "model_context_window_exceeded";
    this.close();
  }

  close(): void {
    if (this.done) return;
    if (this.#stopReason === undefined) throw connectionLost();
    const { reason, detail = this.#category } = incomplete.get(this.#stopReason) ?? complete;
    const status: ItemStatus = reason ? "incomplete" : "completed";
    const final = this.#blocks.end(status, detail === "pause_turn");
    this.done = true;
    const { usage, tier } = this.#usage;
    this.#emit(answerEnd(final, reason, usage, servedTier(tier, this.#target), this.#stopSequence, detail));
  }
}
