/** Functions to make rows about plugins. */
import type { Row, RowCase } from "../row.ts";
import { requestWithPlugin } from "./asks.ts";

export const pluginRow = (id: string, what: string, ...cases: readonly RowCase[]): Row => ({
  name: `2.2 ${id}: ${what}`,
  cases,
});

export const textOfLength = (count: number) => "x".repeat(count);
export const distinctWords = (count: number, text = "a") => Array.from({ length: count }, (_, n) => `${text}${n}`);

/** A row of accepted settings, and of settings refused with the plugin's and the field's name in the message. */
export function pluginLimits(
  id: string,
  field: string,
  accepted: readonly unknown[],
  refused: readonly unknown[],
  more: { readonly on?: string; readonly settings?: object; readonly ask?: object } = {},
): Row {
  const { on = "chat", settings = {}, ask: sendRequest = {} } = more;
  const given = (value: unknown) => ({ ...sendRequest, ...requestWithPlugin(id, { ...settings, [field]: value }) });
  return pluginRow(
    id,
    `${field}: limits`,
    ...accepted.map((value) => ({
      ask: given(value),
      on: [on],
      otherSays: probabilityReply(0.1),
      back: { object: "response" },
    })),
    ...refused.map((value) => ({ ask: given(value), on: [on], refused: [400, new RegExp(field)] as const })),
  );
}

/** Answer of a judge with this probability. */
export const probabilityReply = (probability: number) => [
  { text: JSON.stringify({ evidence: "", verdict: probability > 0.5 ? "broken" : "followed", probability }) },
];
