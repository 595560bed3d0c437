/** Converts a Cohere answer, as a stream (https://docs.cohere.com/docs/streaming) or whole, to turn events. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Outcome, TurnEvent } from "../../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { answerEnd } from "../events/answer-end.ts";
import type { Emit, ItemStatus } from "../events/item-writer.ts";
import { connectionLost, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import { cohereError } from "./error.ts";
import { CohereOutputItems } from "./output-items.ts";
import { cohereUsage } from "./usage.ts";

/** HTTP statuses equivalent to the finish reasons of failed answers. Any other reason except `MAX_TOKENS` is a normal end. */
const failures: ReadonlyMap<string, number> = new Map([
  ["ERROR", 500],
  ["TIMEOUT", 504],
]);

const none: JsonObject = {};

export class CohereTranslator implements Translator {
  readonly #emit: Emit;
  readonly #target: Target;
  readonly #items: CohereOutputItems;
  #usage: Outcome["usage"];
  #finishReason: string | undefined;
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#emit = emit;
    this.#target = target;
    this.#items = new CohereOutputItems(request, emit);
  }

  get usage(): Outcome["usage"] {
    return this.#usage;
  }

  get finished(): boolean {
    return this.#finishReason !== undefined;
  }

  event(name: string | undefined, data: string): void {
    const event = parseObject(data);
    const { delta, index } = event;
    const message = isObject(delta) && isObject(delta.message) ? delta.message : none;
    const type = text(event.type) || (name ?? "");
    switch (type) {
      case "content-delta":
      case "content-start":
        if (isObject(message.content)) this.#items.content(message.content, index);
        return;
      case "tool-plan-delta":
        return this.#items.addText(text(message.tool_plan));
      case "tool-call-start":
        return this.#items.beginCall(isObject(message.tool_calls) ? message.tool_calls : none, index);
      case "tool-call-delta":
        return this.#items.callDelta(isObject(message.tool_calls) ? message.tool_calls : none, index);
      case "tool-call-end":
        return this.#items.endCall(index);
      case "citation-start":
        return this.#items.cite(message.citations);
      case "message-end":
        return this.#end(isObject(delta) ? delta : none);
      default:
        // These are starts and ends without content, and events of later versions, which may come at any time.
        return this.#other(event, type);
    }
  }

  /** Handles events with other types. @param type type of the event; empty for a whole answer, and for an error */
  #other(event: JsonObject, type: string): void {
    const isError = type === "error" || (type === "" && text(event.message) !== "");
    if (isError || isObject(event.error)) throw providerFault(cohereError(undefined, event));
    if (type !== "") return;
    if (!isObject(event.message)) throw providerFailed("neither a message nor an event");
    this.#whole(event.message);
    this.#end(event);
  }

  #whole({ content, tool_plan: plan, tool_calls: calls, citations }: JsonObject): void {
    const blocks = typeof content === "string" ? [{ text: content }] : objects(content);
    const cited = objects(citations).map((citation) => [blockOf(citation, blocks), citation] as const);
    for (const [index, block] of blocks.entries()) {
      this.#items.content(block, index);
      for (const [place, citation] of cited) if (place === index) this.#items.cite(citation);
    }
    this.#items.addText(text(plan));
    for (const [index, call] of objects(calls).entries()) {
      this.#items.beginCall(call, index);
      this.#items.endCall(index);
    }
  }

  #end({ error, finish_reason: finishReason, usage }: JsonObject): void {
    this.#usage = cohereUsage(usage);
    const reason = text(finishReason).toUpperCase();
    if (text(error) !== "") throw providerFault(cohereError(undefined, { message: error }));
    const status = failures.get(reason);
    if (status !== undefined) throw providerFault({ status, code: reason });
    if (reason !== "") this.#finishReason = reason;
    this.close();
  }

  cut(): void {
    this.#finishReason = "MAX_TOKENS";
    this.close();
  }

  close(): void {
    if (this.done) return;
    if (this.#finishReason === undefined) throw connectionLost();
    const reason = this.#finishReason === "MAX_TOKENS" ? "max_output_tokens" : undefined;
    const status: ItemStatus = reason ? "incomplete" : "completed";
    const final = this.#items.end(status);
    this.done = true;
    this.#emit(answerEnd(final, reason, this.#usage, this.#target.tier));
  }
}

const hasText = (block: JsonObject | undefined): boolean => text(block?.text) !== "";

/** Index of the block to which a citation belongs: the last text, unless the citation names a block. */
function blockOf({ content_index: index }: JsonObject, blocks: readonly JsonObject[]): number {
  return typeof index === "number" && hasText(blocks[index]) ? index : blocks.findLastIndex(hasText);
}
