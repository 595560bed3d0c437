/** Reads the output items of a Responses answer. */
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { OutputItem } from "../../../turn/turn.ts";
import type { CallWriter, ItemStatus, WholeItemWriter } from "../events/item-writer.ts";
import { type JsonObject, text } from "../json.ts";
import { hasCallText } from "../translate/call-text.ts";
import type { ItemReader, ReadContext } from "./item-reader.ts";
import { MessageReader } from "./message-reader.ts";
import { isNativeEvent, toNativePayload } from "./native-events.ts";
import { ReasoningReader } from "./reasoning-reader.ts";
import { spellItemType } from "./spelling.ts";

export interface OutputSlot {
  /** Output index the provider uses. */
  readonly outputIndex: unknown;
  readonly upstreamId: unknown;
  readonly type: string;
  readonly ended: boolean;
  event(type: string, event: JsonObject): void;
  complete(item: JsonObject): void;
  end(item: JsonObject, status: ItemStatus): void;
}

export function openOutputSlot(reading: ReadContext, outputIndex: unknown, item: JsonObject): OutputSlot {
  const { names } = reading;
  const index = reading.output.count;
  const reader = openReader(reading, names.ownItem(item));
  let ended = false;
  return {
    outputIndex,
    upstreamId: item.id,
    type: text(item.type),
    get ended() {
      return ended;
    },
    event(type, event) {
      if (reader.event(type, event) || ended || !isNativeEvent(type)) return;
      reading.output.native(type, toNativePayload(event), index);
    },
    complete: (item) => reader.complete(item),
    end(sent, status) {
      ended = true;
      const final = names.ownItem(sent);
      const finalStatus = final.status === "completed" || final.status === "incomplete" ? final.status : status;
      reader.complete(final);
      reader.end(final, finalStatus);
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

function openReader(reading: ReadContext, item: JsonObject): ItemReader {
  const { output, tools } = reading;
  const id = text(item.id) || undefined;
  const type = text(item.type);
  if (type === "message") return new MessageReader(reading, id, item);
  if (type === "reasoning") return new ReasoningReader(reading, id);
  const whole = {
    ...item,
    type: spellItemType(type, tools),
    id: id ?? newId(idPrefixes.get(type) ?? "item_"),
  } as OutputItem;
  return hasCallText(type) ? callReader(output.textCall(withCallId(whole))) : otherReader(output.other(whole));
}

/** Adds a call_id to a call that has none, because clients answer a call by it. */
const withCallId = (item: OutputItem): OutputItem =>
  text(item.call_id) === "" && (item.type === "function_call" || item.type === "custom_tool_call")
    ? { ...item, call_id: newId("call_") }
    : item;

/** Streamed texts by the prefix of their events, each with the member of the done event that has the whole text. */
const texts: ReadonlyMap<string, string> = new Map([
  ["response.function_call_arguments", "arguments"],
  ["response.mcp_call_arguments", "arguments"],
  ["response.custom_tool_call_input", "input"],
  ["response.apply_patch_call_operation_diff", "diff"],
  ["response.code_interpreter_call_code", "code"],
]);

export const callReader = (call: CallWriter): ItemReader => ({
  event(type, event) {
    const dot = type.lastIndexOf(".");
    const member = texts.get(type.slice(0, dot));
    if (member === undefined) return false;
    if (type.endsWith(".delta")) call.arguments(text(event.delta));
    else call.complete(event[member]);
    return true;
  },
  complete: (item) => call.completeAs(item),
  end(item, status) {
    call.end(status, item);
  },
});

export const otherReader = (other: WholeItemWriter): ItemReader => ({
  event: () => false,
  complete: () => undefined,
  end(item, status) {
    other.end(status, item);
  },
});
