/**
 * Converts a Responses answer, as a stream or whole, to turn events. Items get new indices in the order of their
 * starts, because clients use them as list indices and providers leave gaps.
 */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Outcome, TurnEvent } from "../../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { connectionLost, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import { answerEnd } from "../events/answer-end.ts";
import type { Emit, ItemStatus } from "../events/item-writer.ts";
import { Output } from "../events/output.ts";
import { servedTier, wantsLogprobs } from "../events/service-tier.ts";
import { inBandError } from "./error.ts";
import { isNativeEvent, toNativePayload } from "./native-events.ts";
import type { ReadContext } from "./item-reader.ts";
import { type OutputSlot, openOutputSlot } from "./output-items.ts";
import { OutputSlots, hasValue } from "./output-slots.ts";
import { maskUnknownName } from "../known-words.ts";
import { ToolNames } from "./tool-names.ts";
import { responsesUsage } from "./usage.ts";

/** Types of items, by the texts their events stream. */
const textKinds: ReadonlyMap<string, string> = new Map([
  ["response.output_text", "message"],
  ["response.refusal", "message"],
  ["response.reasoning_text", "reasoning"],
  ["response.reasoning", "reasoning"],
  ["response.reasoning_summary_text", "reasoning"],
  ["response.function_call_arguments", "function_call"],
  ["response.custom_tool_call_input", "custom_tool_call"],
]);

/** Types of items that deltas can begin without an announcement. A call is none of them, because it needs a name. */
const impliedType: ReadonlyMap<string, string> = new Map(
  [...textKinds]
    .filter(([, kind]) => kind === "message" || kind === "reasoning")
    .map(([text, kind]) => [`${text}.delta`, kind]),
);

/** The status of a whole answer for which the server gave none. It is incomplete if an item has no end, or if there is a reason. */
function statusOf({ output, incomplete_details: details }: JsonObject): string {
  const items = objects(output);
  if (items.length === 0) return "";
  const cut = items.some(({ status }) => status === "incomplete" || status === "in_progress");
  return cut || isObject(details) ? "incomplete" : "completed";
}

/**
 * Whether a final item has the id of a slot: an equal index could mean another item. Reasoning is excluded, because an
 * answer is complete without it.
 */
const isAnswer = (slot: OutputSlot, { id }: JsonObject): boolean =>
  slot.type !== "reasoning" && text(id) !== "" && slot.upstreamId === id;

const isAddressed = ({ output_index: outputIndex, item_id: id }: JsonObject): boolean =>
  hasValue(outputIndex) || hasValue(id);

