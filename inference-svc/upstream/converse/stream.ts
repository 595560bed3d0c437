/** Reads a Converse answer, as a stream or whole, as turn events (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html). */
import type { TurnRequest } from "../../turn/request.ts";
import type { Outcome, TurnEvent } from "../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { connectionLost, providerFailed } from "../failure.ts";
import { type JsonObject, isObject, parseObject, text } from "../json.ts";
import type { Emit, ItemStatus } from "../output.ts";
import { servedTier } from "../served.ts";
import { Blocks } from "./blocks.ts";
import { familyOf } from "./family.ts";
import { usageOf } from "./usage.ts";
import { readBlocks } from "./whole.ts";

/** Reasons to stop for which the answer is not whole; everything else is an end. */
const incomplete: ReadonlyMap<string, NonNullable<Outcome["reason"]>> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["model_context_window_exceeded", "max_output_tokens"],
  ["content_filtered", "content_filter"],
  ["guardrail_intervened", "content_filter"],
]);

export class ConverseTranslator implements Translator {
  readonly #emit: Emit;
  readonly #target: Target;
  readonly #blocks: Blocks;
  #stopReason: string | undefined;
  #tier: unknown;
  usage: Outcome["usage"];
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#emit = emit;
    this.#target = target;
    this.#blocks = new Blocks(request, familyOf(target.upstreamModel), emit);
  }

  get finished(): boolean {
    return this.#stopReason !== undefined;
  }

  /** @param name undefined for a whole answer */
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
        // That of the beginning says nothing; what a later version brings is passed over.
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
    if (reason.startsWith("malformed_")) throw providerFailed(`stopped for ${reason}`);
    if (reason !== "") this.#stopReason ??= reason;
  }

  /** The last event of a stream. */
  #metadata({ usage, serviceTier }: JsonObject): void {
    this.usage = usageOf(usage);
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
    this.#blocks.end(status);
    this.done = true;
    const outcome: Outcome = {
      status,
      ...(reason && { reason }),
      ...(this.usage && { usage: this.usage }),
      serviceTier: servedTier(this.#tier, this.#target),
    };
    this.#emit({ type: "end", outcome });
  }
}
