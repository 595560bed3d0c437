/** Parts of rows about items: calls with marker texts that must reach every provider, and functions that make such rows. */
import type { Row, RowCase } from "../row.ts";
import { requestWithHistory, pngUrl } from "./asks.ts";

export const itemRow = (name: string, ...cases: readonly RowCase[]): Row => ({ name: `2.3 ${name}`, cases });
/** A row with history items whose text must reach every provider. */
export const forwardedItemsRow = (name: string, items: readonly object[], sent: RegExp, more: object = {}): Row =>
  itemRow(name, { ask: { ...requestWithHistory(...items), ...more }, sent });
export const refusedInput = (name: string, input: unknown, message: RegExp): Row =>
  itemRow(name, { ask: { input }, on: ["chat"], refused: [400, message] });
export const completedCall = { call_id: "c_1", status: "completed" };
export const markedCall = {
  type: "function_call",
  id: "i_1",
  ...completedCall,
  name: "f",
  arguments: '{"a":"marker37"}',
};
export const markedOutput = { type: "function_call_output", call_id: "c_1", output: "result37" };
export const pngImage = { type: "input_image", image_url: pngUrl };