export class ResponsesTranslator implements Translator {
  readonly #emit: Emit;
  readonly #reading: ReadContext;
  readonly #slots = new OutputSlots();
  /** Events of items not announced yet. */
  #early: JsonObject[] = [];
  done = false;
  usage: Outcome["usage"];

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#emit = emit;
    const { include, tools } = request;
    const names = ToolNames.of(request);
    this.#reading = { output: new Output(emit), include, tools, logprobs: wantsLogprobs(request), target, names };
  }

  get finished(): boolean {
    return this.done;
  }

  event(name: string | undefined, data: string): void {
    const event = parseObject(data);
    const type = text(event.type) || (name ?? "");
    switch (type) {
      case "response.output_item.added":
        return this.#begin(event);
      case "response.output_item.done":
        return this.#itemDone(event);
      case "response.completed":
      case "response.incomplete":
      case "response.done":
        return this.#terminal(event.response, type);
      case "response.failed":
        this.usage = isObject(event.response) ? responsesUsage(event.response.usage) : undefined;
        throw providerFault(inBandError(event));
      case "response.cancelled":
      case "response.error":
      case "error":
        throw providerFault(inBandError(event));
      case "":
        return this.#whole(event);
      default:
        return this.#ofItem(type, event);
    }
  }

  #whole(answer: JsonObject): void {
    if (isObject(answer.error)) throw providerFault(inBandError(answer));
    this.#terminal(answer);
  }

  #ofItem(type: string, event: JsonObject): void {
    const slot = this.#slotOf(event, type);
    if (slot) return slot.event(type, event);
    if (!isNativeEvent(type)) return;
    if (isAddressed(event)) this.#early.push({ ...event, type });
    else this.#reading.output.native(type, toNativePayload(event));
  }

  #slotOf(event: JsonObject, type: string): OutputSlot | undefined {
    const known = this.#slots.find(event.output_index, event.item_id) ?? this.#findUnaddressed(event, type);
    const implied = known ? undefined : impliedType.get(type);
    if (implied === undefined) return known;
    return this.#open(event.output_index ?? undefined, { type: implied, id: event.item_id ?? undefined });
  }

  /**
   * The item of a text event that names none, as some servers send them: the last item of its kind that is still open.
   * Arguments belong to a call only while no other call is open, because an item's end has all of them anyway.
   */
  #findUnaddressed(event: JsonObject, type: string): OutputSlot | undefined {
    if (isAddressed(event)) return undefined;
    const kind = textKinds.get(type.slice(0, type.lastIndexOf(".")));
    if (kind === undefined) return undefined;
    const open = this.#slots.openOf(kind);
    return kind === "message" || kind === "reasoning" || open.length === 1 ? open.at(-1) : undefined;
  }

  #open(outputIndex: unknown, item: unknown): OutputSlot {
    if (!isObject(item) || text(item.type) === "") throw providerFailed("an output item without a type");
    const slot = openOutputSlot(this.#reading, outputIndex, item);
    this.#slots.add(slot);
    if (this.#early.length > 0) this.#replay(slot);
    return slot;
  }

  #begin({ output_index: outputIndex, item }: JsonObject): void {
    const id = isObject(item) ? text(item.id) : "";
    // For clients, a repeated announcement with the same id would be a second item.
    if (id === "" || !this.#slots.has(outputIndex, id)) this.#open(outputIndex, item);
  }

  #replay(slot: OutputSlot): void {
    const early = this.#early;
    this.#early = [];
    for (const event of early) {
      if (this.#slots.find(event.output_index, event.item_id) === slot) slot.event(text(event.type), event);
      else this.#early.push(event);
    }
  }

  #itemDone(event: JsonObject): void {
    const item = isObject(event.item) ? event.item : {};
    const known = this.#slots.find(event.output_index, item.id) ?? this.#slots.findUnannounced(text(item.type));
    // Some servers use an index again for an item they do not announce.
    const another = known?.ended === true && item.id !== undefined && known.upstreamId !== item.id;
    const slot = known && !another ? known : this.#open(event.output_index, event.item);
    if (!slot.ended) slot.end(item, "completed");
  }

  /** Handles the last event. @param type type of the event; empty for a whole answer */
  #terminal(response: unknown, type = ""): void {
    if (!isObject(response)) throw providerFailed("a terminal event without a response");
    if (response.status === "failed" || isObject(response.error)) throw providerFault(inBandError({ response }));
    const status = response.status ?? (type === "" ? statusOf(response) : type.slice("response.".length));
    if (status !== "completed" && status !== "incomplete")
      throw providerFailed(`response status ${maskUnknownName(text(status))}`);
    this.#end(response, status);
  }

  #end(response: JsonObject, status: ItemStatus): void {
    this.#complete(objects(response.output), status);
    this.done = true;
    const details = isObject(response.incomplete_details) ? response.incomplete_details : {};
    const reason = details.reason === "content_filter" ? "content_filter" : "max_output_tokens";
    const usage = responsesUsage(response.usage) ?? this.usage;
    const tier = servedTier(response.service_tier, this.#reading.target);
    const final = this.#reading.output.finalStatus(status);
    this.#emit(answerEnd(final, status === "incomplete" ? reason : undefined, usage, tier));
  }

  /** Ends the items the stream has started or left out, by the final response: it finds them by their order where a server changes ids. */
  #complete(items: readonly JsonObject[], status: ItemStatus): void {
    const match = this.#slots.matcher();
    for (const item of items) {
      const slot = match(item) ?? this.#open(undefined, item);
      if (!slot.ended) slot.end(item, item === items.at(-1) ? status : "completed");
      else if (isAnswer(slot, item)) slot.complete(item);
    }
    this.#slots.endOpen((slot) => slot.end({}, status));
  }

  cut(): void {
    this.#end({}, "incomplete");
  }

  close(): void {
    if (!this.done) throw connectionLost();
  }
}
