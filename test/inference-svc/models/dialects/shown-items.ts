/** Items as clients get them, with masked ids, and the faults of answers that are none. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";

export function thrownFault(act: () => unknown): Fault {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

export const shownPart = (text: string, ...annotations: readonly unknown[]) => ({
  type: "output_text",
  text,
  annotations,
  logprobs: [],
});

export const shownMessage = <Part>(...content: readonly Part[]) => ({
  type: "message",
  id: "masked",
  role: "assistant",
  status: "completed",
  content,
});

/** @param text undefined for a hidden thought */
export const shownThought = (text: string | undefined, more: object = {}) => ({
  type: "reasoning",
  id: "masked",
  status: "completed",
  summary: [],
  content: text === undefined ? [] : [{ type: "reasoning_text", text }],
  format: "unknown",
  signature: null,
  ...more,
});

export const shownCall = (name: string, json: string, more: object = {}) => ({
  type: "function_call",
  id: "masked",
  call_id: "masked",
  name,
  arguments: json,
  status: "completed",
  ...more,
});
