/** Gives open thoughts out in `encrypted_content` as well, to clients that asked for it. */
import { isOpenThought, packThought } from "../../turn/parse/packed-thoughts.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { OutputItem } from "../../turn/turn.ts";
import { objects, text } from "../json.ts";
import type { Emit } from "./item-writer.ts";

/**
 * The other doors have fields of their own for thoughts. A guardrail reads the texts behind this, and takes the packed ones away from a thought that it
 * redacts.
 */
export function packingThoughts({ include, door = "responses" }: TurnRequest, emit: Emit): Emit {
  if (door !== "responses" || !include.includes("reasoning.encrypted_content")) return emit;
  return (event) => emit(event.type === "item.end" ? { ...event, item: withPacked(event.item) } : event);
}

function withPacked(item: OutputItem): OutputItem {
  if (!isOpenThought(item)) return item;
  const packed = packThought(objects(item.content).map((part) => text(part.text)));
  return packed === undefined ? item : { ...item, encrypted_content: packed };
}
