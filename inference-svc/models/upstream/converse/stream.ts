/**
 * Converts a Converse answer, as a stream or whole, to turn events
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html).
 */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Outcome, TurnEvent } from "../../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { connectionLost, providerFailed } from "../failure.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import type { Emit, ItemStatus } from "../events/item-writer.ts";
import { answerEnd } from "../events/answer-end.ts";
import { servedTier } from "../events/service-tier.ts";
import { ConverseOutputItems } from "./output-items.ts";
import { findFamily } from "./family.ts";
import { maskUnknownName } from "../known-words.ts";
import { converseUsage } from "./usage.ts";
import { findArguments } from "../translate/written-arguments.ts";

/** Outcome reasons by the stop reasons of incomplete answers; any other stop reason is a normal end. */
const incomplete: ReadonlyMap<string, NonNullable<Outcome["reason"]>> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["model_context_window_exceeded", "max_output_tokens"],
  ["content_filtered", "content_filter"],
  ["guardrail_intervened", "content_filter"],
]);

export class ConverseTranslator implements Translator {
  readonly #emit: Emit;
  readonly #target: Target;
  readonly #blocks: ConverseOutputItems;
  #stopReason: string | undefined;
  #tier: unknown;
  usage: Outcome["usage"];
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#emit = emit;
    this.#target = target;
    this.#blocks = new ConverseOutputItems(request, findFamily(target.upstreamModel), emit);
  }

  get finished(): boolean {
    return this.#stopReason !== undefined;
  }

  /** @param name event type of the frame; undefined for a whole answer */
  event(name: string | undefined, data: string): void {
    const event = parseObject(data);
    switch (name) {
      case "contentBlockDelta":
        if (isObject(event.delta)) this.#blocks.delta(event.contentBlockIndex, event.delta);
        return;
      case "contentBlockStart":
        if (isObject(event.start)) this.#blocks.begin(event.contentBlockIndex, event.start);
        return;
      case "contentBlockStop":
        return this.#blocks.stop(event.contentBlockIndex);
      case "messageStop":
        return this.#stop(event);
      case "metadata":
        return this.#metadata(event);
      case undefined:
        return this.#whole(event, data);
      default:
        // The start event contains nothing that is used, and later versions may send unknown events.
        return;
    }
  }

  #whole(answer: JsonObject, data: string): void {
    const message = isObject(answer.output) ? answer.output.message : undefined;
    if (!isObject(message)) throw providerFailed("an answer without a message");
    readBlocks(message.content, data, this.#blocks);
    this.#stop(answer);
    this.#metadata(answer);
  }

  #stop({ stopReason }: JsonObject): void {
    const reason = text(stopReason);
    if (reason.startsWith("malformed_")) throw providerFailed(`stopped for ${maskUnknownName(reason)}`);
    if (reason !== "") this.#stopReason ??= reason;
  }

  /** Handles the metadata event, the last one of a stream. */
  #metadata({ usage, serviceTier }: JsonObject): void {
    this.usage = converseUsage(usage);
    this.#tier = isObject(serviceTier) ? serviceTier.type : undefined;
    this.close();
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
    const final = this.#blocks.end(status);
    this.done = true;
    this.#emit(answerEnd(final, reason, this.usage, servedTier(this.#tier, this.#target)));
  }
}

/**
 * Reads the blocks of a whole answer like the events of a stream.
 * @param data the answer as JSON text
 */
function readBlocks(content: unknown, data: string, output: ConverseOutputItems): void {
  const blocks = objects(content);
  const hasCalls = blocks.some(({ toolUse }) => isObject(toolUse));
  const inputs = hasCalls ? findArguments(data, ["output", "message", "content"], ["toolUse", "input"]) : undefined;
  for (const [index, block] of blocks.entries()) {
    const { toolUse, reasoningContent, citationsContent } = block;
    if (isObject(toolUse)) {
      output.begin(index, block);
      output.delta(index, { toolUse: { input: inputs?.get(index)?.toString("utf8") ?? "" } });
    } else if (isObject(reasoningContent)) {
      for (const delta of toReasoningDeltas(reasoningContent)) output.delta(index, { reasoningContent: delta });
    } else {
      const texts = isObject(citationsContent) ? objects(citationsContent.content) : [block];
      for (const part of texts) output.delta(index, { text: text(part.text) });
    }
    output.stop(index);
  }
}

function toReasoningDeltas({ reasoningText, redactedContent }: JsonObject): readonly JsonObject[] {
  if (!isObject(reasoningText)) return [{ redactedContent }];
  const { text: thought, signature } = reasoningText;
  return [{ text: thought }, ...(text(signature) === "" ? [] : [{ signature }])];
}
