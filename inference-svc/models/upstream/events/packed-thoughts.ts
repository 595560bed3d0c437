/** Copies reasoning that is not encrypted into `encrypted_content`, for clients that requested this field. */
import { isOpenThought, packThought } from "../../../turn/parse/packed-thoughts.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { OutputItem } from "../../../turn/turn.ts";
import { objects, text } from "../json.ts";
import type { Emit } from "./item-writer.ts";

/**
 * Needed only at the door of Responses, because other doors have separate fields for reasoning. A guardrail scans the
 * texts after this step, and removes the copy from reasoning it redacts.
 */
export function withPackedThoughts({ include, door = "responses" }: TurnRequest, emit: Emit): Emit {
  if (door !== "responses" || !include.includes("reasoning.encrypted_content")) return emit;
  return (event) => emit(event.type === "item.end" ? { ...event, item: withPacked(event.item) } : event);
}

function withPacked(item: OutputItem): OutputItem {
  if (!isOpenThought(item)) return item;
  const packed = packThought(objects(item.content).map((part) => text(part.text)));
  return packed === undefined ? item : { ...item, encrypted_content: packed };
}
