/** Builds the message that answers POST /messages without streaming. */
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import type { WholeAnswer } from "../../edge/turns/door.ts";
import { toCompleteBlock } from "./block-json.ts";
import { partsOf, toBlocks } from "./blocks.ts";
import { type MessageIdentity, MessageState } from "./message.ts";

/** Folds events into the message. */
export class MessageObject implements WholeAnswer {
  readonly #state: MessageState;
  /** JSON of the blocks by output index. */
  readonly #blocks: (string | undefined)[] = [];

  constructor(identity: MessageIdentity) {
    this.#state = new MessageState(identity);
  }

  get withheldUsageJson(): string | undefined {
    return this.#state.withheldUsageJson;
  }

  apply(event: TurnEvent["event"]): void {
    if (event.case === "itemEnd") this.#finish(event.value.index, textOf(event.value.itemJson));
    else this.#state.apply(event);
  }

  json(): string | undefined {
    if (!this.#state.hasEnded) return undefined;
    if (this.#blocks.includes(undefined)) throw new Error("the turn ended without one of its items");
    return this.#state.wholeJson(this.#blocks.filter((blocks) => blocks !== "").join(","));
  }

  #finish(index: number, json: string): void {
    const item = JSON.parse(json) as JsonObject;
    noteItem(item, this.#state);
    this.#blocks[index] = toBlocks(item).map(toCompleteBlock).join(",");
  }
}

/** Records what a finished item means for the end of the message: a call for the client, or a refusal. */
export function noteItem(item: JsonObject, state: MessageState): void {
  const { type } = item;
  if (type === "function_call" || type === "custom_tool_call") state.called();
  else if (type === "message") {
    for (const { refusal } of partsOf(item)) if (typeof refusal === "string") state.refused(refusal);
  }
}
