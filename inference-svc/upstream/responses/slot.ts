/** One output item of a Responses answer while it is read. */
import { newId } from "@sluice/proto/runtime/id.js";
import type { TurnRequest } from "../../turn/request.ts";
import type { OutputItem } from "../../turn/turn.ts";
import { carriesText } from "../carried.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, text } from "../json.ts";
import type { ItemStatus, Output } from "../output.ts";
import { callReader, otherReader } from "./call.ts";
import { messageReader } from "./message.ts";
import { isNative, payloadOf } from "./native.ts";
import { reasoningReader } from "./reasoning.ts";
import { spelled } from "./spelling.ts";

/** What one kind of item makes of its events. */
export interface Reader {
  /** @returns false for an event that is not about the text of the item */
  event(type: string, event: JsonObject): boolean;
  /**
   * What the provider's item says beyond the deltas follows as deltas; where it contradicts them, they win: they have been acted on.
   * @throws Fault for more than was said until the end
   */
  complete(item: JsonObject): void;
  end(item: JsonObject, status: ItemStatus): void;
}

export interface Slot {
  /** As the provider counts. */
  readonly outputIndex: unknown;
  readonly upstreamId: unknown;
  readonly type: string;
  readonly ended: boolean;
  event(type: string, event: JsonObject): void;
  complete(item: JsonObject): void;
  end(item: JsonObject, status: ItemStatus): void;
}

export interface Reading {
  readonly output: Output;
  readonly request: TurnRequest;
  readonly target: Target;
}

export function openSlot(reading: Reading, outputIndex: unknown, item: JsonObject): Slot {
  const index = reading.output.count;
  const reader = openReader(reading, item);
  let ended = false;
  return {
    outputIndex,
    upstreamId: item.id,
    type: text(item.type),
    get ended() {
      return ended;
    },
    event(type, event) {
      if (reader.event(type, event) || ended || !isNative(type)) return;
      reading.output.native(type, payloadOf(event), index);
    },
    complete: (item) => reader.complete(item),
    end(final, status) {
      ended = true;
      const said = final.status === "completed" || final.status === "incomplete" ? final.status : status;
      reader.complete(final);
      reader.end(final, said);
    },
  };
}

const idPrefixes: ReadonlyMap<string, string> = new Map([
  ["function_call", "fc_"],
  ["custom_tool_call", "ctc_"],
  ["mcp_call", "mcp_"],
  ["apply_patch_call", "apc_"],
  ["code_interpreter_call", "ci_"],
]);

function openReader(reading: Reading, item: JsonObject): Reader {
  const { output, request } = reading;
  const id = text(item.id) || undefined;
  const type = text(item.type);
  if (type === "message") return messageReader(output, id, item, request);
  if (type === "reasoning") return reasoningReader(reading, id);
  const whole = {
    ...item,
    type: spelled(type, request),
    id: id ?? newId(idPrefixes.get(type) ?? "item_"),
  } as OutputItem;
  return carriesText(type) ? callReader(output.carrier(withCallId(whole))) : otherReader(output.other(whole));
}

/** The client answers a call by its call_id. */
const withCallId = (item: OutputItem): OutputItem =>
  text(item.call_id) === "" && (item.type === "function_call" || item.type === "custom_tool_call")
    ? { ...item, call_id: newId("call_") }
    : item;
