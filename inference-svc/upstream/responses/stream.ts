/**
 * Reads a Responses answer, as a stream or whole, as turn events. Items are numbered anew in the order in which they begin: clients index
 * by that number, and providers leave gaps.
 */
import type { TurnRequest } from "../../turn/request.ts";
import type { Outcome, TurnEvent } from "../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { connectionLost, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import { type Emit, type ItemStatus, Output } from "../output.ts";
import { servedTier } from "../served.ts";
import { inBandError } from "./error.ts";
import { type Slot, openSlot } from "./slot.ts";
import { responsesUsage } from "./usage.ts";

/** Events that only their own kind of item can belong to: from them an item is begun that was never announced. */
const impliedType: Readonly<Record<string, string>> = {
  "response.output_text.delta": "message",
  "response.refusal.delta": "message",
  "response.reasoning_text.delta": "reasoning",
  "response.reasoning_summary_text.delta": "reasoning",
};

export class ResponsesTranslator implements Translator {
  readonly #request: TurnRequest;
  readonly #target: Target;
  readonly #emit: Emit;
  readonly #output: Output;
  /** In the order of their beginning. */
  readonly #slots: Slot[] = [];
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#request = request;
    this.#target = target;
    this.#emit = emit;
    this.#output = new Output(emit);
  }

  get finished(): boolean {
    return this.done;
  }

  event(name: string | undefined, data: string): void {
    const event = parseObject(data);
    const type = text(event.type) || (name ?? "");
    switch (type) {
      case "response.output_item.added":
        this.#open(event.output_index, event.item);
        return;
      case "response.output_item.done":
        return this.#itemDone(event);
      case "response.completed":
      case "response.incomplete":
      case "response.done":
        return this.#terminal(event.response);
      case "response.failed":
      case "response.cancelled":
      case "error":
        throw providerFault(inBandError(event));
      case "":
        return this.#whole(event);
      default:
        // What is not known yet concerns items that pass whole.
        this.#slotOf(event, type)?.event(type, event);
    }
  }

  #whole(answer: JsonObject): void {
    if (isObject(answer.error)) throw providerFault(inBandError(answer));
    this.#terminal(answer);
  }

  #slotOf(event: JsonObject, type: string): Slot | undefined {
    const known = this.#slots.findLast((slot) => slot.outputIndex === event.output_index);
    if (known || impliedType[type] === undefined) return known;
    return this.#open(event.output_index, { type: impliedType[type], id: event.item_id });
  }

  #open(outputIndex: unknown, item: unknown): Slot {
    if (!isObject(item) || text(item.type) === "") throw providerFailed("an output item without a type");
    const slot = openSlot(this.#output, this.#request, outputIndex, item);
    this.#slots.push(slot);
    return slot;
  }

  #itemDone(event: JsonObject): void {
    const known = this.#slots.findLast((slot) => slot.outputIndex === event.output_index);
    const slot = known ?? this.#open(event.output_index, event.item);
    if (!slot.ended) slot.end(isObject(event.item) ? event.item : {}, "completed");
  }

  #terminal(response: unknown): void {
    if (!isObject(response)) throw providerFailed("a terminal event without a response");
    if (response.status === "failed" || isObject(response.error)) throw providerFault(inBandError({ response }));
    if (response.status !== "completed" && response.status !== "incomplete") {
      throw providerFailed(`response status ${text(response.status)}`);
    }
    const outcome = this.#outcomeOf(response, response.status);
    this.#complete(objects(response.output), outcome.status);
    this.done = true;
    this.#emit({ type: "end", outcome });
  }

  #outcomeOf(response: JsonObject, status: ItemStatus): Outcome {
    const details = isObject(response.incomplete_details) ? response.incomplete_details : {};
    const reason = details.reason === "content_filter" ? "content_filter" : "max_output_tokens";
    const usage = responsesUsage(response.usage);
    return {
      status,
      ...(status === "incomplete" && { reason }),
      ...(usage && { usage }),
      serviceTier: servedTier(response.service_tier, this.#target),
    };
  }

  /** Items that the stream began or left out are ended by what the whole response says of them. */
  #complete(items: readonly JsonObject[], status: ItemStatus): void {
    const seen = new Set<Slot>();
    for (const item of items) {
      const slot = this.#match(item, seen) ?? this.#open(undefined, item);
      seen.add(slot);
      if (!slot.ended) slot.end(item, item === items.at(-1) ? status : "completed");
    }
    for (const slot of this.#slots) if (!slot.ended) slot.end({}, status);
  }

  /** By id; servers that give other ids in the end than in the stream, by the order among items of the type. */
  #match(item: JsonObject, seen: ReadonlySet<Slot>): Slot | undefined {
    const open = this.#slots.filter((slot) => slot.type === item.type && !seen.has(slot));
    return open.find((slot) => slot.upstreamId === item.id) ?? open[0];
  }

  close(): void {
    if (!this.done) throw connectionLost();
  }
}
