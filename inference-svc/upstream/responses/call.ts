/** Calls while they are read, with the text that they carry, and items of every other kind. */
import type { CallWriter, OtherWriter } from "../item-writer.ts";
import { text } from "../json.ts";
import type { Reader } from "./slot.ts";

/** By the beginning of their types; the second word is the member of the last event that holds the whole text. */
const texts: ReadonlyMap<string, string> = new Map([
  ["response.function_call_arguments", "arguments"],
  ["response.mcp_call_arguments", "arguments"],
  ["response.custom_tool_call_input", "input"],
  ["response.apply_patch_call_operation_diff", "diff"],
  ["response.code_interpreter_call_code", "code"],
]);

export const callReader = (call: CallWriter): Reader => ({
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

export const otherReader = (other: OtherWriter): Reader => ({
  event: () => false,
  complete: () => undefined,
  end(item, status) {
    other.end(status, item);
  },
});
