/** The response items of server tool calls. Output guardrails scan each item before the client gets it. */
import { newId } from "@sluice/proto/lib/ids/id.js";
import { buildDelta, listTexts, toDeltaPosition } from "../../turn/item-texts.ts";
import { toNativeEvent } from "../../turn/progress-buffer.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Batch, Layer, OutputItem, TurnEvent } from "../../turn/turn.ts";
import { type ToolResult, initialItemFields } from "../tool.ts";
import type { CalledTool, ItemNumbers } from "./model-answer.ts";
import { callStatus } from "./client-calls.ts";
import { scanItem } from "./scanned-results.ts";
import type { RunningCall } from "./call-runner.ts";

export interface CallItemDeps {
  /** The output guardrails, which scan every item. */
  readonly gates: readonly Layer[];
  readonly numbers: ItemNumbers;
  readonly request: TurnRequest;
  readonly scope: Scope;
}

export class CallItems {
  readonly #parts: CallItemDeps;
  readonly #stream: boolean;

  constructor(parts: CallItemDeps) {
    this.#parts = parts;
    this.#stream = parts.request.stream;
  }

  /** Yields the items of a call. For a tool with progress events, the first item begins in a stream before the call is over. */
  async *ofCall(call: CalledTool, { result: outcome, relay }: RunningCall): AsyncGenerator<Batch, ToolResult> {
    const index = this.#parts.numbers.take();
    const begun = beginningOf(call);
    const { ending } = call.offer.open;
    if (this.#stream && ending) {
      yield [{ type: "item.start", index, item: begun }];
      yield* relay.drainUntil(outcome, index);
    }
    const result = await outcome;
    const status = callStatus(result, call.offer.items);
    const item = await this.#scan({ ...begun, status, ...result.item, ...call.fields });
    const late = ending
      ? [...textOf(item, index), ...ending(item).map((event) => toNativeEvent(index, event))]
      : [startOf(item, index)];
    yield [...(this.#stream ? late : []), { type: "item.end", index, item }];
    const second = outputItemOf(call, result, item.status);
    if (second) yield await this.whole(second);
    return result;
  }

  /** Events of an item that is already complete at its start. */
  async whole(unseen: OutputItem): Promise<Batch> {
    const index = this.#parts.numbers.take();
    const item = await this.#scan(unseen);
    return [...(this.#stream ? [startOf(item, index)] : []), { type: "item.end", index, item }];
  }

  #scan(item: OutputItem): Promise<OutputItem> {
    const { gates, request, scope } = this.#parts;
    return scanItem(item, gates, { request, scope });
  }
}

const beginningOf = ({ offer: { items, open }, callId }: CalledTool): OutputItem => ({
  type: items.type,
  id: newId(items.idPrefix),
  ...(items.output && { call_id: callId }),
  status: "in_progress",
  ...(typeof open.blank === "function" && initialItemFields(open, "")),
});

const startOf = (item: OutputItem, index: number): TurnEvent => ({
  type: "item.start",
  index,
  item: { ...item, status: "in_progress" },
});

/** The text events of an item, sent just before it ends. */
const textOf = (item: OutputItem, index: number): readonly TurnEvent[] =>
  listTexts(item).map(({ key, text }) => buildDelta(toDeltaPosition(key), index, text));

/** The second item of a call. If the call was not run, the item contains only the reason. */
function outputItemOf({ offer, callId }: CalledTool, result: ToolResult, status: unknown): OutputItem | undefined {
  const form = offer.items.output;
  const fields = result.outputItem ?? { output: [], error: result.item["error"] };
  return form && { type: form.type, id: newId(form.idPrefix), call_id: callId, status: String(status), ...fields };
}
